// With several devices, a table that a function on another device reads is left alone.
// RUN: %python -m tests.share_everything %s - --iree-hal-target-device=a=local[0] --iree-hal-target-device=b=local[1] --iree-hal-local-target-device-backends=llvm-cpu --compile-to=global-optimization 2>&1 | filecheck %s

// CHECK: util.func public @main
// CHECK: arith.constant dense<{{.*}}> : tensor<2x3xf32>
// CHECK: "refusals": {"@{{[a-z0-9_]+}}": "the program has several devices, and not all readers are known to be on the result's"}
func.func @main(%n: index, %i: index, %j: index) -> (f32, f32) {
  %table = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (f32) {
    %element = tensor.extract %table[%i, %k] : tensor<2x3xf32>
    %next = arith.addf %acc, %element : f32
    scf.yield %next : f32
  }
  %e = tensor.empty() : tensor<3x2xf32>
  %t = linalg.transpose ins(%table : tensor<2x3xf32>) outs(%e : tensor<3x2xf32>) permutation = [1, 0]
  %picked = tensor.extract %t[%j, %i] : tensor<3x2xf32>
  return %sum, %picked : f32, f32
}
func.func @second(%i: index, %j: index) -> f32 attributes {stream.affinity = #hal.device.promise<@b>} {
  %table = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %element = tensor.extract %table[%i, %j] : tensor<2x3xf32>
  return %element : f32
}
