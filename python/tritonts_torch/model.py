"""Runs a model in TorchScript with the torch of this Python, by the rules of the backend `pytorch`."""

import json
import warnings

from tritonts_stub import instance as instances
from tritonts_stub.errors import TritonModelException

# First, because it explains why torch cannot be imported.
from .library import torch  # isort: skip
from .effects import has_effects
from .faults import FAILED, advice_for, fault_of, lacks_memory
from .inputs import gather
from .outputs import Split
from .plan import Plan
from .ragged import Ragged

#: The functions behind the switches of TorchScript, which hold for the process.
_SWITCHES = {
    "executor": torch._C._jit_set_profiling_executor,
    "profiling": torch._C._jit_set_profiling_mode,
    "fuser": torch._C._jit_set_texpr_fuser_enabled,
}


class TritonPythonModel:
    """The model of an instance. `initialize` compares it with its configuration."""

    def initialize(self, args):
        settings = json.loads(args["settings"])
        self._apply(settings)
        instance = instances.current()
        # The guard stays: this thread runs all batches.
        self._mode = torch.inference_mode(settings["inference"])
        self._mode.__enter__()
        torch.set_grad_enabled(False)
        self._module = self._load(instance.model, settings["file"])
        self._ragged = Ragged(json.loads(args["model_config"]))
        self._plan = Plan(self._module, instance, self._ragged.extra)
        self._dims = {
            name: ([-1] if instance.batching else []) + list(dims) for name, (_, _, dims) in instance.outputs.items()
        }
        # The switch of the configuration allows it, and whether it does no harm shows in the graph.
        instance.reruns = settings["reruns"] and not has_effects(self._module)
        #: What the server notes.
        self.info = {
            "arguments": "\n".join(self._plan.arguments),
            "takes_map": "1" if self._plan.is_map else "0",
            "version": torch.__version__,
        }

    @staticmethod
    def _apply(settings):
        torch.set_num_threads(settings["intra_op"])
        if settings["inter_op"] > 0:
            torch.set_num_interop_threads(settings["inter_op"])
        for name, switch in _SWITCHES.items():
            if name in settings:
                switch(settings[name])
        if not settings["optimize"]:
            torch._C._set_graph_executor_optimize(False)

    @staticmethod
    def _load(model, file):
        prefix = "failed to load model '%s': " % model
        try:
            with warnings.catch_warnings():
                # Newer versions say that TorchScript is deprecated, at each load.
                warnings.simplefilter("ignore", FutureWarning)
                warnings.simplefilter("ignore", DeprecationWarning)
                module = torch.jit.load(file, map_location="cpu")
        except Exception as error:
            raise fault_of(error, prefix, advice_for(str(error))) from error
        if not hasattr(module, "forward"):
            raise fault_of(RuntimeError("the model has no method forward"), prefix)
        return module

    def execute(self, requests):
        try:
            arguments = gather(self._plan, requests, self._ragged)
            returned = self._forward(arguments)
            return Split(self._plan, self._ragged, requests, self._dims).responses(returned)
        except TritonModelException:
            raise
        except Exception as error:
            # Copies of inputs and outputs need memory, too.
            if lacks_memory(error):
                raise fault_of(error, FAILED) from error
            raise

    def _forward(self, arguments):
        try:
            return self._module.forward(*arguments)
        except Exception as error:
            raise fault_of(error, FAILED) from error
