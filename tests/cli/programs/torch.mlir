func.func @main(%input: !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[3,2],f32> {
  %c = torch.vtensor.literal(dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>) : !torch.vtensor<[2,3],f32>
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %turned = torch.aten.transpose.int %c, %zero, %one : !torch.vtensor<[2,3],f32>, !torch.int, !torch.int -> !torch.vtensor<[3,2],f32>
  %exp = torch.aten.exp %turned : !torch.vtensor<[3,2],f32> -> !torch.vtensor<[3,2],f32>
  %sum = torch.aten.add.Tensor %input, %exp, %one : !torch.vtensor<[3,2],f32>, !torch.vtensor<[3,2],f32>, !torch.int -> !torch.vtensor<[3,2],f32>
  return %sum : !torch.vtensor<[3,2],f32>
}
