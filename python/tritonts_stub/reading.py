"""Reads the batches that the server sends (protocol.h)."""

from . import memory as mem
from .attributes import Attributes, read_attributes
from .batch import Batch
from .request import InferenceRequest
from .tensor import Span


def read(instance, number, offset, count):
    """Reads the batch of a message, and its requests."""
    memory = instance.memory
    words = memory.words(offset, count)
    if number in instance.under_way:
        raise mem.MemoryFault("protocol violation by the server: the number of an open batch was used again")
    batch = instance.under_way[number] = Batch(instance, number, words[0])
    inputs, names = instance.inputs, instance.output_names
    requests, at = [], 2
    for _ in range(words[1]):
        alike, rows, priority, timeout, place, size, counted, wanted = words[at : at + 8]
        at += 8
        request_id, parameters, correlation_id, flags = (
            read_attributes(memory.bytes[place : place + size]) if size else ("", {}, 0, 0)
        )
        # An empty slot of a batch wants an output that no model has.
        asked = [names[index] for index in words[at : at + wanted] if index < len(names)] if wanted else None
        at += wanted
        attributes = Attributes(
            request_id, parameters, priority, timeout, asked, counted == 1, rows, correlation_id, flags
        )
        spans = {}
        present = words[at]
        at += 1
        for _ in range(present):
            index, rank = words[at], words[at + 1]
            at += 2
            shape = tuple(words[at : at + rank])
            at += rank
            name, datatype = inputs[index]
            size, place = words[at], words[at + 1]
            spans[name] = Span(memory, datatype, shape, size, place, alike, batch=batch)
            if size >= mem.LARGE:
                batch.large.append((place, place + alike * size))
            at += 2
        position = len(requests)
        requests += [InferenceRequest._received(batch, position + k, spans, k, attributes) for k in range(alike)]
        batch.attributes += [attributes] * alike
    return batch, requests
