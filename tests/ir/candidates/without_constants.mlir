// Const-eval looks for const-exprs from constants onwards: a table computed from indices alone is left for load time.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s
// RUN: %python -m tests.ir.print_candidates %s --ask-const-eval %cpu | filecheck %s --check-prefix LEFT

// CHECK: candidate {{[0-9a-f]+}}:
// CHECK-NEXT: global @[[RAMP:[a-zA-Z0-9_]+]]: tensor<16xf32>
// CHECK: cannot evaluate: const-eval leaves it for load time: it computes something from neither constants nor globals (linalg.generic)
// CHECK: candidate {{[0-9a-f]+}}:
// CHECK: source global @[[RAMP]]: tensor<16xf32>
// CHECK: cannot evaluate: const-eval leaves it for load time: it reads @[[RAMP]], which const-eval leaves for load time
// CHECK: candidate {{[0-9a-f]+}}:
// CHECK: source global @own: tensor<16xf32>
// CHECK: cannot evaluate: const-eval leaves it for load time: it reads @own, which const-eval leaves for load time
// CHECK: candidate {{[0-9a-f]+}}:
// CHECK: source dense {{.*}}: tensor<16xf32>
// CHECK-NOT: cannot evaluate
// LEFT: left for load time: @own @{{[a-z0-9_]+}} @{{[a-z0-9_]+}} @{{[a-z0-9_]+$}}
#same = affine_map<(i) -> (i)>
util.global private @own : tensor<16xf32>
util.initializer {
  %init = tensor.empty() : tensor<16xf32>
  %value = linalg.generic {indexing_maps = [#same], iterator_types = ["parallel"]} outs(%init : tensor<16xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %number = arith.index_cast %i : index to i32
    %float = arith.sitofp %number : i32 to f32
    %exp = math.exp %float : f32
    linalg.yield %exp : f32
  } -> tensor<16xf32>
  util.global.store %value, @own : tensor<16xf32>
  util.return
}

func.func @main(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %weights = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]> : tensor<16xf32>
  %scale = arith.constant 0.01 : f32
  %init = tensor.empty() : tensor<16xf32>
  %ramp = linalg.generic {indexing_maps = [#same], iterator_types = ["parallel"]} outs(%init : tensor<16xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %number = arith.index_cast %i : index to i32
    %float = arith.sitofp %number : i32 to f32
    linalg.yield %float : f32
  } -> tensor<16xf32>
  %square = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%ramp : tensor<16xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %product = arith.mulf %in, %in : f32
    linalg.yield %product : f32
  } -> tensor<16xf32>
  %scaled = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%square : tensor<16xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %product = arith.mulf %in, %scale : f32
    linalg.yield %product : f32
  } -> tensor<16xf32>
  %exp = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%scaled : tensor<16xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.exp %in : f32
    linalg.yield %value : f32
  } -> tensor<16xf32>
  %a = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
    ins(%x, %exp : tensor<16xf32>, tensor<16xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %sum = arith.addf %l, %r : f32
    linalg.yield %sum : f32
  } -> tensor<16xf32>
  %table = util.global.load @own : tensor<16xf32>
  %sine = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%table : tensor<16xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.sin %in : f32
    linalg.yield %value : f32
  } -> tensor<16xf32>
  %b = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
    ins(%x, %sine : tensor<16xf32>, tensor<16xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %product = arith.mulf %l, %r : f32
    linalg.yield %product : f32
  } -> tensor<16xf32>
  %weighted = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%weights : tensor<16xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %number = arith.index_cast %i : index to i32
    %float = arith.sitofp %number : i32 to f32
    %sum = arith.addf %in, %float : f32
    linalg.yield %sum : f32
  } -> tensor<16xf32>
  %c = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
    ins(%x, %weighted : tensor<16xf32>, tensor<16xf32>) outs(%init : tensor<16xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %difference = arith.subf %l, %r : f32
    linalg.yield %difference : f32
  } -> tensor<16xf32>
  return %a, %b, %c : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
