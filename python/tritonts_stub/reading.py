"""Reads the batches that the server sends (protocol.h)."""

from . import memory as mem
from .batch import Batch
from .request import InferenceRequest
from .said import Said, read_said
from .tensor import Stretch


def read(instance, number, offset, count):
    """Reads the batch of a message, and its requests."""
    memory = instance.memory
    words = memory.words(offset, count)
    if number in instance.under_way:
        raise mem.MemoryFault("the server has given two batches one number")
    batch = instance.under_way[number] = Batch(instance, number, words[0])
    inputs, names = instance.inputs, instance.output_names
    requests, at = [], 2
    for _ in range(words[1]):
        alike, rows, priority, timeout, place, size, counted, wanted = words[at : at + 8]
        at += 8
        request_id, parameters = read_said(memory.bytes[place : place + size]) if size else ("", {})
        asked = [names[index] for index in words[at : at + wanted]] if wanted else None
        at += wanted
        said = Said(request_id, parameters, priority, timeout, asked, counted == 1, rows)
        stretches = {}
        present = words[at]
        at += 1
        for _ in range(present):
            index, rank = words[at], words[at + 1]
            at += 2
            shape = tuple(words[at : at + rank])
            at += rank
            name, datatype = inputs[index]
            size, place = words[at], words[at + 1]
            stretches[name] = Stretch(memory, datatype, shape, size, place, alike, batch=batch)
            if size >= mem.LARGE:
                batch.large.append((place, place + alike * size))
            at += 2
        position = len(requests)
        requests += [InferenceRequest._received(batch, position + k, stretches, k, said) for k in range(alike)]
        batch.said += [said] * alike
    return batch, requests
