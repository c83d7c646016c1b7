// SPDX-License-Identifier: Apache-2.0
// A small classifier: convolution, ReLU, pooling, a fully connected layer. examples/mlir-run executes it.
module {
  func.func @main(%image: tensor<1x16x16x8xf32>, %kernel: tensor<16x3x3x8xf32>, %bias: tensor<16xf32>,
                  %weights: tensor<1x1024x10xf32>, %offset: tensor<1x1x10xf32>) -> tensor<1x1x10xf32> {
    %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
    %shape = tosa.const_shape {values = dense<[1, 1, 1024]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %0 = tosa.conv2d %image, %kernel, %bias, %zero, %zero {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<1x16x16x8xf32>, tensor<16x3x3x8xf32>, tensor<16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x16x16x16xf32>
    %1 = tosa.clamp %0 {min_val = 0.0 : f32, max_val = 6.0 : f32} : (tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
    %2 = tosa.max_pool2d %1 {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x16x16x16xf32>) -> tensor<1x8x8x16xf32>
    %3 = tosa.reshape %2, %shape : (tensor<1x8x8x16xf32>, !tosa.shape<3>) -> tensor<1x1x1024xf32>
    %4 = tosa.matmul %3, %weights, %zero, %zero : (tensor<1x1x1024xf32>, tensor<1x1024x10xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x10xf32>
    %5 = tosa.add %4, %offset : (tensor<1x1x10xf32>, tensor<1x1x10xf32>) -> tensor<1x1x10xf32>
    return %5 : tensor<1x1x10xf32>
  }
}
