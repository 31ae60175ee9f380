"""Saves models without what tests do not need, and records what they answer."""

import base64
import shutil

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

# The datatypes of numbers: the type in TensorFlow, and the values of a request.
NUMBERS = {
    "INT8": (tf.int8, [1, -2, 3, 0, -64, 63]),
    "INT16": (tf.int16, [1, -2, 300, 0, -16384, 16383]),
    "INT32": (tf.int32, [1, -2, 70000, 0, -1073741824, 1073741823]),
    "INT64": (tf.int64, [1, -2, 70000, 0, -4503599627370496, 4503599627370495]),
    "UINT8": (tf.uint8, [1, 2, 3, 0, 100, 127]),
    "UINT16": (tf.uint16, [1, 2, 300, 0, 32000, 32767]),
    "UINT32": (tf.uint32, [1, 2, 70000, 0, 2147483647, 5]),
    "UINT64": (tf.uint64, [1, 2, 70000, 0, 4503599627370495, 5]),
    "FP16": (tf.float16, [1, -2.5, 0.25, 0, 1000, -0.0009765625]),
    "FP32": (tf.float32, [1, -2.5, 0.25, 0, 163.96875, -0.0009765625]),
    "FP64": (tf.float64, [1, -2.5, 0.25, 0, 163.96875, 1048576.5]),
    "BF16": (tf.bfloat16, [1, -2.5, 0.25, 0, 160, -0.0078125]),
}

DATATYPES = {kind: name for name, (kind, _) in NUMBERS.items()} | {tf.bool: "BOOL", tf.string: "BYTES"}


def emptied(folder):
    """A path of a folder that is not there, as TensorFlow wants it."""
    if folder.exists():
        shutil.rmtree(folder)
    return folder


def strip(folder):
    """Removes what only Python's and debuggers' readers of a SavedModel need."""
    (folder / "fingerprint.pb").unlink(missing_ok=True)
    for name in ("assets", "variables"):
        if (folder / name).is_dir() and not any((folder / name).iterdir()):
            (folder / name).rmdir()
    path = folder / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for graph in model.meta_graphs:
        graph.ClearField("object_graph_def")
        graph.meta_info_def.ClearField("stripped_op_list")
        graph.graph_def.ClearField("debug_info")
        functions = graph.graph_def.library.function
        for function in functions:
            function.ClearField("arg_attr")
        for node in [*graph.graph_def.node, *(one for function in functions for one in function.node_def)]:
            node.ClearField("experimental_debug_info")
            for attribute in ("_output_shapes", "_has_manual_control_dependencies"):
                node.attr.pop(attribute, None)
    path.write_bytes(model.SerializeToString(deterministic=True))


def as_recorded(tensor):
    """A tensor of a request or an answer."""
    values = tensor.numpy()
    flat = np.asarray(values).ravel()
    if tensor.dtype == tf.string:
        data = [base64.b64encode(one).decode() for one in flat.tolist()]
    elif tensor.dtype in (tf.float16, tf.bfloat16):
        data = flat.astype(np.float32).tolist()
    else:
        data = flat.tolist()
    return {"datatype": DATATYPES[tensor.dtype], "shape": list(tensor.shape), "data": data}


class Maker:
    def __init__(self, folder):
        self.folder = folder
        self.models = {}

    def record(self, name, file, run, inputs, outputs=None, **more):
        """Runs a model, and records inputs and outputs."""
        answers = run(**inputs)
        if outputs is not None:
            answers = dict(zip(outputs, answers))
        self.models[name] = {
            "file": file,
            "inputs": {key: as_recorded(value) for key, value in inputs.items()},
            # The test knows what the largest outputs have.
            "outputs": {key: as_recorded(value) for key, value in sorted(answers.items()) if tf.size(value) <= 4096},
            **more,
        }

    def save(self, name, model, signatures=None, **asked):
        """Saves a model as a SavedModel; records what it answers if it is asked."""
        path = emptied(self.folder / f"{name}.savedmodel")
        tf.saved_model.save(model, str(path), signatures=signatures or {"serving_default": model.run})
        if asked:
            loaded = tf.saved_model.load(str(path))
            self.record(name, path.name, loaded.signatures["serving_default"], asked)
        strip(path)
        return path

    def save_graph(self, name, build, outputs, **asked):
        """Saves a graph with its weights as a GraphDef, and records its outputs."""
        with tf.Graph().as_default() as graph:
            build()
            path = self.folder / f"{name}.graphdef"
            path.write_bytes(graph.as_graph_def().SerializeToString(deterministic=True))
            with tf.compat.v1.Session(graph=graph) as session:
                fetched = session.run(
                    [f"{one}" if ":" in one else f"{one}:0" for one in outputs],
                    {f"{key}:0": value.numpy() for key, value in asked.items()},
                )
        self.record(name, path.name, lambda **_: [tf.constant(one) for one in fetched], asked, outputs)
