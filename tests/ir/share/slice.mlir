// A slice at an offset that only the call knows is followed to its reader: the offset is added to the mapped index.
// RUN: %python -m tests.share_everything %s - %cpu --compile-to=global-optimization | filecheck %s

// CHECK: util.global private @[[HOME:[a-z0-9_]+]] {{.*}} = dense<{{.*}}> : tensor<2x4xi32>
// CHECK-LABEL: util.func public @main
// CHECK: %[[TABLE:.+]] = util.global.load immutable @[[HOME]] : tensor<2x4xi32>
// CHECK: %[[OFFSET:.+]] = arith.index_cast %{{.+}} : i32 to index
// CHECK-NOT: tensor.extract_slice
// CHECK: linalg.generic
// CHECK: %[[ROW:.+]] = linalg.index 0
// CHECK: %[[COLUMN:.+]] = linalg.index 1
// CHECK: %[[AT:.+]] = arith.addi %[[ROW]], %[[OFFSET]]
// CHECK: tensor.extract %[[TABLE]][%[[COLUMN]], %[[AT]]] : tensor<2x4xi32>
func.func @main(%start: tensor<i32>, %x: tensor<3x2xi32>, %i: index, %j: index) -> (tensor<3x2xi32>, i32) {
  %table = arith.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi32>
  %number = tensor.extract %start[] : tensor<i32>
  %offset = arith.index_cast %number : i32 to index
  %slice = tensor.extract_slice %table[%offset, 0] [3, 2] [1, 1] : tensor<4x2xi32> to tensor<3x2xi32>
  %e0 = tensor.empty() : tensor<3x2xi32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x, %slice : tensor<3x2xi32>, tensor<3x2xi32>) outs(%e0 : tensor<3x2xi32>) {
  ^bb0(%l: i32, %r: i32, %out: i32):
    %s = arith.addi %l, %r : i32
    linalg.yield %s : i32
  } -> tensor<3x2xi32>
  %e1 = tensor.empty() : tensor<2x4xi32>
  %t = linalg.transpose ins(%table : tensor<4x2xi32>) outs(%e1 : tensor<2x4xi32>) permutation = [1, 0]
  %picked = tensor.extract %t[%i, %j] : tensor<2x4xi32>
  return %sum, %picked : tensor<3x2xi32>, i32
}
