func.func @main(%input: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %c = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %turned = stablehlo.transpose %c, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %exp = stablehlo.exponential %turned : tensor<3x2xf32>
  %sum = stablehlo.add %input, %exp : tensor<3x2xf32>
  return %sum : tensor<3x2xf32>
}
