#map = affine_map<(d0) -> (d0)>
!t = tensor<4x8xf32>
module @m attributes {a.b = 1 : i64, unit} {
  func.func @main(%arg0: !t, %arg1: tensor<8xf32> {x.y = "}"}) -> !t {
    %cst = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0:2 = my.split %arg0 {kind = #my<k{a = [1, 2]}>, "odd key" = 3 : i32} : !t -> !t, tensor<8xf32>
    %1 = tosa.add %0#0, %0#1 : (!t, tensor<8xf32>) -> tensor<4x8xf32> loc(#loc1)
    return %1 : !t loc("a.mlir":7:5)
  } loc(#loc)
}
#loc = loc("a.mlir":4:3)
#loc1 = loc(fused<"pass">["layer"("b, c.mlir":9:11), #loc])
