"""Batches of requests with unequal shapes: one tensor of one dimension, tensors about the batch, outputs cut by shapes."""

import torch

from tritonts_stub.datatypes import number_of_config

from .inputs import tensors_of
from .plan import TORCH_TYPES


def _elements(shape):
    count = 1
    for dim in shape:
        count *= dim
    return count


def _counts(shapes):
    return [_elements(shape) for shape in shapes]


def _sums(shapes):
    sums, total = [], 0
    for count in _counts(shapes):
        total += count
        sums.append(total)
    return sums


def _item_shapes(shapes):
    return [list(shape[1:]) for shape in shapes for _ in range(shape[0])]


_KINDS = {
    "BATCH_ELEMENT_COUNT": _counts,
    "BATCH_ACCUMULATED_ELEMENT_COUNT": _sums,
    "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO": lambda shapes: [0] + _sums(shapes),
    "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE": lambda shapes: [0] * max(_counts(shapes)),
    "BATCH_ITEM_SHAPE": _item_shapes,
    "BATCH_ITEM_SHAPE_FLATTEN": lambda shapes: [dim for item in _item_shapes(shapes) for dim in item],
}
#: Numbers beyond INT32 become its largest one.
_MOST = 2**31 - 1


class Ragged:
    """What a configuration says of such batches."""

    def __init__(self, config):
        #: The inputs that may have unequal shapes.
        self.inputs = {one["name"] for one in config["input"] if one.get("allow_ragged_batch")}
        #: The inputs that are made of a batch, with their kind, datatype and source.
        self.made = {
            name: (one["kind"], number_of_config(one["data_type"]), one["source_input"][0])
            for one in config.get("batch_input", ())
            for name in one["target_name"]
        }
        #: The outputs that have the shapes of an input, with that input.
        self.like = {
            name: one["source_input"][0] for one in config.get("batch_output", ()) for name in one["target_name"]
        }
        #: Whether a model may return fewer rows than the batch has.
        self.may_lack_rows = config["max_batch_size"] > 0 and bool(self.inputs or self.made)

    @property
    def extra(self):
        """The inputs that callers do not send, as (name, datatype, dims)."""
        return [
            (name, number, [-1, -1] if kind == "BATCH_ITEM_SHAPE" else [-1])
            for name, (kind, number, _) in self.made.items()
        ]

    def make(self, name, requests):
        """The value of an input that is made of a batch."""
        kind, number, source = self.made[name]
        shapes = [tensor._shape for tensor in tensors_of(requests, source)]
        values = torch.tensor(_KINDS[kind](shapes), dtype=torch.int64)
        return values.clamp(max=_MOST).to(TORCH_TYPES[number])

    def shapes_like(self, output, dims, requests):
        """The shape of each request's part of an output that has the shape of an input."""
        parts = []
        for tensor in tensors_of(requests, self.like[output]):
            shape = tensor._shape
            parts.append([shape[i] if dim < 0 and i < len(shape) else dim for i, dim in enumerate(dims)])
        return parts
