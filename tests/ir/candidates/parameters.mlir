// Parameters go by scope and key; the file holds nothing of them, and const-eval leaves what reads them.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s
// RUN: %python -m tests.ir.print_candidates %s --ask-const-eval %cpu | filecheck %s --check-prefix LEFT

// CHECK: candidate {{[0-9a-f]+}}: elementwise of [elementwise]
// CHECK-NEXT: global @[[READS_TABLE:[a-z0-9_]+]]:
// CHECK: source parameter model::table: tensor<2x3xf32>, 24 bytes, 0 stored
// CHECK: cannot evaluate: const-eval leaves it for load time: it reads a parameter
// CHECK: candidate {{[0-9a-f]+}}: elementwise of [elementwise]
// CHECK: source parameter bias: tensor<2x3xf32>, 24 bytes, 0 stored
// CHECK: cannot evaluate: const-eval leaves it for load time: it reads a parameter
// CHECK: constant bytes: 0
// LEFT: left for load time: @{{[a-z0-9_]+}} @{{[a-z0-9_]+}}
#same = affine_map<(i, j) -> (i, j)>
util.global private @bias = #flow.parameter.named<"bias"> : tensor<2x3xf32>
func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %table = flow.tensor.constant #flow.parameter.named<"model"::"table"> : tensor<2x3xf32>
  %init = tensor.empty() : tensor<2x3xf32>
  %exp = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%table : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.exp %in : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  %bias = util.global.load @bias : tensor<2x3xf32>
  %sin = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%bias : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.sin %in : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  return %exp, %sin : tensor<2x3xf32>, tensor<2x3xf32>
}
