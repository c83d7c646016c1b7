a.task {"id" = 0 : i64}() {
  a.wait
}
a.body{
 op : "add"
 D %x : i8
 CFG {m = [A, B],}
 [{DE dims = [ B(L) [4, #map]]}]
}
a.dispatch @f {ro %y[%z for %z] : i8, wo %y}
linalg.reduce { arith.addf } ins(%x : i8) outs(%y : i8) dimensions = [0]
a.unit {a.key}
a.continued
memory : 0 bytes
cycles : 2
a.compare<%x : i8> if %x >= 2 => b
