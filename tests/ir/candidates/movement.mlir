// Ops that only move elements have the kind of the movement.
// RUN: %python -m tests.ir.print_candidates %s %cpu --iree-opt-const-expr-max-size-increase-threshold=100000 | filecheck %s

// CHECK: candidate {{[0-9a-f]+}}: transpose of [transpose]
// CHECK: source dense {{[0-9a-f]+}}: tensor<2x3xf32>, 24 bytes, 24 stored
// CHECK: read by @transposed (other)
func.func @transposed() -> tensor<3x2xf32> {
  %source = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %init = tensor.empty() : tensor<3x2xf32>
  %result = linalg.transpose ins(%source : tensor<2x3xf32>) outs(%init : tensor<3x2xf32>) permutation = [1, 0]
  return %result : tensor<3x2xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: broadcast of [broadcast]
// CHECK: read by @broadcast (other)
func.func @broadcast() -> tensor<4x3xf32> {
  %source = arith.constant dense<[1.5, 2.0, 3.0]> : tensor<3xf32>
  %init = tensor.empty() : tensor<4x3xf32>
  %result = linalg.broadcast ins(%source : tensor<3xf32>) outs(%init : tensor<4x3xf32>) dimensions = [0]
  return %result : tensor<4x3xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: gather of [gather]
// CHECK: source dense {{[0-9a-f]+}}: tensor<4x2xf32>
// CHECK: source dense {{[0-9a-f]+}}: tensor<3xi32>
// CHECK: read by @gathered (other)
func.func @gathered() -> tensor<3x2xf32> {
  %table = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.5]]> : tensor<4x2xf32>
  %rows = arith.constant dense<[3, 0, 2]> : tensor<3xi32>
  %init = tensor.empty() : tensor<3x2xf32>
  %result = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%rows : tensor<3xi32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: i32, %out: f32):
    %row = arith.index_cast %in : i32 to index
    %column = linalg.index 1 : index
    %value = tensor.extract %table[%row, %column] : tensor<4x2xf32>
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  return %result : tensor<3x2xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: pack of [pack]
// CHECK: read by @packed (other)
func.func @packed() -> tensor<2x1x2x2xf32> {
  %source = arith.constant dense<[[1.0, 2.0], [4.0, 5.0], [7.0, 8.0], [9.0, 6.0]]> : tensor<4x2xf32>
  %init = tensor.empty() : tensor<2x1x2x2xf32>
  %result = linalg.pack %source inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %init : tensor<4x2xf32> -> tensor<2x1x2x2xf32>
  return %result : tensor<2x1x2x2xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: slice of [slice]
// CHECK: read by @sliced (other)
func.func @sliced() -> tensor<3x2xf32> {
  %source = arith.constant dense<[[1.0, 2.0, 3.0, 9.0], [4.0, 5.0, 6.0, 9.0], [4.0, 5.0, 7.0, 8.0]]> : tensor<3x4xf32>
  %result = tensor.extract_slice %source[0, 1] [3, 2] [1, 1] : tensor<3x4xf32> to tensor<3x2xf32>
  return %result : tensor<3x2xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: concat of [concat]
// CHECK: read by @joined (other)
func.func @joined() -> tensor<2x5xf32> {
  %left = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 0.5]]> : tensor<2x3xf32>
  %right = arith.constant dense<[[1.0, 2.0], [4.0, 0.5]]> : tensor<2x2xf32>
  %result = tensor.concat dim(1) %left, %right : (tensor<2x3xf32>, tensor<2x2xf32>) -> tensor<2x5xf32>
  return %result : tensor<2x5xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: pad of [pad]
// CHECK: read by @padded (other)
func.func @padded() -> tensor<4x3xf32> {
  %source = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 0.25]]> : tensor<2x3xf32>
  %zero = arith.constant 0.0 : f32
  %result = tensor.pad %source low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<2x3xf32> to tensor<4x3xf32>
  return %result : tensor<4x3xf32>
}
