"""Metrics of a model, which appear among the server's metrics."""

from . import instance as instances
from .errors import TritonModelException

COUNTER, GAUGE, HISTOGRAM = range(3)
_kinds = ("counter", "gauge", "histogram")


class MetricFamily:
    """Metrics of one name (Triton: `pb_utils.MetricFamily`)."""

    COUNTER, GAUGE, HISTOGRAM = COUNTER, GAUGE, HISTOGRAM

    def __init__(self, name, description, kind):
        if kind not in (COUNTER, GAUGE, HISTOGRAM):
            raise TritonModelException("kind: expected MetricFamily.COUNTER, GAUGE or HISTOGRAM but got %s" % kind)
        self.name, self.description, self.kind = name, description, kind

    def Metric(self, labels=None, buckets=None):
        return Metric(self, labels, buckets)


class Metric:
    """A metric of a family, with its labels. Values are applied in the order of calls."""

    def __init__(self, family, labels=None, buckets=None):
        self._options = {
            "name": family.name,
            "help": family.description,
            "type": _kinds[family.kind],
            "labels": {str(key): str(value) for key, value in (labels or {}).items()},
        }
        if family.kind == HISTOGRAM:
            if not buckets:
                raise TritonModelException("metric '%s': a histogram needs buckets" % family.name)
            self._options["buckets"] = [float(bound) for bound in buckets]
        elif buckets is not None:
            raise TritonModelException("metric '%s': only a histogram takes buckets" % family.name)
        self._number = instances.current().control.ask("metric", options=self._options)

    def increment(self, value):
        self._do("increment", value)

    def set(self, value):
        self._do("set", value)

    def observe(self, value):
        self._do("observe", value)

    def value(self):
        return self._do("value", 0)

    def _do(self, action, value):
        return instances.current().control.ask("measure", metric=self._number, action=action, by=float(value))
