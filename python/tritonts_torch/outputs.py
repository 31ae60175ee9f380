"""The result of forward, as responses to the requests of a batch."""

import torch

from tritonts_stub.datatypes import BF16, BYTES, SIZES, numpy
from tritonts_stub.errors import TritonError
from tritonts_stub.response import InferenceResponse
from tritonts_stub.tensor import Tensor

from .faults import FAILED, internal, invalid
from .plan import DATATYPES, type_name


def separate(returned):
    """The values of what forward returned, and their keys if it is a dict; else None."""
    if isinstance(returned, tuple):
        return list(returned), None
    if isinstance(returned, list) and returned and all(isinstance(one, torch.Tensor) for one in returned):
        return returned, None
    if isinstance(returned, dict):
        for key in returned:
            if not isinstance(key, str):
                raise internal(
                    "%sthe keys of a dict of outputs must be strings, but one is %s" % (FAILED, type(key).__name__)
                )
        return list(returned.values()), list(returned)
    return [returned], None


def _name_of(value):
    """The type of a value, as TorchScript writes it."""
    if isinstance(value, list):
        return "List[%s]" % (_name_of(value[0]) if value else "")
    return "None" if value is None else type(value).__name__


def _is_strings(value, number):
    """Whether a value is a List[str]. Python's empty lists have no type."""
    return isinstance(value, list) and (number == BYTES if not value else all(isinstance(one, str) for one in value))


def _dense(tensor, name):
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise internal(
            "%soutput '%s': the model returned a tensor that is not dense: %s" % (FAILED, name, tensor.type())
        )
    return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()


def _plural(rows):
    return "1 row" if rows == 1 else "%d rows" % rows


def _check_rows(shape, rows, name):
    if shape and shape[0] == rows:
        return
    raise internal(
        "output '%s': expected %s, as the batch has, but the model returned %s: a model that does not keep the rows of"
        " its inputs cannot be batched. Write max_batch_size: 0 and whole shapes as dims in config.pbtxt"
        % (name, _plural(rows), shape[0] if shape else "a tensor without dimensions")
    )


def _tensor(name, number, part):
    if number == BF16:
        return Tensor.from_dlpack(name, part)
    return Tensor(name, part.numpy())


class Split:
    """Distributes the values of a batch to its requests."""

    def __init__(self, plan, ragged, requests, dims):
        self._plan, self._ragged, self._requests, self._dims = plan, ragged, requests, dims
        self._rows = [request._attributes.rows for request in requests]
        self._tensors = [[] for _ in requests]
        self._errors = [None] * len(requests)

    def responses(self, returned):
        plan, (values, keys) = self._plan, separate(returned)
        # As in Triton, all outputs must exist, whether they are wanted or not.
        places = [self._place_of(name, value, values, keys) for name, _, value in plan.outputs]
        for (name, number, _), place in zip(plan.outputs, places):
            self._add(name, number, values[place])
        return [
            InferenceResponse(tensors if error is None else [], error)
            for tensors, error in zip(self._tensors, self._errors)
        ]

    @staticmethod
    def _place_of(name, value, values, keys):
        if keys is not None:
            if name in keys:
                return keys.index(name)
            raise invalid(
                "output '%s' is not a key of the dict that the model returned, which has %s"
                % (name, ", ".join("'%s'" % key for key in keys))
            )
        if value < len(values):
            return value
        raise invalid(
            "The output %s in the model configuration refers to an output index which doesn't exist. This model has %d"
            " outputs" % (name, len(values))
        )

    def _add(self, name, number, value):
        if isinstance(value, torch.Tensor):
            self._add_tensor(name, number, _dense(value, name))
        elif _is_strings(value, number):
            self._check_type(name, number, "TYPE_STRING", number == BYTES)
            np = numpy()
            array = np.empty(len(value), dtype=object)
            array[:] = value
            if self._plan.batching:
                _check_rows(array.shape, sum(self._rows), name)
            self._give(name, array, lambda part: Tensor(name, part))
        else:
            raise internal(
                "%soutput '%s' must be of type Tensor or List[str], but the model returned %s"
                % (FAILED, name, _name_of(value))
            )

    @staticmethod
    def _check_type(name, number, provided, fits):
        if not fits:
            raise invalid(
                "configuration expects datatype %s for output '%s', model provides %s"
                % (type_name(number), name, provided)
            )

    def _add_tensor(self, name, number, tensor):
        known = DATATYPES.get(tensor.dtype)
        provided = type_name(known) if known is not None else str(tensor.dtype).replace("torch.", "")
        self._check_type(name, number, provided, known == number)
        shape, rows = list(tensor.shape), sum(self._rows)
        if name in self._ragged.like:
            self._cut(name, number, tensor, self._ragged.shapes_like(name, self._dims[name], self._requests))
        elif self._ragged.may_lack_rows and shape and shape[0] < rows:
            self._cut(name, number, tensor, [[count] + shape[1:] for count in self._rows])
        elif not shape:
            raise invalid("output '%s' is a scalar which is not supported." % name)
        else:
            if self._plan.batching:
                _check_rows(shape, rows, name)
            self._give(name, tensor, lambda part: _tensor(name, number, part))

    def _give(self, name, value, make):
        """Gives each request its rows of a value."""
        if not self._plan.batching or len(self._requests) == 1:
            self._tensors[0].append(make(value))
            return
        begin = 0
        for tensors, rows in zip(self._tensors, self._rows):
            tensors.append(make(value[begin : begin + rows]))
            begin += rows

    def _cut(self, name, number, tensor, parts):
        """Gives each request a part of this shape. A request for which not enough is left fails, as in Triton."""
        size, flat, begin = SIZES[number], tensor.reshape(-1), 0
        for position, shape in enumerate(parts):
            count = 1
            for dim in shape:
                count *= max(dim, 0)
            left = flat.numel() - begin
            if count <= left:
                self._tensors[position].append(_tensor(name, number, flat[begin : begin + count].reshape(shape)))
                begin += count
                continue
            self._errors[position] = TritonError(
                "output '%s': failed to split the output tensor: request %d of the batch gets [%s], %d bytes, but only"
                " %d of the %d bytes of shape [%s] are left"
                % (
                    name,
                    position,
                    ",".join(map(str, shape)),
                    count * size,
                    left * size,
                    flat.numel() * size,
                    ",".join(map(str, tensor.shape)),
                ),
                TritonError.UNSUPPORTED,
            )
            # The requests behind it get nothing, either: their parts would begin at a wrong place.
            begin = flat.numel()
