// Each function that reads a candidate gets a copy of the expression; none is left at module level.
// RUN: %python -m constpolicy compile %s --policy %S/inline.yaml %cpu --compile-to=global-optimization | filecheck %s

util.global private @shared : tensor<8x2xf32>
util.initializer {
  %table = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]]> : tensor<2x8xf32>
  %e = tensor.empty() : tensor<8x2xf32>
  %t = linalg.transpose ins(%table : tensor<2x8xf32>) outs(%e : tensor<8x2xf32>) permutation = [1, 0]
  util.global.store %t, @shared : tensor<8x2xf32>
  util.return
}

func.func @first(%x: tensor<8x2xf32>) -> tensor<8x2xf32> {
  %t = util.global.load @shared : tensor<8x2xf32>
  %r = arith.addf %x, %t : tensor<8x2xf32>
  return %r : tensor<8x2xf32>
}

func.func @second(%x: tensor<64x4xf32>) -> tensor<64x4xf32> {
  %c = arith.constant dense<[1.0, 0.5, 0.25, 0.125]> : tensor<4xf32>
  %e = tensor.empty() : tensor<64x4xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4xf32>) outs(%e : tensor<64x4xf32>) {
  ^bb0(%f: f32, %o: f32):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i32
    %p = arith.sitofp %k : i32 to f32
    %v = arith.mulf %p, %f : f32
    linalg.yield %v : f32
  } -> tensor<64x4xf32>
  %r = arith.mulf %x, %t : tensor<64x4xf32>
  return %r : tensor<64x4xf32>
}

func.func @third(%x: tensor<64x4xf32>) -> tensor<64x4xf32> {
  %c = arith.constant dense<[1.0, 0.5, 0.25, 0.125]> : tensor<4xf32>
  %e = tensor.empty() : tensor<64x4xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<4xf32>) outs(%e : tensor<64x4xf32>) {
  ^bb0(%f: f32, %o: f32):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i32
    %p = arith.sitofp %k : i32 to f32
    %v = arith.mulf %p, %f : f32
    linalg.yield %v : f32
  } -> tensor<64x4xf32>
  %r = arith.addf %x, %t : tensor<64x4xf32>
  return %r : tensor<64x4xf32>
}

// The user's own initializer is evaluated, as IREE does under every policy.
// CHECK: util.global private @shared = dense<
// CHECK-NOT: util.initializer
// CHECK-LABEL: util.func public @first
// CHECK-NOT: util.optimization_barrier
// CHECK-LABEL: util.func public @second
// CHECK: util.optimization_barrier
// CHECK-LABEL: util.func public @third
// CHECK: util.optimization_barrier
