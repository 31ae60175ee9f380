"""The instance that this process runs."""

import contextvars
import os

from .control import INFO

#: Of so many outputs it is told that they are left out.
MOST_DROPPED = 16

#: The batch that code belongs to; None outside of `execute`.
batch = contextvars.ContextVar("batch", default=None)


class Instance:
    """What is known of it before the model is made."""

    def __init__(self, control, start):
        self.control = control
        self.memory = None
        self.model = start["model"]
        self.name = start.get("instance", start["model"])
        self.version = start["version"]
        #: The folder of the version.
        self.directory = os.path.dirname(start["path"])
        self.decoupled = start.get("decoupled", False)
        self.batching = start.get("batching", False)
        #: Whether `execute` may run again in halves of a batch.
        self.reruns = start.get("reruns", False)
        self.threads = start.get("threads", 1)
        self.inputs = [(one["name"], one["datatype"]) for one in start.get("inputs", ())]
        #: By name: index, datatype, and dims without that of the batch.
        self.outputs = {
            one["name"]: (index, one["datatype"], tuple(one["dims"])) for index, one in enumerate(start.get("outputs", ()))
        }
        self._dropped = set()
        self.output_names = list(self.outputs)
        #: Batches that have not ended, by their numbers.
        self.under_way = {}
        #: Calls of other models are not allowed before the model serves, and after it.
        self.serves = False

    def drop(self, output):
        """Tells once that a model gives an output which its configuration does not have."""
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
