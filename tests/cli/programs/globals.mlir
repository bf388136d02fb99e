// Two functions, a mutable global, and an initializer of the user's own that const-eval can evaluate.
util.global private @weights : tensor<4xf32>
util.global private mutable @count = dense<0> : tensor<i32>
util.initializer {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %doubled = arith.addf %c, %c : tensor<4xf32>
  util.global.store %doubled, @weights : tensor<4xf32>
  util.return
}
util.func public @scale(%input: tensor<4xf32>) -> tensor<4xf32> {
  %weights = util.global.load @weights : tensor<4xf32>
  %root = math.sqrt %weights : tensor<4xf32>
  %product = arith.mulf %input, %root : tensor<4xf32>
  util.return %product : tensor<4xf32>
}
util.func public @next() -> tensor<i32> {
  %one = arith.constant dense<1> : tensor<i32>
  %old = util.global.load @count : tensor<i32>
  %new = arith.addi %old, %one : tensor<i32>
  util.global.store %new, @count : tensor<i32>
  util.return %new : tensor<i32>
}
