// Sizes follow what IREE stores, and const-eval takes only some element types.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s
// RUN: %python -m tests.ir.print_candidates %s --ask-const-eval %cpu | filecheck %s --check-prefix LEFT

// CHECK: candidate {{[0-9a-f]+}}:
// CHECK-NEXT: global @{{.*}}: tensor<2x2xf16>, 8 bytes
// CHECK: source dense {{[0-9a-f]+}}: tensor<2x2xf16>, 8 bytes, 8 stored
// CHECK-NOT: cannot evaluate
// CHECK: candidate {{[0-9a-f]+}}:
// CHECK-NEXT: global @{{.*}}: tensor<2x2xbf16>, 8 bytes
// CHECK: source dense {{[0-9a-f]+}}: tensor<2x2xbf16>, 8 bytes, 8 stored
// CHECK-NOT: cannot evaluate
// CHECK: candidate {{[0-9a-f]+}}:
// CHECK-NEXT: global @[[COMPLEX:[a-zA-Z0-9_]+]]: tensor<2x2xcomplex<f32>>, 32 bytes
// CHECK: source dense {{[0-9a-f]+}}: tensor<2x2xcomplex<f32>>, 32 bytes, 32 stored
// CHECK: cannot evaluate: const-eval leaves it for load time: it has elements of type complex<f32>, which const-eval does not support
// CHECK: candidate {{[0-9a-f]+}}:
// CHECK-NEXT: global @[[PACKED:[a-zA-Z0-9_]+]]: tensor<2xi8>, 2 bytes
// CHECK: source dense {{[0-9a-f]+}}: tensor<2x2xi4>, 2 bytes, 2 stored
// CHECK: cannot evaluate: const-eval leaves it for load time: it has elements of type i4, which const-eval does not support
// LEFT: left for load time: @{{[a-zA-Z0-9_]+complex[a-zA-Z0-9_]+}} @{{[a-zA-Z0-9_]+i8}}
#swapped = affine_map<(i, j) -> (j, i)>
#same = affine_map<(i, j) -> (i, j)>
func.func @half() -> tensor<2x2xf16> {
  %source = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf16>
  %init = tensor.empty() : tensor<2x2xf16>
  %result = linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x2xf16>) outs(%init : tensor<2x2xf16>) {
  ^bb0(%in: f16, %out: f16):
    %value = arith.mulf %in, %in : f16
    linalg.yield %value : f16
  } -> tensor<2x2xf16>
  return %result : tensor<2x2xf16>
}

func.func @brain_float() -> tensor<2x2xbf16> {
  %source = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>
  %init = tensor.empty() : tensor<2x2xbf16>
  %result = linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x2xbf16>) outs(%init : tensor<2x2xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %value = arith.mulf %in, %in : bf16
    linalg.yield %value : bf16
  } -> tensor<2x2xbf16>
  return %result : tensor<2x2xbf16>
}

func.func @complex() -> tensor<2x2xcomplex<f32>> {
  %source = arith.constant dense<[[(1.0, 2.0), (3.0, 4.0)], [(1.0, 0.0), (3.0, 4.5)]]> : tensor<2x2xcomplex<f32>>
  %init = tensor.empty() : tensor<2x2xcomplex<f32>>
  %result = linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x2xcomplex<f32>>) outs(%init : tensor<2x2xcomplex<f32>>) {
  ^bb0(%in: complex<f32>, %out: complex<f32>):
    %value = complex.mul %in, %in : complex<f32>
    linalg.yield %value : complex<f32>
  } -> tensor<2x2xcomplex<f32>>
  return %result : tensor<2x2xcomplex<f32>>
}

func.func @packed_integers(%x: tensor<2x2xi4>) -> (tensor<2x2xi4>, tensor<2x2xi4>) {
  %source = arith.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi4>
  %init = tensor.empty() : tensor<2x2xi4>
  %result = linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel"]}
    ins(%source : tensor<2x2xi4>) outs(%init : tensor<2x2xi4>) {
  ^bb0(%in: i4, %out: i4):
    %value = arith.muli %in, %in : i4
    linalg.yield %value : i4
  } -> tensor<2x2xi4>
  return %result, %x : tensor<2x2xi4>, tensor<2x2xi4>
}
