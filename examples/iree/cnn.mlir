// SPDX-License-Identifier: Apache-2.0
// A small image network, NHWC: convolution, depthwise and 1x1 convolution, pool, classifier.
// input: 1x32x32x3xf32=0.5
// input: 16x3x3x3xf32=0.05
// input: 16xf32=0.1
// input: 3x3x16x1xf32=0.11
// input: 16xf32=0.01
// input: 32x1x1x16xf32=0.03
// input: 32xf32=0.02
// input: 1x2048x10xf32=0.02
module @cnn {
  func.func @main(%x: tensor<1x32x32x3xf32>, %w0: tensor<16x3x3x3xf32>, %b0: tensor<16xf32>, %w1: tensor<3x3x16x1xf32>, %b1: tensor<16xf32>, %w2: tensor<32x1x1x16xf32>, %b2: tensor<32xf32>, %w3: tensor<1x2048x10xf32>) -> tensor<1x1x10xf32> {
    %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
    %0 = "tosa.conv2d"(%x, %w0, %b0, %zero, %zero) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 1, 0, 1>, stride = array<i64: 2, 2>}> : (tensor<1x32x32x3xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x16x16x16xf32>
    %1 = "tosa.clamp"(%0) <{max_val = 6.0 : f32, min_val = 0.0 : f32}> : (tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
    %2 = "tosa.depthwise_conv2d"(%1, %w1, %b1, %zero, %zero) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}> : (tensor<1x16x16x16xf32>, tensor<3x3x16x1xf32>, tensor<16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x16x16x16xf32>
    %3 = "tosa.clamp"(%2) <{max_val = 6.0 : f32, min_val = 0.0 : f32}> : (tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
    %4 = "tosa.conv2d"(%3, %w2, %b2, %zero, %zero) <{acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>}> : (tensor<1x16x16x16xf32>, tensor<32x1x1x16xf32>, tensor<32xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x16x16x32xf32>
    %5 = "tosa.clamp"(%4) <{max_val = 6.0 : f32, min_val = 0.0 : f32}> : (tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32>
    %6 = "tosa.max_pool2d"(%5) <{kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>}> : (tensor<1x16x16x32xf32>) -> tensor<1x8x8x32xf32>
    %shape = "tosa.const_shape"() <{values = dense<[1, 1, 2048]> : tensor<3xindex>}> : () -> !tosa.shape<3>
    %7 = tosa.reshape %6, %shape : (tensor<1x8x8x32xf32>, !tosa.shape<3>) -> tensor<1x1x2048xf32>
    %8 = tosa.matmul %7, %w3, %zero, %zero : (tensor<1x1x2048xf32>, tensor<1x2048x10xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x10xf32>
    return %8 : tensor<1x1x10xf32>
  }
}
