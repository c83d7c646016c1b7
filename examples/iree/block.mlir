// SPDX-License-Identifier: Apache-2.0
// A transformer block without norms: attention with softmax, then two layers, each with a residual.
// input: 1x64x128xf32=0.5
// input: 1x128x128xf32=0.01
// input: 1x128x128xf32=0.02
// input: 1x128x128xf32=0.03
// input: 1x128x128xf32=0.04
// input: 1x128x512xf32=0.01
// input: 1x512x128xf32=0.01
module @block {
  func.func @main(%x: tensor<1x64x128xf32>, %wq: tensor<1x128x128xf32>, %wk: tensor<1x128x128xf32>, %wv: tensor<1x128x128xf32>, %wo: tensor<1x128x128xf32>, %wu: tensor<1x128x512xf32>, %wd: tensor<1x512x128xf32>) -> tensor<1x64x128xf32> {
    %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
    %scale = "tosa.const"() <{values = dense<0.08838835> : tensor<1x1x1xf32>}> : () -> tensor<1x1x1xf32>
    %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %0 = tosa.matmul %x, %wq, %zero, %zero : (tensor<1x64x128xf32>, tensor<1x128x128xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x64x128xf32>
    %1 = tosa.matmul %x, %wk, %zero, %zero : (tensor<1x64x128xf32>, tensor<1x128x128xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x64x128xf32>
    %2 = tosa.matmul %x, %wv, %zero, %zero : (tensor<1x64x128xf32>, tensor<1x128x128xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x64x128xf32>
    %3 = "tosa.transpose"(%1) <{perms = array<i32: 0, 2, 1>}> : (tensor<1x64x128xf32>) -> tensor<1x128x64xf32>
    %4 = tosa.matmul %0, %3, %zero, %zero : (tensor<1x64x128xf32>, tensor<1x128x64xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x64x64xf32>
    %5 = tosa.mul %4, %scale, %shift : (tensor<1x64x64xf32>, tensor<1x1x1xf32>, tensor<1xi8>) -> tensor<1x64x64xf32>
    %6 = "tosa.reduce_max"(%5) <{axis = 2 : i32}> : (tensor<1x64x64xf32>) -> tensor<1x64x1xf32>
    %7 = tosa.sub %5, %6 : (tensor<1x64x64xf32>, tensor<1x64x1xf32>) -> tensor<1x64x64xf32>
    %8 = tosa.exp %7 : (tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
    %9 = "tosa.reduce_sum"(%8) <{axis = 2 : i32}> : (tensor<1x64x64xf32>) -> tensor<1x64x1xf32>
    %10 = tosa.reciprocal %9 : (tensor<1x64x1xf32>) -> tensor<1x64x1xf32>
    %11 = tosa.mul %8, %10, %shift : (tensor<1x64x64xf32>, tensor<1x64x1xf32>, tensor<1xi8>) -> tensor<1x64x64xf32>
    %12 = tosa.matmul %11, %2, %zero, %zero : (tensor<1x64x64xf32>, tensor<1x64x128xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x64x128xf32>
    %13 = tosa.matmul %12, %wo, %zero, %zero : (tensor<1x64x128xf32>, tensor<1x128x128xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x64x128xf32>
    %14 = tosa.add %x, %13 : (tensor<1x64x128xf32>, tensor<1x64x128xf32>) -> tensor<1x64x128xf32>
    %15 = tosa.matmul %14, %wu, %zero, %zero : (tensor<1x64x128xf32>, tensor<1x128x512xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x64x512xf32>
    %16 = "tosa.clamp"(%15) <{max_val = 6.0 : f32, min_val = 0.0 : f32}> : (tensor<1x64x512xf32>) -> tensor<1x64x512xf32>
    %17 = tosa.matmul %16, %wd, %zero, %zero : (tensor<1x64x512xf32>, tensor<1x512x128xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x64x128xf32>
    %18 = tosa.add %14, %17 : (tensor<1x64x128xf32>, tensor<1x64x128xf32>) -> tensor<1x64x128xf32>
    return %18 : tensor<1x64x128xf32>
  }
}
