"""The instance that this process runs."""

import contextvars

#: The batch that code belongs to; None outside of `execute`.
batch = contextvars.ContextVar("batch", default=None)


class Instance:
    """What is known of it before the model is made."""

    def __init__(self, control, start):
        self.control = control
        self.memory = None
        self.model = start["model"]
        self.name = start["instance"]
        self.version = start["version"]
        self.directory = start["modelDirectory"]
        self.decoupled = start["decoupled"]
        self.batching = start["batching"]
        self.threads = start["threads"]
        self.inputs = [(one["name"], one["datatype"]) for one in start["inputs"]]
        self.outputs = {one["name"]: (index, one["datatype"]) for index, one in enumerate(start["outputs"])}
        self.output_names = list(self.outputs)
        #: Batches that have not ended.
        self.under_way = set()
        #: Calls of other models are not allowed before the model serves, and after it.
        self.serves = False


_current = None


def set_current(instance):
    global _current
    _current = instance


def current():
    return _current
