"""The module that models import as `pb_utils`: Triton's API, provided by tritonts. docs/python.md lists the differences."""

from tritonts_stub import instance as _instances
from tritonts_stub import strings as _strings
from tritonts_stub.calls import ResponseIterator
from tritonts_stub.control import ERROR, INFO, VERBOSE, WARNING
from tritonts_stub.control import LogLevel as _LogLevel
from tritonts_stub.datatypes import BYTES as _BYTES
from tritonts_stub.datatypes import NAMES as _NAMES
from tritonts_stub.datatypes import number_of as _number_of
from tritonts_stub.datatypes import number_of_config as _number_of_config
from tritonts_stub.datatypes import numpy as _numpy
from tritonts_stub.datatypes import numpy_type as _numpy_type
from tritonts_stub.errors import TritonError, TritonModelException
from tritonts_stub.metrics import Metric, MetricFamily
from tritonts_stub.model_config import ModelConfig
from tritonts_stub.request import InferenceRequest, InferenceTrace, PreferredMemory
from tritonts_stub.request import input_tensor as get_input_tensor_by_name
from tritonts_stub.response import InferenceResponse
from tritonts_stub.response import output_tensor as get_output_tensor_by_name
from tritonts_stub.sender import InferenceResponseSender
from tritonts_stub.tensor import Tensor

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = 2
TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
TRITONSERVER_REQUEST_RELEASE_ALL = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = 2
TRITONSERVER_MEMORY_CPU = 0
TRITONSERVER_MEMORY_GPU = 2

__all__ = [
    "InferenceRequest",
    "InferenceResponse",
    "InferenceResponseSender",
    "InferenceTrace",
    "Logger",
    "Metric",
    "MetricFamily",
    "ModelConfig",
    "PreferredMemory",
    "ResponseIterator",
    "Tensor",
    "TritonError",
    "TritonModelException",
    "deserialize_bytes_tensor",
    "get_input_config_by_name",
    "get_input_tensor_by_name",
    "get_model_dir",
    "get_output_config_by_name",
    "get_output_tensor_by_name",
    "is_model_ready",
    "load_model",
    "numpy_to_triton_type",
    "serialize_byte_tensor",
    "triton_string_to_numpy",
    "triton_to_numpy_type",
    "unload_model",
    "using_decoupled_model_transaction_policy",
]


class Logger:
    """The log of the server."""

    LogLevel = _LogLevel
    INFO, WARNING, ERROR, VERBOSE = INFO, WARNING, ERROR, VERBOSE

    @staticmethod
    def log(message, level=INFO):
        _instances.current().control.log(level, message)

    @staticmethod
    def log_info(message):
        Logger.log(message, INFO)

    @staticmethod
    def log_warn(message):
        Logger.log(message, WARNING)

    @staticmethod
    def log_error(message):
        Logger.log(message, ERROR)

    @staticmethod
    def log_verbose(message):
        Logger.log(message, VERBOSE)


def _config_by_name(config, section, name):
    return next((one for one in config.get(section, []) if one["name"] == name), None)


def get_input_config_by_name(model_config, name):
    """The input of that name in a configuration; None if there is none."""
    return _config_by_name(model_config, "input", name)


def get_output_config_by_name(model_config, name):
    """The output of that name in a configuration; None if there is none."""
    return _config_by_name(model_config, "output", name)


def using_decoupled_model_transaction_policy(model_config):
    """Whether a configuration is that of a decoupled model."""
    return bool(model_config.get("model_transaction_policy", {}).get("decoupled", False))


def triton_to_numpy_type(data_type):
    """numpy's type for a number of Triton's datatypes, or for its name, such as FP32."""
    number = _number_of_config(data_type) if isinstance(data_type, str) else int(data_type)
    if number == _BYTES:
        return _numpy().object_
    found = None if number is None else _numpy_type(number)
    return None if found is None else found.type


def numpy_to_triton_type(data_type):
    """The number of Triton's datatype for a type of numpy."""
    return _number_of(_numpy().dtype(data_type))


def triton_string_to_numpy(triton_type_string):
    """numpy's type for a name in a configuration, such as TYPE_FP32."""
    return triton_to_numpy_type(triton_type_string)


def serialize_byte_tensor(input_tensor):
    """An array of strings as bytes: each string is preceded by its length."""
    if input_tensor.dtype.kind not in "OSU":
        raise TritonModelException("expected an array of strings but got one of %s" % input_tensor.dtype)
    return _strings.from_array(input_tensor)


def deserialize_bytes_tensor(encoded_tensor):
    """The reverse of `serialize_byte_tensor`: a flat array of bytes objects."""
    np = _numpy()
    found = _strings.decode(encoded_tensor)
    array = np.empty(len(found), dtype=np.object_)
    array[:] = found
    return array


def get_model_dir():
    """The folder of the version, with the model's file."""
    return _instances.current().directory


def __getattr__(name):
    """Triton's tables of datatypes, which need numpy."""
    if name not in ("TRITON_STRING_TO_NUMPY", "TRITON_TO_NUMPY_TYPE", "NUMPY_TO_TRITON_TYPE"):
        raise AttributeError("module '%s' has no attribute '%s'" % (__name__, name))
    types = {number: triton_to_numpy_type(number) for number in range(1, _BYTES + 1)}
    globals()["TRITON_TO_NUMPY_TYPE"] = types
    globals()["NUMPY_TO_TRITON_TYPE"] = {kind: number for number, kind in types.items()}
    globals()["TRITON_STRING_TO_NUMPY"] = {
        "TYPE_" + ("STRING" if number == _BYTES else _NAMES[number]): kind for number, kind in types.items()
    }
    return globals()[name]


def load_model(model_name, config="", files=None):
    """Loads a model. The server must use explicit model control (`--model-control-mode=explicit`)."""
    _instances.current().control.ask("load", files, model=model_name, config=config)


def unload_model(model_name, unload_dependents=False):
    """Unloads a model. The server must use explicit model control."""
    _instances.current().control.ask("unload", model=model_name, dependents=bool(unload_dependents))


def is_model_ready(model_name, model_version=""):
    """Whether a model can be called."""
    return bool(_instances.current().control.ask("ready", model=model_name, version=str(model_version)))
