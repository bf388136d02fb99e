// A weight outside the file, and two inside: one read as it is, one turned first.
util.global private @outside = #flow.parameter.named<"model"::"outside"> : tensor<8x4xf32>
util.global private @inside = dense<[1.5, 2.5, 3.5, 4.5]> : tensor<4xf32>
util.func public @main(%input: tensor<2x8xf32>, %other: tensor<4x2xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>) {
  %weight = util.global.load @outside : tensor<8x4xf32>
  %bias = util.global.load @inside : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2x4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x4xf32>) -> tensor<2x4xf32>
  %product = linalg.matmul ins(%input, %weight : tensor<2x8xf32>, tensor<8x4xf32>) outs(%start : tensor<2x4xf32>) -> tensor<2x4xf32>
  %spread = linalg.broadcast ins(%bias : tensor<4xf32>) outs(%empty : tensor<2x4xf32>) dimensions = [0]
  %sum = arith.addf %product, %spread : tensor<2x4xf32>
  %table = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 9.0]]> : tensor<2x4xf32>
  %turned_empty = tensor.empty() : tensor<4x2xf32>
  %turned = linalg.transpose ins(%table : tensor<2x4xf32>) outs(%turned_empty : tensor<4x2xf32>) permutation = [1, 0]
  %root = math.sqrt %turned : tensor<4x2xf32>
  %second = arith.addf %other, %root : tensor<4x2xf32>
  util.return %sum, %second : tensor<2x4xf32>, tensor<4x2xf32>
}
