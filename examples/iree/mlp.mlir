// SPDX-License-Identifier: Apache-2.0
// A perceptron of two layers, batch 32. Weights are arguments: a compiler would fold constants of one number away.
// input: 1x32x256xf32=0.5
// input: 1x256x512xf32=0.01
// input: 1x1x512xf32=0.1
// input: 1x512x10xf32=0.02
// input: 1x1x10xf32=0.2
module @mlp {
  func.func @main(%x: tensor<1x32x256xf32>, %w1: tensor<1x256x512xf32>, %b1: tensor<1x1x512xf32>, %w2: tensor<1x512x10xf32>, %b2: tensor<1x1x10xf32>) -> tensor<1x32x10xf32> {
    %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
    %0 = tosa.matmul %x, %w1, %zero, %zero : (tensor<1x32x256xf32>, tensor<1x256x512xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x32x512xf32>
    %1 = tosa.add %0, %b1 : (tensor<1x32x512xf32>, tensor<1x1x512xf32>) -> tensor<1x32x512xf32>
    %2 = "tosa.clamp"(%1) <{max_val = 6.0 : f32, min_val = 0.0 : f32}> : (tensor<1x32x512xf32>) -> tensor<1x32x512xf32>
    %3 = tosa.matmul %2, %w2, %zero, %zero : (tensor<1x32x512xf32>, tensor<1x512x10xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x32x10xf32>
    %4 = tosa.add %3, %b2 : (tensor<1x32x10xf32>, tensor<1x1x10xf32>) -> tensor<1x32x10xf32>
    return %4 : tensor<1x32x10xf32>
  }
}
