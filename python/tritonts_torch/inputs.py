"""The inputs of a batch, as arguments of forward. They are copies: a model may change or keep them."""

import torch

from tritonts_stub.datatypes import BYTES, NUMBERS, numpy
from tritonts_stub.errors import TritonModelException
from tritonts_stub.request import input_tensor
from tritonts_stub.strings import decode

BOOL, BF16 = NUMBERS["BOOL"], NUMBERS["BF16"]


def tensors_of(requests, name):
    """The input of each request, in their order."""
    tensors = [input_tensor(request, name) for request in requests]
    if None in tensors:
        raise TritonModelException(
            "input '%s': the model needs it, but a request lacks it" % name, "INVALID_ARG"
        )
    return tensors


def strings_of(tensors, name):
    """The strings of a batch. Python's strings are Unicode, so other bytes are refused."""
    found = []
    for tensor in tensors:
        for element in decode(tensor._data()):
            try:
                found.append(element.decode())
            except UnicodeDecodeError as error:
                raise TritonModelException(
                    "input '%s': element %d is not UTF-8 (%s), which strings in Python are" % (name, len(found), error),
                    "INVALID_ARG",
                ) from None
    return found


def joined(tensors, number, flat=False):
    """The rows of a batch as a tensor of memory of its own. `flat`: as one dimension."""
    if number == BF16:
        parts = [torch.from_dlpack(tensor) for tensor in tensors]
        parts = [part.reshape(-1) for part in parts] if flat else parts
        return parts[0].clone() if len(parts) == 1 else torch.cat(parts)
    np = numpy()
    arrays = [tensor.as_numpy() for tensor in tensors]
    if flat:
        arrays = [array.reshape(-1) for array in arrays]
    if number == BOOL:
        # libtorch counts on 0 and 1.
        # A comparison of an array without dimensions gives a scalar.
        arrays = [np.asarray(array.view(np.uint8) != 0) for array in arrays]
    return torch.from_numpy(arrays[0].copy() if len(arrays) == 1 else np.concatenate(arrays))


def gather(plan, requests, ragged):
    """The arguments of forward for these requests."""
    arguments = [None] * len(plan.arguments)
    entries = {}
    for name, number, place in plan.inputs:
        if name in ragged.made:
            value = ragged.make(name, requests)
        elif number == BYTES:
            value = strings_of(tensors_of(requests, name), name)
        else:
            value = joined(tensors_of(requests, name), number, name in ragged.inputs)
        if plan.is_map:
            entries[name] = value
        else:
            arguments[place] = value
    return [entries] if plan.is_map else arguments
