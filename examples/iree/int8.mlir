// SPDX-License-Identifier: Apache-2.0
// A quantised layer: i8 x i8 to i32, rescaled to i8, with a zero point.
// input: 1x64x256xi8=5
// input: 1x256x256xi8=2
module @int8 {
  func.func @main(%x: tensor<1x64x256xi8>, %w: tensor<1x256x256xi8>) -> tensor<1x64x256xi8> {
    %zx = "tosa.const"() <{values = dense<3> : tensor<1xi8>}> : () -> tensor<1xi8>
    %zw = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
    %zi = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
    %factor = "tosa.const"() <{values = dense<1073741824> : tensor<1xi32>}> : () -> tensor<1xi32>
    %shift = "tosa.const"() <{values = dense<38> : tensor<1xi8>}> : () -> tensor<1xi8>
    %0 = tosa.matmul %x, %w, %zx, %zw : (tensor<1x64x256xi8>, tensor<1x256x256xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x64x256xi32>
    %1 = "tosa.rescale"(%0, %factor, %shift, %zi, %zx) <{input_unsigned = false, output_unsigned = false, per_channel = false, rounding_mode = #tosa.rounding_mode<SINGLE_ROUND>, scale32 = true}> : (tensor<1x64x256xi32>, tensor<1xi32>, tensor<1xi8>, tensor<1xi32>, tensor<1xi8>) -> tensor<1x64x256xi8>
    %2 = "tosa.clamp"(%1) <{max_val = 127 : i8, min_val = 3 : i8}> : (tensor<1x64x256xi8>) -> tensor<1x64x256xi8>
    return %2 : tensor<1x64x256xi8>
  }
}
