// As iree-import-onnx writes it.
func.func @main(%input: !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[3,2],f32> attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
  %c = torch.operator "onnx.Constant"() {torch.onnx.value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>} : () -> !torch.vtensor<[2,3],f32>
  %turned = torch.operator "onnx.Transpose"(%c) {torch.onnx.perm = [1 : si64, 0 : si64]} : (!torch.vtensor<[2,3],f32>) -> !torch.vtensor<[3,2],f32>
  %exp = torch.operator "onnx.Exp"(%turned) : (!torch.vtensor<[3,2],f32>) -> !torch.vtensor<[3,2],f32>
  %sum = torch.operator "onnx.Add"(%input, %exp) : (!torch.vtensor<[3,2],f32>, !torch.vtensor<[3,2],f32>) -> !torch.vtensor<[3,2],f32>
  return %sum : !torch.vtensor<[3,2],f32>
}
