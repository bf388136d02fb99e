// One blob under two shapes is one source: same key, stored once.
// RUN: %python -m tests.ir.print_candidates %s %cpu --iree-opt-const-expr-max-size-increase-threshold=100000 | filecheck %s

#swapped = affine_map<(i, j) -> (j, i)>
#same = affine_map<(i, j) -> (i, j)>

// CHECK: source dense [[BLOB:[0-9a-f]+]]: tensor<2x3xf32>, 24 bytes, 24 stored
// CHECK-NEXT: also read by @main (elementwise)
// CHECK: source dense {{[0-9a-f]+}}: tensor<2x3xi32>, 24 bytes, 24 stored
// CHECK-NOT: also read by
// CHECK: constant bytes: 48
func.func @main(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xi32>) {
  %source = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %other = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  // the same bits as integers
  %bits = arith.constant dense<[[1065353216, 1073741824, 1077936128], [1082130432, 1084227584, 1086324736]]> : tensor<2x3xi32>
  %init = tensor.empty() : tensor<3x2xf32>
  %exp = linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.exp %in : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  %init_1 = tensor.empty() : tensor<3x2xi32>
  %odd = linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel"]}
    ins(%bits : tensor<2x3xi32>) outs(%init_1 : tensor<3x2xi32>) {
  ^bb0(%in: i32, %out: i32):
    %value = arith.muli %in, %in : i32
    linalg.yield %value : i32
  } -> tensor<3x2xi32>
  %sum = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x, %other : tensor<3x2xf32>, tensor<3x2xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %value = arith.addf %a, %b : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  return %exp, %sum, %odd : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xi32>
}
