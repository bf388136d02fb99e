// For `fuse`, an expression goes back to its reader without a barrier, so that DispatchCreation may fuse it.
// RUN: %python -m constpolicy compile %s --policy %S/fuse.yaml %cpu --compile-to=global-optimization | filecheck %s

func.func @main(%x: tensor<4x8xf32>) -> tensor<4x2xf32> {
  %table = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]]> : tensor<2x8xf32>
  %scale = arith.constant 0.125 : f32
  %e = tensor.empty() : tensor<8x2xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%table : tensor<2x8xf32>) outs(%e : tensor<8x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.mulf %in, %scale : f32
    linalg.yield %s : f32
  } -> tensor<8x2xf32>
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<4x2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x2xf32>) -> tensor<4x2xf32>
  %m = linalg.matmul ins(%x, %t : tensor<4x8xf32>, tensor<8x2xf32>) outs(%f : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %m : tensor<4x2xf32>
}

// CHECK-NOT: util.initializer
// CHECK-NOT: util.optimization_barrier
// CHECK-NOT: __hoisted
// CHECK-LABEL: util.func public @main
// CHECK: %[[TABLE:.+]] = arith.constant dense<{{.*}}> : tensor<2x8xf32>
// CHECK: %[[RESULT:.+]] = linalg.generic {{.*}} ins(%[[TABLE]] : tensor<2x8xf32>)
// CHECK: linalg.matmul ins({{.*}}, %[[RESULT]] :
