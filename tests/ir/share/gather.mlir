// A gather reads the packed result at the mapped index, in its body; the source is gone.
// RUN: %python -m tests.share_everything %s - %cpu --compile-to=global-optimization | filecheck %s

// CHECK: util.global private @[[HOME:[a-z0-9_]+]] {{.*}} = dense<{{.*}}> : tensor<2x3x4x1xf32>
// CHECK-NOT: tensor<8x3xf32>
// CHECK-LABEL: util.func public @main
// CHECK-NOT: arith.constant dense
// CHECK: %[[TABLE:.+]] = util.global.load immutable @[[HOME]] : tensor<2x3x4x1xf32>
// CHECK: linalg.generic
// CHECK: ^bb0(%[[ID:.+]]: i32,
// CHECK: %[[ROW:.+]] = arith.index_cast %[[ID]]
// CHECK: %[[COLUMN:.+]] = linalg.index 1
// CHECK: %[[FOUR:.+]] = arith.constant 4 : index
// CHECK: %[[TILE:.+]] = arith.divui %[[ROW]], %[[FOUR]]
// CHECK: %[[INNER:.+]] = arith.remui %[[ROW]],
// CHECK: tensor.extract %[[TABLE]][%[[TILE]], %[[COLUMN]], %[[INNER]], %{{.+}}] : tensor<2x3x4x1xf32>
func.func @main(%ids: tensor<2xi32>, %i: index, %j: index) -> (tensor<2x3xf32>, f32) {
  %table = arith.constant dense<"0x0000803F0000004000004040000080400000A0400000C0400000E0400000004100001041000020410000304100004041000050410000604100007041000080410000884100009041000098410000A0410000A8410000B0410000B8410000C041"> : tensor<8x3xf32>
  %e0 = tensor.empty() : tensor<2x3xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%ids : tensor<2xi32>) outs(%e0 : tensor<2x3xf32>) {
  ^bb0(%id: i32, %out: f32):
    %row = arith.index_cast %id : i32 to index
    %column = linalg.index 1 : index
    %element = tensor.extract %table[%row, %column] : tensor<8x3xf32>
    linalg.yield %element : f32
  } -> tensor<2x3xf32>
  %e1 = tensor.empty() : tensor<2x3x4x1xf32>
  %packed = linalg.pack %table inner_dims_pos = [0, 1] inner_tiles = [4, 1] into %e1 : tensor<8x3xf32> -> tensor<2x3x4x1xf32>
  %c0 = arith.constant 0 : index
  %picked = tensor.extract %packed[%i, %j, %i, %c0] : tensor<2x3x4x1xf32>
  return %rows, %picked : tensor<2x3xf32>, f32
}
