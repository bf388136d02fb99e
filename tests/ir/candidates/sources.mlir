// Sources: what they are, whether the file holds bytes for them, who else reads them.
// RUN: %python -m tests.ir.print_candidates %s %cpu --iree-opt-const-expr-max-size-increase-threshold=100000 | filecheck %s

#same = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(i, j) -> (j, i)>

// A resource goes by its key; here the function reads the source too. The scale, a scalar, is no source.
// CHECK: candidate {{[0-9a-f]+}}: elementwise of [elementwise, transpose]
// CHECK-NEXT: global @{{.*}}: tensor<3x2xf32>, 24 bytes
// CHECK-NEXT: at {{.*}}sources.mlir:{{.*}}, moves 48 bytes
// CHECK-NEXT: source resource the.table: tensor<2x3xf32>, 24 bytes, 24 stored, at {{.*}}sources.mlir:
// CHECK-NEXT: also read by @shared_resource (elementwise) at
// CHECK-NEXT: also read by @shared_resource (gather) at
// CHECK-NEXT: read by @shared_resource (contraction) at
// CHECK-NOT: read by
func.func @shared_resource(%x: tensor<2x3xf32>, %i: index) -> (tensor<2x2xf32>, tensor<2x3xf32>, tensor<3xf32>) {
  %source = arith.constant dense_resource<the.table> : tensor<2x3xf32>
  %scale = arith.constant 0.125 : f32
  %init = tensor.empty() : tensor<3x2xf32>
  %scaled = linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = arith.mulf %in, %scale : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  %init_1 = tensor.empty() : tensor<2x3xf32>
  %sum = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x, %source : tensor<2x3xf32>, tensor<2x3xf32>) outs(%init_1 : tensor<2x3xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %value = arith.addf %a, %b : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  %init_2 = tensor.empty() : tensor<3xf32>
  %row = linalg.generic {indexing_maps = [affine_map<(j) -> (j)>], iterator_types = ["parallel"]} outs(%init_2 : tensor<3xf32>) {
  ^bb0(%out: f32):
    %j = linalg.index 0 : index
    %value = tensor.extract %source[%i, %j] : tensor<2x3xf32>
    linalg.yield %value : f32
  } -> tensor<3xf32>
  %zero = arith.constant 0.0 : f32
  %init_3 = tensor.empty() : tensor<2x2xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%init_3 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %product = linalg.matmul ins(%x, %scaled : tensor<2x3xf32>, tensor<3x2xf32>) outs(%fill : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %product, %sum, %row : tensor<2x2xf32>, tensor<2x3xf32>, tensor<3xf32>
}

// A splat has its full size but the file holds nothing for it.
// CHECK: candidate {{[0-9a-f]+}}:
// CHECK: source dense splat f32 0x0000003f x6: tensor<2x3xf32>, 24 bytes, 0 stored
// CHECK-NEXT: source dense {{[0-9a-f]+}}: tensor<2x3xf32>, 24 bytes, 24 stored
// CHECK-NEXT: source dense {{[0-9a-f]+}}: tensor<1x3xf32>, 12 bytes, 12 stored
// CHECK-NEXT: read by @splat (other)
// CHECK-NEXT: constant bytes: 60
func.func @splat() -> tensor<5x3xf32> {
  %a = arith.constant dense<0.5> : tensor<2x3xf32>
  %b = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %c = arith.constant dense<[[9.0, 8.0, 7.0]]> : tensor<1x3xf32>
  %result = tensor.concat dim(0) %a, %b, %c : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<5x3xf32>
  return %result : tensor<5x3xf32>
}
