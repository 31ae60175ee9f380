"""Writes the outputs of all requests of a batch as one record, if they have the same form."""

from . import memory as mem
from . import outputs as rules
from .datatypes import BYTES, SIZES, numpy

TOGETHER = 4


def columns_of(batch, results):
    """Each output, with the tensors of all requests; None: their forms differ, or a tensor is invalid."""
    if not batch.instance.batching:
        return None
    first = results[0]._tensors
    for result in results:
        if result._error is not None or result._parameters or len(result._tensors) != len(first):
            return None
    columns = []
    for i, tensor in enumerate(first):
        name, number, tail = tensor._name, tensor._number, tensor._shape[1:]
        known = batch.instance.outputs.get(name)
        if known is None:
            if rules.lacking(batch.instance, results[0], None) is not None:
                return None
            batch.instance.drop(name)
            continue
        if number == BYTES or tensor._array is None or number != known[1] or not rules.fits(known[2], tail):
            return None
        arrays = []
        for attributes, result in zip(batch.attributes, results):
            one = result._tensors[i]
            shape = one._shape
            if (
                one._name != name
                or one._number != number
                or one._array is None
                or shape[1:] != tail
                or not shape
                or shape[0] != attributes.rows
                or batch.place_of(one._array) is not None
            ):
                return None
            arrays.append(one._array)
        columns.append((tensor, arrays, tail))
    return columns


def write(batch, columns):
    """Writes the columns to a new place. Returns the place, the offset and number of its words, and the message's flags."""
    np, memory, outputs = numpy(), batch.instance.memory, batch.instance.outputs
    rows = sum(attributes.rows for attributes in batch.attributes)
    words, places, size = [TOGETHER, len(columns)], [], 0
    for tensor, _, tail in columns:
        items = rows
        for dim in tail:
            items *= dim
        bytes_ = items * SIZES[tensor._number]
        places.append((len(words) + 4 + len(tail), size, items))
        words += [outputs[tensor._name][0], tensor._number, len(tail), *tail, bytes_, 0]
        size += mem.aligned(bytes_)
    lent = mem.LENT_BYTES if size >= mem.LARGE else 0
    head = lent + mem.aligned(8 * len(words))
    place = memory.allocate(head + size)
    for (tensor, arrays, tail), (at, offset, items) in zip(columns, places):
        begin = words[at] = place + head + offset
        if items == 0:
            continue
        dtype = arrays[0].dtype
        if not dtype.isnative:
            dtype = dtype.newbyteorder("=")
        target = np.ndarray((rows,) + tail, dtype, memory.bytes, begin)
        if len(arrays) == 1:
            target[...] = arrays[0]
        else:
            np.concatenate(arrays, out=target)
    memory.put_words(place + lent, words)
    return place, place + lent, len(words), mem.LENT if lent else 0
