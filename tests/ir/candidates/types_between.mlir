// What a program's own initializer computes in between must be of types that IREE takes for constants.
// RUN: sed s/WIDE/i128/g %s > %t.i128.mlir
// RUN: %python -m tests.ir.print_candidates %t.i128.mlir %cpu | filecheck %s --check-prefix LEFT
// RUN: %python -m tests.ir.print_candidates %t.i128.mlir --ask-const-eval %cpu | filecheck %s --check-prefix ASKED
// RUN: sed s/WIDE/i64/g %s > %t.i64.mlir
// RUN: %python -m tests.ir.print_candidates %t.i64.mlir %cpu | filecheck %s --check-prefix EVALUATED
// RUN: %python -m tests.ir.print_candidates %t.i64.mlir --ask-const-eval %cpu | filecheck %s --check-prefix NONE

// LEFT: cannot evaluate: const-eval leaves it for load time: it reads @own, which const-eval leaves for load time
// ASKED: left for load time: @own @{{[a-z0-9_]+}}
// EVALUATED: source global @own
// EVALUATED-NOT: cannot evaluate
// NONE: left for load time: none
#same = affine_map<(i) -> (i)>
util.global private @own : tensor<8xi32>
util.initializer {
  %source = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 9]> : tensor<8xi32>
  %init = tensor.empty() : tensor<8xWIDE>
  %wide = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%source : tensor<8xi32>) outs(%init : tensor<8xWIDE>) {
  ^bb0(%in: i32, %out: WIDE):
    %value = arith.extui %in : i32 to WIDE
    %square = arith.muli %value, %value : WIDE
    linalg.yield %square : WIDE
  } -> tensor<8xWIDE>
  %init_1 = tensor.empty() : tensor<8xi32>
  %result = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%wide : tensor<8xWIDE>) outs(%init_1 : tensor<8xi32>) {
  ^bb0(%in: WIDE, %out: i32):
    %value = arith.trunci %in : WIDE to i32
    linalg.yield %value : i32
  } -> tensor<8xi32>
  util.global.store %result, @own : tensor<8xi32>
  util.return
}
func.func @main(%x: tensor<8xi32>) -> (tensor<8xi32>) {
  %result = util.global.load @own : tensor<8xi32>
  %init = tensor.empty() : tensor<8xi32>
  %square = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
    ins(%result : tensor<8xi32>) outs(%init : tensor<8xi32>) {
  ^bb0(%i: i32, %out: i32):
    %value = arith.muli %i, %i : i32
    linalg.yield %value : i32
  } -> tensor<8xi32>
  %r = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel"]}
    ins(%x, %square : tensor<8xi32>, tensor<8xi32>) outs(%init : tensor<8xi32>) {
  ^bb0(%in: i32, %i: i32, %out: i32):
    %value = arith.addi %in, %i : i32
    linalg.yield %value : i32
  } -> tensor<8xi32>
  return %r : tensor<8xi32>
}
