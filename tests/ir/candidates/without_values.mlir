// Const-eval needs the bytes of what it reads: of parameters and undefined globals, there are none.
// RUN: %python -m tests.ir.print_candidates %s %cpu | filecheck %s

#same = affine_map<(i, j) -> (i, j)>

// CHECK: candidate {{[0-9a-f]+}}:
// CHECK: source global splat @undefined: tensor<3x2xf32>
// CHECK: cannot evaluate: const-eval leaves it for load time: it reads @undefined, a value without bytes (#util.uninitialized : tensor<3x2xf32>)
// CHECK: candidate {{[0-9a-f]+}}:
// CHECK: source global @never_stored: tensor<3x2xf32>
// CHECK: cannot evaluate: const-eval leaves it for load time: it reads @never_stored, which has no value by then
// CHECK: candidate {{[0-9a-f]+}}:
// CHECK: source parameter model::source: tensor<3x2xf32>
// CHECK: cannot evaluate: const-eval leaves it for load time: it reads a parameter, whose bytes const-eval does not have
util.global private @undefined = #util.uninitialized : tensor<3x2xf32>
util.global private @never_stored : tensor<3x2xf32>
util.global private @parameter = #flow.parameter.named<"model"::"source"> : tensor<3x2xf32>

func.func @main(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %init = tensor.empty() : tensor<3x2xf32>
  %undefined = util.global.load @undefined : tensor<3x2xf32>
  %cosine = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%undefined : tensor<3x2xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.cos %in : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  %a = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x, %cosine : tensor<3x2xf32>, tensor<3x2xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %sum = arith.addf %l, %r : f32
    linalg.yield %sum : f32
  } -> tensor<3x2xf32>
  %never_stored = util.global.load @never_stored : tensor<3x2xf32>
  %sine = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%never_stored : tensor<3x2xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.sin %in : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  %b = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x, %sine : tensor<3x2xf32>, tensor<3x2xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %product = arith.mulf %l, %r : f32
    linalg.yield %product : f32
  } -> tensor<3x2xf32>
  %parameter = util.global.load @parameter : tensor<3x2xf32>
  %exp = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%parameter : tensor<3x2xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %value = math.exp %in : f32
    linalg.yield %value : f32
  } -> tensor<3x2xf32>
  %c = linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
    ins(%x, %exp : tensor<3x2xf32>, tensor<3x2xf32>) outs(%init : tensor<3x2xf32>) {
  ^bb0(%l: f32, %r: f32, %out: f32):
    %difference = arith.subf %l, %r : f32
    linalg.yield %difference : f32
  } -> tensor<3x2xf32>
  return %a, %b, %c : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}
