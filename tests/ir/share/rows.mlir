// An iree_linalg_ext.gather becomes a linalg.generic that extracts from the result; the order of indexed dims is kept.
// RUN: %python -m tests.share_everything %s - %cpu --compile-to=global-optimization | filecheck %s

// CHECK: util.global private @[[HOME:[a-z0-9_]+]] {{.*}} = dense<{{.*}}> : tensor<3x2x4xf32>
// CHECK-LABEL: util.func public @main
// CHECK: %[[TABLE:.+]] = util.global.load immutable @[[HOME]] : tensor<3x2x4xf32>
// CHECK-NOT: iree_linalg_ext.gather
// CHECK: %[[BATCH:.+]] = linalg.index 0
// CHECK: %[[COLUMN:.+]] = linalg.index 1
// CHECK: %[[SECOND:.+]] = tensor.extract %[[IDS:.+]][%[[BATCH]], %{{.+}}] : tensor<5x2xi32>
// CHECK: %[[ROW:.+]] = arith.index_cast %[[SECOND]]
// CHECK: %[[FIRST:.+]] = tensor.extract %[[IDS]][%[[BATCH]], %{{.+}}] : tensor<5x2xi32>
// CHECK: %[[HALF:.+]] = arith.index_cast %[[FIRST]]
// CHECK: tensor.extract %[[TABLE]][%[[COLUMN]], %[[HALF]], %[[ROW]]] : tensor<3x2x4xf32>
func.func @main(%ids: tensor<5x2xi32>, %i: index, %j: index, %k: index) -> (tensor<5x3xf32>, f32) {
  %table = arith.constant dense<"0x0000803F0000004000000040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C041"> : tensor<4x2x3xf32>
  %e0 = tensor.empty() : tensor<5x3xf32>
  %rows = iree_linalg_ext.gather dimension_map = [1, 0] ins(%table, %ids : tensor<4x2x3xf32>, tensor<5x2xi32>) outs(%e0 : tensor<5x3xf32>) -> tensor<5x3xf32>
  %e1 = tensor.empty() : tensor<3x2x4xf32>
  %t = linalg.transpose ins(%table : tensor<4x2x3xf32>) outs(%e1 : tensor<3x2x4xf32>) permutation = [2, 1, 0]
  %picked = tensor.extract %t[%k, %j, %i] : tensor<3x2x4xf32>
  return %rows, %picked : tensor<5x3xf32>, f32
}
