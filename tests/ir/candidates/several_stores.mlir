// An initializer that stores several results is one candidate with several globals.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s

// CHECK: candidate {{[0-9a-f]+}}: elementwise of [elementwise]
// CHECK-NEXT: global @[[FIRST:[a-z0-9_]+]]: tensor<2x3xf32>, 24 bytes
// CHECK-NEXT: global @{{[a-z0-9_]+}}: tensor<2x3xf16>, 12 bytes
// CHECK-NEXT: at {{.*}}, moves 60 bytes
// CHECK-NEXT: source dense
// CHECK-NEXT: read by @main (elementwise)
// CHECK-NEXT: read by @main (elementwise)
// CHECK-NEXT: constant bytes: 24
#same = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf16>) -> (tensor<2x3xf32>, tensor<2x3xf16>) {
  %source = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %init = tensor.empty() : tensor<2x3xf32>
  %init_1 = tensor.empty() : tensor<2x3xf16>
  %both:2 = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xf32>) outs(%init, %init_1 : tensor<2x3xf32>, tensor<2x3xf16>) {
  ^bb0(%in: f32, %out: f32, %out_1: f16):
    %value = math.exp %in : f32
    %half = arith.truncf %value : f32 to f16
    linalg.yield %value, %half : f32, f16
  } -> (tensor<2x3xf32>, tensor<2x3xf16>)
  %a = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x, %both#0 : tensor<2x3xf32>, tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %value = arith.addf %l, %r : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  %b = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%y, %both#1 : tensor<2x3xf16>, tensor<2x3xf16>) outs(%init_1 : tensor<2x3xf16>) {
  ^bb0(%l: f16, %r: f16, %out: f16):
    %value = arith.mulf %l, %r : f16
    linalg.yield %value : f16
  } -> tensor<2x3xf16>
  return %a, %b : tensor<2x3xf32>, tensor<2x3xf16>
}
