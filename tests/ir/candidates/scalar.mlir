// A result that is no tensor has the kind scalar, whatever computed it.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s

// CHECK: candidate {{[0-9a-f]+}}: scalar of [elementwise, reduction, scalar]
// CHECK-NEXT: global @{{.*}}: f32, 4 bytes
// CHECK-NEXT: at {{.*}}
// CHECK-NEXT: source dense {{[0-9a-f]+}}: tensor<4xf32>, 16 bytes, 16 stored
// CHECK-NEXT: read by @main (elementwise)
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %source = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %zero = arith.constant 0.0 : f32
  %init = tensor.empty() : tensor<f32>
  %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
    ins(%source : tensor<4xf32>) outs(%fill : tensor<f32>) {
  ^bb0(%in: f32, %acc: f32):
    %square = arith.mulf %in, %in : f32
    %value = arith.addf %acc, %square : f32
    linalg.yield %value : f32
  } -> tensor<f32>
  %norm = tensor.extract %sum[] : tensor<f32>
  %root = math.sqrt %norm : f32
  %init_1 = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x : tensor<4xf32>) outs(%init_1 : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = arith.divf %in, %root : f32
    linalg.yield %value : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
