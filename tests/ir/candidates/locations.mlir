// Locations are read through names, fusions and calls down to the file that the program came from.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s

// CHECK: at layer.py:12:3 (encoder/layer), moves
// CHECK-NEXT: source dense {{[0-9a-f]+}}: {{.*}}, at weights.py:4:5
// CHECK: at inner.py:7:1, moves
// CHECK: at first.py:1:2 (a name), moves
#same = affine_map<(i, j) -> (i, j)>
func.func @main() -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %a = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32> loc("weights.py":4:5)
  %b = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]> : tensor<2x3xf32>
  %c = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 8.0]]> : tensor<2x3xf32>
  %init = tensor.empty() : tensor<2x3xf32>
  %named = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.exp %in : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32> loc("encoder/layer"("layer.py":12:3))
  %called = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%b : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.sin %in : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32> loc(callsite("inner.py":7:1 at "outer.py":9:1))
  %fused = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%c : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.cos %in : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32> loc(fused["a name", "first.py":1:2, "second.py":3:4])
  return %named, %called, %fused : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
