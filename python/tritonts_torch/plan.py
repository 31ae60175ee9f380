"""How requests become arguments of forward, and its result responses. As native/backends/pytorch/plan.h."""

import torch

from tritonts_stub.datatypes import BYTES, NAMES, NUMBERS
from tritonts_stub.errors import TritonModelException

from . import naming

TYPES = {
    "BOOL": torch.bool, "UINT8": torch.uint8, "INT8": torch.int8, "INT16": torch.int16, "INT32": torch.int32,
    "INT64": torch.int64, "FP16": torch.float16, "FP32": torch.float32, "FP64": torch.float64, "BF16": torch.bfloat16,
}  # fmt: skip
TORCH_TYPES = {NUMBERS[name]: type_ for name, type_ in TYPES.items()}
DATATYPES = {type_: number for number, type_ in TORCH_TYPES.items()}

TENSOR, STRINGS, TENSOR_MAP = "Tensor", "List[str]", "Dict[str, Tensor]"


def type_name(number):
    return "TYPE_STRING" if number == BYTES else "TYPE_" + NAMES[number]


class Plan:
    """Compares a configuration with forward's arguments. Raises if they do not fit."""

    def __init__(self, module, instance, extra):
        """`extra`: inputs that are made of a batch, as (name, datatype, dims)."""
        self.model, self.batching = instance.model, instance.batching
        arguments = _arguments_of(module)
        #: The names of forward's arguments.
        self.arguments = [name for name, _ in arguments]
        for name, kind in arguments:
            self._check_argument(name, kind, len(arguments))
        self.is_map = any(kind == TENSOR_MAP for _, kind in arguments)
        inputs = [(name, number, instance.input_dims[name]) for name, number in instance.inputs] + extra
        names = [name for name, _, _ in inputs]
        if not self.is_map and len(inputs) != len(arguments):
            known = " (%s)" % ", ".join(self.arguments) if arguments else ""
            raise TritonModelException(
                "unable to load model '%s', configuration expects %d inputs, model provides %d%s"
                % (self.model, len(inputs), len(arguments), known),
                "INVALID_ARG",
            )
        places = [0] * len(inputs) if self.is_map else naming.arguments_of(names, self.arguments)
        for (name, number, dims), place in zip(inputs, places):
            self._check_tensor(name, number, dims, "input")
            self._check_type(name, number, arguments[place])
        #: Each input's name, datatype and argument.
        self.inputs = [(name, number, place) for (name, number, _), place in zip(inputs, places)]
        outputs = [(name, number, dims) for name, (_, number, dims) in instance.outputs.items()]
        for name, number, dims in outputs:
            self._check_tensor(name, number, dims, "output")
        values = naming.values_of([name for name, _, _ in outputs])
        #: Each output's name, datatype and value, unless the result is a dict, whose key is the name.
        self.outputs = [(name, number, value) for (name, number, _), value in zip(outputs, values)]

    def _check_tensor(self, name, number, dims, side):
        if number == BYTES:
            if len(dims) + self.batching <= 1:
                return
            raise TritonModelException(
                "Triton only supports 1 dimensional List of String as %s for '%s' for model '%s': with max_batch_size,"
                " write dims: [ 1 ] reshape: { shape: [ ] }" % (side, name, self.model)
            )
        if number not in TORCH_TYPES:
            raise TritonModelException(
                "unsupported datatype TYPE_%s for %s '%s' for model '%s'" % (NAMES[number], side, name, self.model)
            )

    @staticmethod
    def _check_argument(name, kind, count):
        if kind in (TENSOR, STRINGS) or (kind == TENSOR_MAP and count == 1):
            return
        if kind == TENSOR_MAP:
            raise TritonModelException(
                "forward has an argument of type Dict[str, Tensor] ('%s') among others. Only a single input of type"
                " Dict(str, Tensor) is supported" % name
            )
        raise TritonModelException(
            "An input of type '%s' was detected in the model, forward's argument '%s'. Only a single input of type"
            " Dict(str, Tensor), or inputs of type Tensor or List[str] are supported" % (kind, name)
        )

    def _check_type(self, name, number, argument):
        """Whether the type that the configuration gives an input is that of the argument."""
        argument_name, kind = argument
        if (number == BYTES) == (kind == STRINGS):
            return
        raise TritonModelException(
            "input '%s': expected %s, because %s '%s' %s of type %s, but the configuration has %s"
            % (
                name,
                "TYPE_STRING" if kind == STRINGS else "a type of numbers",
                "the entries of forward's argument" if self.is_map else "forward's argument",
                argument_name,
                "are" if self.is_map else "is",
                TENSOR if self.is_map else kind,
                type_name(number),
            ),
            "INVALID_ARG",
        )


def _arguments_of(module):
    """The name and type of each argument of forward, without the module itself."""
    schema = module.forward.schema
    arguments = schema.arguments
    # The first one is the module, unless forward is a function.
    if arguments and arguments[0].type.kind() == "ClassType":
        arguments = arguments[1:]
    return [(one.name, one.type.annotation_str) for one in arguments]
