// DispatchCreation hoists too: encodings, and expressions that it has put into dispatches. Const-eval is over by then.
// RUN: %python -m tests.ir.print_candidates %s --stop-at=dispatch-creation %cpu --iree-opt-data-tiling | filecheck %s

// CHECK: candidate {{[0-9a-f]+}}: pack of [pack], dispatch-creation
// CHECK: source resource weights: tensor<64x64xf32>, 16384 bytes, 16384 stored
// CHECK: read by @main (contraction)
// CHECK: cannot evaluate: hoisted in DispatchCreation, after const-eval has run
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %source = arith.constant dense_resource<weights> : tensor<64x64xf32>
  %zero = arith.constant 0.0 : f32
  %init = tensor.empty() : tensor<64x64xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = linalg.matmul ins(%x, %source : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
