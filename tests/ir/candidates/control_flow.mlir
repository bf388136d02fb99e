// Loops are hoisted whole; const-eval leaves them for load time.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s
// RUN: %python -m tests.ir.print_candidates %s --ask-const-eval %cpu | filecheck %s --check-prefix LEFT

// CHECK: candidate {{[0-9a-f]+}}: elementwise of [control_flow, elementwise]
// CHECK-NEXT: global @[[LOOP:[a-zA-Z0-9_]+]]: tensor<2x3xf32>
// CHECK: cannot evaluate: const-eval leaves it for load time: it has control flow (scf.for)
// LEFT: left for load time: @{{[a-zA-Z0-9_]+}}
#same = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %source = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %start = arith.constant 0.5 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %init = tensor.empty() : tensor<2x3xf32>
  %loop = scf.for %i = %c0 to %c100 step %c1 iter_args(%value = %start) -> (f32) {
    %sine = math.sin %value : f32
    scf.yield %sine : f32
  }
  %scaled = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = arith.mulf %in, %loop : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  %a = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x, %scaled : tensor<2x3xf32>, tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %value = arith.addf %l, %r : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  return %a : tensor<2x3xf32>
}
