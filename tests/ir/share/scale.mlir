// A scale by a power of two is undone where the source's elements are read.
// RUN: %python -m tests.share_everything %s - %cpu --compile-to=global-optimization | filecheck %s

// CHECK: util.global private @[[HOME:[a-z0-9_]+]] {{.*}} = dense<{{.*}}> : tensor<3x2xf32>
// CHECK-LABEL: util.func public @main
// CHECK: %[[TABLE:.+]] = util.global.load immutable @[[HOME]] : tensor<3x2xf32>
// CHECK: %[[ELEMENT:.+]] = tensor.extract %[[TABLE]][%{{.+}}, %{{.+}}] : tensor<3x2xf32>
// CHECK: %[[INVERSE:.+]] = arith.constant 8.000000e+00 : f32
// CHECK: arith.mulf %[[ELEMENT]], %[[INVERSE]] : f32
func.func @main(%i: index, %j: index) -> (f32, f32) {
  %table = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %element = tensor.extract %table[%i, %j] : tensor<2x3xf32>
  %eighth = arith.constant 0.125 : f32
  %e = tensor.empty() : tensor<3x2xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%table : tensor<2x3xf32>) outs(%e : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.mulf %in, %eighth : f32
    linalg.yield %s : f32
  } -> tensor<3x2xf32>
  %picked = tensor.extract %t[%j, %i] : tensor<3x2xf32>
  return %element, %picked : f32, f32
}
