// Users' own initializers are no candidates, whatever their globals are called; they read sources and results.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s
// RUN: %python -m tests.ir.print_candidates %s --ask-const-eval %cpu | filecheck %s --check-prefix LEFT

#swapped = affine_map<(i, j) -> (j, i)>
#same = affine_map<(i, j) -> (i, j)>

// CHECK-NOT: global @__hoisted_by_hand
// CHECK: candidate {{[0-9a-f]+}}: elementwise of [elementwise]
// CHECK: source resource weights: tensor<2x3xf32>, 24 bytes, 24 stored
// CHECK-NEXT: also read by initializer of @__hoisted_by_hand (transpose)
// CHECK-NEXT: read by @main (elementwise)
// CHECK-NEXT: candidate {{[0-9a-f]+}}: elementwise of [elementwise]
// CHECK: source global @__hoisted_by_hand: tensor<3x2xf32>, 24 bytes, 0 stored
// CHECK-NEXT: also read by @main (elementwise)
// CHECK-NEXT: read by @main (elementwise)
// CHECK-NEXT: candidate {{[0-9a-f]+}}: elementwise of [elementwise]
// CHECK: source global @at_load: tensor<3x2xf32>
// CHECK: cannot evaluate: const-eval leaves it for load time: it reads @at_load, which const-eval leaves for load time
// LEFT: left for load time: @at_load @{{[a-z0-9_]+}}
util.global private @__hoisted_by_hand : tensor<3x2xf32>
util.initializer {
  %source = arith.constant dense_resource<weights> : tensor<2x3xf32>
  %init = tensor.empty() : tensor<3x2xf32>
  %t = linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<3x2xf32>
  util.global.store %t, @__hoisted_by_hand : tensor<3x2xf32>
  util.return
}

util.global private @at_load : tensor<3x2xf32>
util.initializer {
  %source = flow.tensor.constant #flow.parameter.named<"model"::"source"> : tensor<3x2xf32>
  %init = tensor.empty() : tensor<3x2xf32>
  %value = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<3x2xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %exp = math.exp %in : f32
    linalg.yield %exp : f32
  } -> tensor<3x2xf32>
  util.global.store %value, @at_load : tensor<3x2xf32>
  util.return
}

func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %source = arith.constant dense_resource<weights> : tensor<2x3xf32>
  %init = tensor.empty() : tensor<2x3xf32>
  %exp = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.exp %in : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  %a = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x, %exp : tensor<2x3xf32>, tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %value = arith.addf %l, %r : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  %init_1 = tensor.empty() : tensor<3x2xf32>
  %table = util.global.load @__hoisted_by_hand : tensor<3x2xf32>
  %sine = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%table : tensor<3x2xf32>) outs(%init_1 : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.sin %in : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  %b = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%y, %sine : tensor<3x2xf32>, tensor<3x2xf32>) outs(%init_1 : tensor<3x2xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %value = arith.mulf %l, %r : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  %c = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%y, %table : tensor<3x2xf32>, tensor<3x2xf32>) outs(%init_1 : tensor<3x2xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %value = arith.subf %l, %r : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  %late = util.global.load @at_load : tensor<3x2xf32>
  %cosine = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%late : tensor<3x2xf32>) outs(%init_1 : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.cos %in : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  return %a, %b, %c, %cosine : tensor<2x3xf32>, tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

{-# dialect_resources: { builtin: {
  weights: "0x040000000000803F000000400000404000008040000000410000C040"
} } #-}
