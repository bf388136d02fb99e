// A tensor that a body captures is a source, and gathering from it reads no more than is written.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s

// CHECK: candidate {{[0-9a-f]+}}: elementwise of [elementwise, gather], global-optimization
// CHECK-NEXT: global @{{.*}}: tensor<512xf32>, 2048 bytes
// CHECK-NEXT: at {{.*}}captured.mlir:{{.*}}, moves 4096 bytes
// CHECK-NEXT: source dense {{[0-9a-f]+}}: tensor<4xf32>, 16 bytes, 16 stored
// CHECK-NEXT: read by @main (elementwise)
// CHECK-NEXT: constant bytes: 16
func.func @main(%x: tensor<512xf32>) -> tensor<512xf32> {
  %source = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %size = arith.constant 4 : index
  %init = tensor.empty() : tensor<512xf32>
  %table = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%init : tensor<512xf32>) {
  ^bb0(%out: f32):
    %position = linalg.index 0 : index
    %place = arith.remui %position, %size : index
    %value = tensor.extract %source[%place] : tensor<4xf32>
    %sine = math.sin %value : f32
    linalg.yield %sine : f32
  } -> tensor<512xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%x, %table : tensor<512xf32>, tensor<512xf32>) outs(%init : tensor<512xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %product = arith.mulf %a, %b : f32
    linalg.yield %product : f32
  } -> tensor<512xf32>
  return %y : tensor<512xf32>
}
