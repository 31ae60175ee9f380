"""Makes small models, and writes their files and the answers of OpenVINO's own Python.

python make_models.py <folder>

Writes <folder>/answers.json and the files of each model. test/backends/openvino/fixtures has what it writes.
Packages: requirements.txt.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto, helper
from openvino import opset13 as ops

ROWS = 5
FEATURES = 4

# The datatypes of numbers: the name in ONNX, and the values of a request. All results are exact in FP32, in which the device
# may compute.
NUMBERS = {
    "INT8": ("INT8", [1, -2, 3, 0, -64, 63]),
    "INT16": ("INT16", [1, -2, 300, 0, -16384, 16383]),
    "INT32": ("INT32", [1, -2, 70000, 0, -8388608, 8388607]),
    "INT64": ("INT64", [1, -2, 70000, 0, -8388608, 8388607]),
    "UINT8": ("UINT8", [1, 2, 3, 0, 100, 127]),
    "UINT16": ("UINT16", [1, 2, 300, 0, 32000, 32767]),
    "UINT32": ("UINT32", [1, 2, 70000, 0, 8388607, 5]),
    "UINT64": ("UINT64", [1, 2, 70000, 0, 8388607, 5]),
    "FP16": ("FLOAT16", [1, -2.5, 0.25, 0, 1000, -0.0009765625]),
    "FP32": ("FLOAT", [1, -2.5, 0.25, 0, 163.96875, -1e-20]),
    "FP64": ("DOUBLE", [1, -2.5, 0.25, 0, 163.96875, 1048576.5]),
    "BF16": ("BFLOAT16", [1, -2.5, 0.25, 0, 160, -0.0078125]),
}


def onnx_model(name, nodes, inputs, outputs, opset=17):
    """An ONNX model; inputs and outputs are name, type and shape."""
    tensors = [
        [helper.make_tensor_value_info(tensor, getattr(TensorProto, kind), shape) for tensor, kind, shape in side]
        for side in (inputs, outputs)
    ]
    constants = [node for node in nodes if isinstance(node, TensorProto)]
    graph = helper.make_graph(
        [node for node in nodes if not isinstance(node, TensorProto)], name, *tensors, initializer=constants
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="make_models.py")
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def perceptron(rows):
    """4 features, 5 hidden values, 3 outputs. All weights are multiples of 1/8."""
    random = np.random.default_rng(7)

    def weights(*shape):
        return ops.constant((random.integers(-12, 13, size=shape) / 8).astype(np.float32))

    x = ops.parameter([rows, FEATURES], ov.Type.f32, name="x")
    x.output(0).get_tensor().set_names({"x"})
    hidden = ops.relu(ops.add(ops.matmul(x, weights(FEATURES, 5), False, False), weights(1, 5)))
    y = ops.add(ops.matmul(hidden, weights(5, 3), False, False), weights(1, 3))
    y.output(0).get_tensor().set_names({"y"})
    result = ops.result(y)
    return ov.Model([result], [x], "perceptron")


def bits_of(values):
    """FP32 values as the words of BF16, which are exact for the values of this file."""
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


class Maker:
    def __init__(self, folder):
        self.folder = folder
        self.core = ov.Core()
        self.models = {}

    def record(self, name, file, *asked):
        """Asks a model, and records inputs and outputs. An input is name, datatype and values."""
        compiled = self.core.compile_model(
            self.core.read_model(self.folder / file), "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
        )
        request = compiled.create_infer_request()
        inputs = {}
        for tensor, datatype, values in asked:
            port = compiled.input(tensor)
            values = np.asarray(values)
            given = ov.Tensor(port.element_type, ov.Shape(list(values.shape)))
            if datatype == "BF16":
                given.data[:] = bits_of(values).view(np.float16)
            else:
                given.data[:] = values.astype(given.data.dtype)
            request.set_tensor(port, given)
            inputs[tensor] = {"datatype": datatype, "shape": list(values.shape), "data": values.ravel().tolist()}
        request.infer()
        outputs = {}
        for port in compiled.outputs:
            data = request.get_tensor(port).data
            kind = port.element_type.get_type_name()
            if kind == "bf16":
                data = (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
            outputs[port.get_any_name()] = {
                "datatype": DATATYPES[kind],
                "shape": list(data.shape),
                "data": data.ravel().tolist(),
            }
        self.models[name] = {"file": file, "inputs": inputs, "outputs": outputs}

    def save_onnx(self, name, *parts, **more):
        file = f"{name}.onnx"
        onnx.save(onnx_model(name, *parts, **more), self.folder / file)
        return file

    def save_ir(self, name, model):
        file = f"{name}.xml"
        ov.save_model(model, self.folder / file, compress_to_fp16=False)
        return file


DATATYPES = {
    "boolean": "BOOL",
    "i8": "INT8",
    "i16": "INT16",
    "i32": "INT32",
    "i64": "INT64",
    "u8": "UINT8",
    "u16": "UINT16",
    "u32": "UINT32",
    "u64": "UINT64",
    "f16": "FP16",
    "f32": "FP32",
    "f64": "FP64",
    "bf16": "BF16",
}


def rows_of(values, count=ROWS):
    """Rows that differ, of these values in turn."""
    return np.asarray([values[(row * 5 + i) % len(values)] for row in range(count) for i in range(FEATURES)]).reshape(
        count, FEATURES
    )


def make(folder):
    maker = Maker(folder)
    x = rows_of([1, -2.5, 0.25, 0, 3, -0.5, 7])
    maker.record("perceptron", maker.save_ir("perceptron", perceptron(-1)), ("x", "FP32", x))
    maker.record("fixed", maker.save_ir("fixed", perceptron(1)), ("x", "FP32", x[:1]))

    rows = ["N", FEATURES]
    for datatype, (kind, values) in NUMBERS.items():
        file = maker.save_onnx(
            f"double_{datatype}",
            [helper.make_node("Add", ["x", "x"], ["y"])],
            [("x", kind, rows)],
            [("y", kind, rows)],
        )
        maker.record(f"double_{datatype}", file, ("x", datatype, rows_of(values)))
    file = maker.save_onnx(
        "not_BOOL", [helper.make_node("Not", ["x"], ["y"])], [("x", "BOOL", rows)], [("y", "BOOL", rows)]
    )
    maker.record("not_BOOL", file, ("x", "BOOL", rows_of([True, False, False])))

    # The output is the input itself.
    file = maker.save_onnx(
        "identity",
        [helper.make_node("Identity", ["x"], ["y"])],
        [("x", "FLOAT", rows)],
        [("y", "FLOAT", rows)],
    )
    maker.record("identity", file, ("x", "FP32", x))
    # How many values the output has depends on those of the input.
    file = maker.save_onnx(
        "nonzero",
        [helper.make_node("NonZero", ["x"], ["y"])],
        [("x", "FLOAT", ["N", "M"])],
        [("y", "INT64", [2, "K"])],
    )
    maker.record("nonzero", file, ("x", "FP32", x))
    file = maker.save_onnx(
        "dynamic",
        [helper.make_node("Add", ["x", "x"], ["y"])],
        [("x", "FLOAT", ["N", "A", "B"])],
        [("y", "FLOAT", ["N", "A", "B"])],
    )
    maker.record("dynamic", file, ("x", "FP32", x.reshape(2, 5, 2)))
    file = maker.save_onnx(
        "two_inputs",
        [
            helper.make_node("Cast", ["b"], ["c"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["a", "c"], ["sum"]),
            helper.make_node("Sub", ["a", "c"], ["difference"]),
        ],
        [("a", "FLOAT", rows), ("b", "INT32", rows)],
        [("sum", "FLOAT", rows), ("difference", "FLOAT", rows)],
    )
    maker.record("two_inputs", file, ("a", "FP32", x), ("b", "INT32", rows_of([5, -7, 11])))
    # An output without dimensions.
    file = maker.save_onnx(
        "scalar",
        [helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)],
        [("x", "FLOAT", rows)],
        [("y", "FLOAT", [])],
    )
    maker.record("scalar", file, ("x", "FP32", x))
    # It can be reshaped to other heights and widths.
    file = maker.save_onnx(
        "image",
        [helper.make_node("GlobalAveragePool", ["x"], ["y"])],
        [("x", "FLOAT", [1, 3, 8, 8])],
        [("y", "FLOAT", [1, 3, 1, 1])],
    )
    maker.record("image", file, ("x", "FP32", (np.arange(192) % 13).reshape(1, 3, 8, 8)))
    # It has one row, however many rows its input has.
    file = maker.save_onnx(
        "total",
        [
            helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=1),
            helper.make_tensor("axes", TensorProto.INT64, [1], [0]),
        ],
        [("x", "FLOAT", [1, FEATURES])],
        [("y", "FLOAT", [1, FEATURES])],
    )
    maker.record("total", file, ("x", "FP32", x[:1]))
    # It has three rows, and its graph fits no other number.
    file = maker.save_onnx(
        "rigid",
        [
            helper.make_node("Reshape", ["x", "shape"], ["pairs"]),
            helper.make_node("ReduceSum", ["pairs", "axes"], ["y"], keepdims=0),
            helper.make_tensor("shape", TensorProto.INT64, [3], [3, 2, 2]),
            helper.make_tensor("axes", TensorProto.INT64, [1], [2]),
        ],
        [("x", "FLOAT", [3, FEATURES])],
        [("y", "FLOAT", [3, 2])],
    )
    maker.record("rigid", file, ("x", "FP32", x[:3]))
    # It cannot be served.
    maker.save_onnx(
        "text",
        [helper.make_node("Identity", ["x"], ["y"])],
        [("x", "STRING", rows)],
        [("y", "STRING", rows)],
    )
    answers = {"openvino": ov.get_version(), "models": maker.models}
    (folder / "answers.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    make(folder)


if __name__ == "__main__":
    main()
