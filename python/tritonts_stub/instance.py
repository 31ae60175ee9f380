"""The instance that this process runs."""

import contextvars
import os

from .control import INFO

#: The most unknown outputs that are logged.
MOST_DROPPED = 16

#: The batch that the running code belongs to; None outside of `execute`.
batch = contextvars.ContextVar("batch", default=None)


class Instance:
    """The data of the instance, known before the model is created."""

    def __init__(self, control, start):
        self.control = control
        self.memory = None
        self.model = start["model"]
        self.name = start.get("instance", start["model"])
        self.version = start["version"]
        #: The folder of the version.
        self.directory = os.path.dirname(start["path"])
        self.decoupled = start.get("decoupled", False)
        #: Whether requests may be run again (Triton: iterative sequences).
        self.iterative = start.get("iterative", False)
        self.batching = start.get("batching", False)
        #: Whether `execute` may run again in halves of a batch.
        self.reruns = start.get("reruns", False)
        self.threads = start.get("threads", 1)
        self.inputs = [(one["name"], one["datatype"]) for one in start.get("inputs", ())]
        #: By name: dims without the batch dimension.
        self.input_dims = {one["name"]: one["dims"] for one in start.get("inputs", ())}
        #: By name: index, datatype, and dims without the batch dimension.
        self.outputs = {
            one["name"]: (index, one["datatype"], tuple(one["dims"])) for index, one in enumerate(start.get("outputs", ()))
        }
        self._dropped = set()
        self.output_names = list(self.outputs)
        #: Batches that have not ended, by their numbers.
        self.under_way = {}
        #: Whether the model serves. Calls of other models are only allowed then.
        self.serves = False

    def drop(self, output):
        """Logs once that a response has an output that is not in the configuration."""
        if output in self._dropped or len(self._dropped) == MOST_DROPPED:
            return
        self._dropped.add(output)
        known = ", ".join(self.output_names)
        self.control.log(INFO, "output '%s' is left out: the configuration has %s" % (output, known))


_current = None


def set_current(instance):
    global _current
    _current = instance


def current():
    return _current
