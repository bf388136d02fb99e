// A reduction of floats keeps its layout: it reads a copy, which a barrier keeps from being hoisted and stored again.
// RUN: %python -m tests.share_everything %s - %cpu --compile-to=dispatch-creation | filecheck %s

// CHECK-NOT: util.initializer
// CHECK: util.global private @[[HOME:[a-z0-9_]+]] {{.*}} = dense<{{.*}}> : tensor<3x2xf32>
// CHECK-NOT: util.global
// CHECK-LABEL: util.func public @main
// CHECK: %[[TABLE:.+]] = util.global.load immutable @[[HOME]] : tensor<3x2xf32>
// CHECK: %[[GUARDED:.+]] = util.optimization_barrier %[[TABLE]]
// CHECK: flow.dispatch.workgroups{{.*}}(%[[GUARDED]])
// CHECK-NOT: util.initializer
func.func @main(%x: tensor<2x3xf32>, %i: index, %j: index) -> (tensor<2xf32>, f32) {
  %table = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<2xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e0 : tensor<2xf32>) -> tensor<2xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%x, %table : tensor<2x3xf32>, tensor<2x3xf32>) outs(%init : tensor<2xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  %e1 = tensor.empty() : tensor<3x2xf32>
  %t = linalg.transpose ins(%table : tensor<2x3xf32>) outs(%e1 : tensor<3x2xf32>) permutation = [1, 0]
  %picked = tensor.extract %t[%i, %j] : tensor<3x2xf32>
  return %sums, %picked : tensor<2xf32>, f32
}
