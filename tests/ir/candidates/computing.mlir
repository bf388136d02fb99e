// Ops that compute have the kind of the computation; how operands move on the way counts beside it.
// RUN: %python -m tests.ir.print_candidates %s %cpu --iree-opt-const-expr-max-size-increase-threshold=100000 | filecheck %s

#rows = affine_map<(i, j) -> (i)>
#columns = affine_map<(i, j) -> (j)>
#same = affine_map<(i, j) -> (i, j)>
#swapped = affine_map<(i, j) -> (j, i)>

// CHECK: candidate {{[0-9a-f]+}}: elementwise of [elementwise]
// CHECK: read by @exponential (other)
func.func @exponential() -> tensor<2x3xf32> {
  %source = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %init = tensor.empty() : tensor<2x3xf32>
  %result = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.exp %in : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  return %result : tensor<2x3xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: elementwise of [elementwise, transpose]
// CHECK: read by @scaled_on_the_way (other)
func.func @scaled_on_the_way() -> tensor<3x2xf32> {
  %source = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.5, 6.0]]> : tensor<2x3xf32>
  %scale = arith.constant 0.125 : f32
  %init = tensor.empty() : tensor<3x2xf32>
  %result = linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = arith.mulf %in, %scale : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  return %result : tensor<3x2xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: elementwise of [broadcast, elementwise]
// CHECK: read by @outer_product (other)
func.func @outer_product() -> tensor<3x2xf32> {
  %a = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %b = arith.constant dense<[4.0, 5.0]> : tensor<2xf32>
  %init = tensor.empty() : tensor<3x2xf32>
  %result = linalg.generic {indexing_maps = [#rows, #columns, #same], iterator_types = ["parallel", "parallel"]}
    ins(%a, %b : tensor<3xf32>, tensor<2xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%x: f32, %y: f32, %out: f32):
    %value = arith.subf %x, %y : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  return %result : tensor<3x2xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: dequantize of [dequantize]
// CHECK: source dense {{[0-9a-f]+}}: tensor<2x3xi8>, 6 bytes, 6 stored
// CHECK: source dense {{[0-9a-f]+}}: tensor<3xf32>
// CHECK: read by @dequantized (other)
func.func @dequantized() -> tensor<2x3xf32> {
  %source = arith.constant dense<[[1, 2, 3], [4, -5, 6]]> : tensor<2x3xi8>
  %scales = arith.constant dense<[0.5, 0.25, 0.125]> : tensor<3xf32>
  %init = tensor.empty() : tensor<2x3xf32>
  %result = linalg.generic {indexing_maps = [#same, #columns, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source, %scales : tensor<2x3xi8>, tensor<3xf32>) outs(%init : tensor<2x3xf32>) {
  ^bb0(%in: i8, %scale: f32, %out: f32):
    %number = arith.sitofp %in : i8 to f32
    %value = arith.mulf %number, %scale : f32
    linalg.yield %value : f32
  } -> tensor<2x3xf32>
  return %result : tensor<2x3xf32>
}

// A mask is no number: turning booleans into 0 and 1 and scaling them does not dequantize.
// CHECK: candidate {{[0-9a-f]+}}: elementwise of [elementwise, transpose]
// CHECK: source dense {{[0-9a-f]+}}: tensor<2x3xi1>, 6 bytes, 6 stored
// CHECK: read by @mask (other)
func.func @mask() -> tensor<3x2xf32> {
  %source = arith.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
  %scale = arith.constant -10000.0 : f32
  %init = tensor.empty() : tensor<3x2xf32>
  %result = linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xi1>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: i1, %out: f32):
    %number = arith.uitofp %in : i1 to f32
    %value = arith.mulf %number, %scale : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  return %result : tensor<3x2xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: cast of [cast]
// CHECK: global @{{.*}}: tensor<2x3xf16>, 12 bytes
// CHECK: read by @narrowed (other)
func.func @narrowed() -> tensor<2x3xf16> {
  %source = arith.constant dense<[[1.0, 2.0, 3.5], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %init = tensor.empty() : tensor<2x3xf16>
  %result = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x3xf32>) outs(%init : tensor<2x3xf16>) {
  ^bb0(%in: f32, %out: f16):
    %value = arith.truncf %in : f32 to f16
    linalg.yield %value : f16
  } -> tensor<2x3xf16>
  return %result : tensor<2x3xf16>
}

// The index that only addresses a gathered element is no iota; the one that becomes a number is.
// CHECK: candidate {{[0-9a-f]+}}: elementwise of [broadcast, elementwise, iota]
// CHECK: read by @positions_times_rates (other)
func.func @positions_times_rates() -> tensor<4x3xf32> {
  %rates = arith.constant dense<[1.0, 0.1, 0.01]> : tensor<3xf32>
  %init = tensor.empty() : tensor<4x3xf32>
  %result = linalg.generic {indexing_maps = [#columns, #same], iterator_types = ["parallel", "parallel"]}
    ins(%rates : tensor<3xf32>) outs(%init : tensor<4x3xf32>) {
  ^bb0(%rate: f32, %out: f32):
    %position = linalg.index 0 : index
    %integer = arith.index_cast %position : index to i32
    %number = arith.sitofp %integer : i32 to f32
    %value = arith.mulf %number, %rate : f32
    linalg.yield %value : f32
  } -> tensor<4x3xf32>
  return %result : tensor<4x3xf32>
}

// The fill that a reduction or a contraction starts from is part of it.
// CHECK: candidate {{[0-9a-f]+}}: reduction of [reduction]
// CHECK: read by @row_sums (other)
func.func @row_sums() -> tensor<2xf32> {
  %source = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]> : tensor<2x3xf32>
  %zero = arith.constant 0.0 : f32
  %init = tensor.empty() : tensor<2xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<2xf32>) -> tensor<2xf32>
  %result = linalg.generic {indexing_maps = [#same, #rows], iterator_types = ["parallel", "reduction"]}
    ins(%source : tensor<2x3xf32>) outs(%fill : tensor<2xf32>) {
  ^bb0(%in: f32, %sum: f32):
    %value = arith.addf %in, %sum : f32
    linalg.yield %value : f32
  } -> tensor<2xf32>
  return %result : tensor<2xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: reduction of [elementwise, reduction]
// CHECK: read by @sum_of_squares (other)
func.func @sum_of_squares() -> tensor<2xf32> {
  %source = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 8.5]]> : tensor<2x3xf32>
  %zero = arith.constant 0.0 : f32
  %init = tensor.empty() : tensor<2xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<2xf32>) -> tensor<2xf32>
  %result = linalg.generic {indexing_maps = [#same, #rows], iterator_types = ["parallel", "reduction"]}
    ins(%source : tensor<2x3xf32>) outs(%fill : tensor<2xf32>) {
  ^bb0(%in: f32, %sum: f32):
    %square = arith.mulf %in, %in : f32
    %value = arith.addf %square, %sum : f32
    linalg.yield %value : f32
  } -> tensor<2xf32>
  return %result : tensor<2xf32>
}

// CHECK: candidate {{[0-9a-f]+}}: contraction of [contraction]
// CHECK: read by @product (other)
func.func @product() -> tensor<2x2xf32> {
  %a = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 7.5]]> : tensor<2x3xf32>
  %b = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 7.5]]> : tensor<3x2xf32>
  %zero = arith.constant 0.0 : f32
  %init = tensor.empty() : tensor<2x2xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<2x2xf32>) -> tensor<2x2xf32>
  %result = linalg.matmul ins(%a, %b : tensor<2x3xf32>, tensor<3x2xf32>) outs(%fill : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %result : tensor<2x2xf32>
}
