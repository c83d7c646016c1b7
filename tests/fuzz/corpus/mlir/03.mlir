"builtin.module"() ({
  "a.region"() <{p = 1 : i32}> ({
  ^bb0(%x: i32 loc("f":1:1), %y: i64):
    %0 = "a.use"(%x, %y) {q} : (i32, i64) -> i32
    "a.br"(%0)[^bb1] : (i32) -> ()
  ^bb1:  // pred: ^bb0
    "a.end"() : () -> ()
  }, {
    "a.other"() : () -> ()
  }) {r = 2 : i32} : () -> ()
}) : () -> ()
