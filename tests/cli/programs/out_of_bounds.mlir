// Const-eval of the gathered rows reads far outside of the table, which crashes it; the turned table beside them is harmless.
func.func @main(%input: tensor<4xf32>, %other: tensor<4x2xf32>) -> (tensor<4xf32>, tensor<4x2xf32>) {
  %table = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0]> : tensor<8xf32>
  %rows = arith.constant dense<[1, 2000000000, -2000000000, 3]> : tensor<4xi32>
  %empty = tensor.empty() : tensor<4xf32>
  %gathered = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%rows : tensor<4xi32>) outs(%empty : tensor<4xf32>) {
  ^bb0(%row: i32, %out: f32):
    %index = arith.index_cast %row : i32 to index
    %element = tensor.extract %table[%index] : tensor<8xf32>
    linalg.yield %element : f32
  } -> tensor<4xf32>
  %sum = arith.addf %input, %gathered : tensor<4xf32>
  %c = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 9.0]]> : tensor<2x4xf32>
  %turned_empty = tensor.empty() : tensor<4x2xf32>
  %turned = linalg.transpose ins(%c : tensor<2x4xf32>) outs(%turned_empty : tensor<4x2xf32>) permutation = [1, 0]
  %exp = math.exp %turned : tensor<4x2xf32>
  %second = arith.addf %other, %exp : tensor<4x2xf32>
  return %sum, %second : tensor<4xf32>, tensor<4x2xf32>
}
