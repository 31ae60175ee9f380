"""Writes the test cases of the Python package `onnx` as a model repository with their tensors beside the models.

    python export.py FOLDER

For each kind of case a repository FOLDER/<kind>, in it for each case and data set a model:

    <case>/1/model.onnx   the model as published, but for dimensions that it fixes to 0: see `free_empty_dims`
    <case>/inputs.bin     the inputs by name; `pack` defines the layout
    <case>/outputs.bin    the expected outputs

and FOLDER/cases.json, a list of all cases with their tolerances. A case whose values have no form as Triton's tensors
is in that list with the reason, and has no files. The output is the same in every run.
"""

import json
import shutil
import struct
import sys
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

# All kinds with expected outputs, except "real", whose models are downloaded.
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")

# Element types that Triton has a name for, by ONNX's numbers.
TYPES = {
    TensorProto.BOOL: np.bool_,
    TensorProto.UINT8: np.uint8,
    TensorProto.UINT16: np.uint16,
    TensorProto.UINT32: np.uint32,
    TensorProto.UINT64: np.uint64,
    TensorProto.INT8: np.int8,
    TensorProto.INT16: np.int16,
    TensorProto.INT32: np.int32,
    TensorProto.INT64: np.int64,
    TensorProto.FLOAT16: np.float16,
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.BFLOAT16: ml_dtypes.bfloat16,
}


class Unfit(Exception):
    """The reason why Triton cannot run a case."""


def check_type(value_info):
    """Raises unless a value is a tensor of a type that Triton names."""
    kind = value_info.type.WhichOneof("value")
    if kind != "tensor_type":
        raise Unfit(f"{kind.removesuffix('_type')} as input or output: Triton has tensors only")
    element = value_info.type.tensor_type.elem_type
    if element not in TYPES and element != TensorProto.STRING:
        raise Unfit(f"element type {TensorProto.DataType.Name(element)}: Triton has no name for it")


def pack_strings(array):
    elements = [one if isinstance(one, bytes) else str(one).encode() for one in array.ravel().tolist()]
    return b"".join(struct.pack("<I", len(one)) + one for one in elements)


def pack_tensor(name, value):
    """One tensor: name, ONNX's number of the element type, shape, and its bytes in wire layout."""
    array = numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)
    if array.dtype.kind in "OSU":
        element, content = TensorProto.STRING, pack_strings(array)
    else:
        element = next(number for number, dtype in TYPES.items() if array.dtype == dtype)
        content = np.ascontiguousarray(array).tobytes()
    encoded = name.encode()
    return b"".join(
        (
            struct.pack("<I", len(encoded)),
            encoded,
            struct.pack(f"<II{array.ndim}q", element, array.ndim, *array.shape),
            struct.pack("<Q", len(content)),
            content,
        )
    )


def pack(infos, values):
    """The number of tensors, followed by all tensors (inputs or outputs). Little-endian."""
    packed = [pack_tensor(info.name, value) for info, value in zip(infos, values, strict=True)]
    return struct.pack("<I", len(packed)) + b"".join(packed)


def given_inputs(graph):
    """The inputs that a case has values for. Older models list their weights as inputs, too."""
    weights = {tensor.name for tensor in graph.initializer}
    return [value_info for value_info in graph.input if value_info.name not in weights]


def free_empty_dims(graph):
    """Makes dimensions of inputs and outputs variable that are declared as 0. Returns whether there are any.

    Triton has no dims of 0, so no configuration fits such a declaration. The tensors stay as they are.
    """
    freed = False
    for value_info in (*graph.input, *graph.output):
        for dim in value_info.type.tensor_type.shape.dim:
            if dim.HasField("dim_value") and dim.dim_value == 0:
                dim.ClearField("value")
                freed = True
    return freed


def read_tensor(path):
    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor


def data_sets(case):
    """Pairs of inputs and outputs. Cases with files have them in those files."""
    if case.data_sets is not None:
        yield from case.data_sets
        return
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        sides = []
        for side in ("input", "output"):
            files = sorted(folder.glob(f"{side}_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
            sides.append([read_tensor(file) for file in files])
        yield sides


def export(case, folder):
    """Writes one case. Yields an entry for each of its data sets, or one entry with the reason to skip it."""
    entry = {"kind": case.kind, "name": case.name, "rtol": case.rtol, "atol": case.atol}
    model = case.model or onnx.load(f"{case.model_dir}/model.onnx")
    graph = model.graph
    given = given_inputs(graph)
    try:
        for value_info in (*given, *graph.output):
            check_type(value_info)
    except Unfit as reason:
        yield {**entry, "skip": str(reason)}
        return
    entry["freed"] = free_empty_dims(graph)
    sets = [(pack(given, inputs), pack(graph.output, outputs)) for inputs, outputs in data_sets(case)]
    for number, (inputs, outputs) in enumerate(sets):
        name = case.name if len(sets) == 1 else f"{case.name}_{number}"
        target = folder / case.kind / name
        (target / "1").mkdir(parents=True)
        (target / "1" / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
        (target / "inputs.bin").write_bytes(inputs)
        (target / "outputs.bin").write_bytes(outputs)
        yield {**entry, "name": name}


def main():
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Cases compute with infinities on purpose.
    warnings.simplefilter("ignore")
    # Many cases draw their inputs at import, mostly without a seed of their own.
    np.random.seed(0)
    entries = []
    for kind in KINDS:
        for case in sorted(load_model_tests(kind=kind), key=lambda case: case.name):
            entries.extend(export(case, folder))
    (folder / "cases.json").write_text(json.dumps({"onnx": onnx.__version__, "cases": entries}, indent=1))


if __name__ == "__main__":
    main()
