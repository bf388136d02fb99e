// A candidate that reads another's global comes after it and counts as its reader; the global's id is in its own.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s

// CHECK: candidate {{[0-9a-f]+}}: elementwise of [elementwise]
// CHECK-NEXT: global @[[FIRST:[a-z0-9_]+]]: tensor<2x3xf32>
// CHECK: read by initializer of @[[SECOND:[a-z0-9_]+]] (elementwise)
// CHECK-NEXT: read by @main (elementwise)
// CHECK-NEXT: candidate {{[0-9a-f]+}}:
// CHECK-NEXT: global @[[SECOND]]: tensor<2x3xf32>
// CHECK: source global @[[FIRST]]: tensor<2x3xf32>, 24 bytes, 0 stored
// CHECK-NEXT: also read by @main (elementwise)
// CHECK: read by @main (elementwise)
#same = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %source = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %init = tensor.empty() : tensor<2x3xf32>
  %first = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.exp %in : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  %second = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%first : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.sin %in : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  %a = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x, %first : tensor<2x3xf32>, tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %value = arith.addf %l, %r : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  %b = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%y, %second : tensor<2x3xf32>, tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %value = arith.mulf %l, %r : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  return %a, %b : tensor<2x3xf32>, tensor<2x3xf32>
}
