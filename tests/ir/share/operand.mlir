// An operand of a linalg.generic reads a transposed result through its indexing map.
// RUN: %python -m tests.share_everything %s - %cpu --compile-to=global-optimization | filecheck %s

// CHECK: util.global private @[[HOME:[a-z0-9_]+]] {{.*}} = dense<{{.*}}> : tensor<3x2xf32>
// CHECK-LABEL: util.func public @main
// CHECK: %[[TABLE:.+]] = util.global.load immutable @[[HOME]] : tensor<3x2xf32>
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}}} ins(%{{.+}}, %[[TABLE]] : tensor<2x3xf32>, tensor<3x2xf32>)
func.func @main(%x: tensor<2x3xf32>, %i: index, %j: index) -> (tensor<2x3xf32>, f32) {
  %table = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %e0 = tensor.empty() : tensor<2x3xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x, %table : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %s = arith.addf %l, %r : f32
    linalg.yield %s : f32
  } -> tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<3x2xf32>
  %t = linalg.transpose ins(%table : tensor<2x3xf32>) outs(%e1 : tensor<3x2xf32>) permutation = [1, 0]
  %picked = tensor.extract %t[%i, %j] : tensor<3x2xf32>
  return %sum, %picked : tensor<2x3xf32>, f32
}
