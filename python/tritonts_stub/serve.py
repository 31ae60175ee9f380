"""The life of an instance: from the server's first line to its last batch."""

import asyncio
import importlib.machinery
import importlib.util
import inspect
import json
import os
import signal
import sys
import threading
import traceback

from . import halves
from . import instance as instances
from . import memory as mem
from . import reading
from .calls import POOL
from .control import ERROR, Control
from .errors import (
    ForeignError,
    TritonError,
    TritonModelException,
    code_name,
    code_of,
    named_text_of,
    reason_name,
    text_of,
    with_origin,
)
from .model_config import ModelConfig

MEMORY_FILE, CONTROL_FILE, INPUTS_FILE = 3, 4, 5


def main():
    # The server handles Ctrl-C, and ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = Control(CONTROL_FILE)
    control.tell(python="%d.%d.%d" % sys.version_info[:3], executable=sys.executable)
    start = control.read()
    mem.Memory.watch(start["library"], control.fileno(), start["server"])
    control.levels = frozenset(start["levels"])
    try:
        if start["task"] == "complete":
            control.tell(ready=True, completed=_complete(control, start))
        else:
            _serve(control, start)
    except EOFError:
        sys.exit(1)
    except BaseException as error:
        control.tell(failed=_failure(error))
        sys.exit(1)


def _failure(error):
    """The message for an error before the model serves."""
    text = text_of(error) if isinstance(error, TritonModelException) else named_text_of(error)
    missing = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
    code = "UNAVAILABLE" if missing == "numpy" else code_name(code_of(error) & 0xFF)
    if missing == "numpy":
        text = "%s (Python %d.%d.%d) has no numpy, which the model imports: %s -m pip install numpy" % (
            (sys.executable,) + sys.version_info[:3] + (sys.executable,)
        )
    reason = "MISSING" if missing == "numpy" else reason_name(code_of(error) >> 8)
    return {"code": code, "reason": reason, "message": text, "trace": _trace(error)}


def _trace(error):
    return "".join(traceback.format_exception(type(error), error, error.__traceback__)).rstrip()


def _import(start):
    """Imports the model's class. As in Triton, `1/model.py` is the module `model` of the package `1`, so that relative
    imports work. Its folders come last in sys.path, so that no file in them hides another module."""
    path = start["path"]
    folder = os.path.dirname(path)
    own = _own_folder()
    if _is_own(path):
        # Python must not write bytecode into the package's folder.
        sys.dont_write_bytecode = True
    sys.path[:] = [one for one in sys.path if os.path.abspath(one) != own]
    sys.path += [one for one in (folder, start["modelDirectory"]) if one and one not in sys.path]
    # Modules beside the model take precedence over modules beside this package.
    sys.path.append(own)
    package = str(start["version"])
    first = os.path.join(folder, "__init__.py")
    if os.path.exists(first):
        _execute(importlib.util.spec_from_file_location(package, first, submodule_search_locations=[folder]))
    else:
        spec = importlib.machinery.ModuleSpec(package, None, is_package=True)
        spec.submodule_search_locations.append(folder)
        sys.modules[package] = importlib.util.module_from_spec(spec)
    name = os.path.splitext(os.path.basename(path))[0].replace(".", "_")
    spec = importlib.util.spec_from_file_location("%s.%s" % (package, name), path)
    if spec is None or spec.loader is None:
        raise TritonModelException("'%s' is not a Python module" % path)
    module = _execute(spec)
    setattr(sys.modules[package], name, module)
    model = getattr(module, "TritonPythonModel", None)
    if not inspect.isclass(model):
        raise TritonModelException("'%s': expected a class TritonPythonModel but found none" % path, "INVALID_ARG")
    return model


def _own_folder():
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _is_own(path):
    """Whether a model is one of this package's."""
    return os.path.abspath(path).startswith(_own_folder() + os.sep)


def _execute(spec):
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _complete(control, start):
    """The configuration from the model's `auto_complete_config`; None if it has none."""
    instances.set_current(instances.Instance(control, start))
    complete = getattr(_import(start), "auto_complete_config", None)
    if complete is None:
        return None
    before = json.loads(start["config"])
    after = complete(ModelConfig(json.loads(start["config"])))
    if not isinstance(after, ModelConfig):
        raise TritonModelException(
            "expected auto_complete_config() to return the ModelConfig but it returned %s" % type(after).__name__
        )
    after = after.as_dict()
    return {key: value for key, value in after.items() if value != before.get(key)}


def _serve(control, start):
    instance = instances.Instance(control, start)
    instances.set_current(instance)
    instance.memory = mem.Memory(start["library"], MEMORY_FILE, INPUTS_FILE)
    kind = _import(start)
    model = kind()
    if not callable(getattr(model, "execute", None)):
        raise TritonModelException(
            "'%s': expected a method execute() in TritonPythonModel but found none" % start["path"], "INVALID_ARG"
        )
    initialize = getattr(model, "initialize", None)
    if initialize is not None:
        _settle(initialize(start["args"]))
    loop = Loop(instance, model)
    instance.serves = True
    # Only models of this package tell more.
    info = getattr(model, "info", None) if _is_own(start["path"]) else None
    control.tell(ready=True, asks=callable(getattr(model, "is_ready", None)), info=info)
    loop.run()
    instance.serves = False
    # Sent even without `finalize`: Python waits for the model's threads, for which the same time limit holds.
    control.tell(finalizing=True)
    finalize = getattr(model, "finalize", None)
    if finalize is not None:
        try:
            _settle(finalize())
        except BaseException as error:
            control.tell(finalize=_failure(error))
    control.tell(threads=[thread.name for thread in threading.enumerate() if _is_waited_for(thread)])


def _is_waited_for(thread):
    """Whether a thread is one of the model's for which Python waits at exit."""
    return not thread.daemon and thread is not threading.main_thread() and not thread.name.startswith(POOL)


def _settle(result):
    if inspect.isawaitable(result):
        asyncio.run(_await(result))


async def _await(result):
    return await result


class Loop:
    """Takes batches, and calls the model's `execute` for them."""

    def __init__(self, instance, model):
        self._instance, self._execute = instance, model.execute
        self._is_ready = getattr(model, "is_ready", None)
        self._asynchronous = inspect.iscoroutinefunction(model.execute)
        self._loop = None
        # Tasks that are running on the event loop.
        self._tasks = set()

    def run(self):
        memory = self._instance.memory
        while True:
            message = memory.next()
            if message.kind == mem.STOP:
                break
            if message.kind == mem.EXECUTE:
                # No variable here may hold the requests: a dropped sender is noticed by its destruction.
                self._run(*reading.read(self._instance, message.batch, message.offset, message.size))
            elif message.kind == mem.ASK_READY:
                self._answer_ready()
        for task in list(self._tasks):
            task.result()
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _run(self, batch, requests):
        if self._asynchronous and self._instance.decoupled:
            self._start(batch, requests)
            return
        token = instances.batch.set(batch)
        try:
            try:
                results = self._results(requests)
            except Exception as error:
                again = self._instance.reruns and len(requests) > 1 and not batch.has_spoken
                if not again or not halves.may_be_anothers(error):
                    raise
                results = halves.run(requests, error, self._results, self._told)
            batch.send_results(results)
        except BaseException as error:
            self._fail(batch, error)
        finally:
            instances.batch.reset(token)

    def _results(self, requests):
        # The model may modify its list, but halves need the original.
        results = self._execute(list(requests) if self._instance.reruns else requests)
        # Mostly it is a list, which is not asked.
        if self._asynchronous or (type(results) is not list and inspect.isawaitable(results)):
            results = self._wait_for(results)
        return results

    def _answer_ready(self):
        control = self._instance.control
        try:
            value = self._is_ready()
            if inspect.isawaitable(value):
                value = self._wait_for(_await(value))
            if not isinstance(value, bool):
                raise TritonModelException(
                    "expected is_ready() to return a bool but it returned %s" % type(value).__name__
                )
            control.tell(readiness=value)
        except Exception as error:
            control.tell(readiness=False, wrong=_failure(error))

    def _wait_for(self, coroutine):
        """Runs a coroutine to its end. All coroutines share one event loop."""
        if self._asynchronous and self._instance.decoupled:
            return asyncio.run_coroutine_threadsafe(coroutine, self._running_loop()).result()
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(coroutine)

    def _running_loop(self):
        """The event loop of a decoupled model, which runs on a thread of its own."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="tritonts loop", daemon=True).start()
        return self._loop

    def _start(self, batch, requests):
        """Starts a batch of a decoupled model, which runs concurrently with others."""

        async def execute():
            instances.batch.set(batch)
            try:
                batch.send_results(await self._execute(requests))
            except BaseException as error:
                self._fail(batch, error)

        task = asyncio.run_coroutine_threadsafe(execute(), self._running_loop())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        # Let the instance get the next batch.
        batch.part()

    def _fail(self, batch, error):
        """Fails all requests without a final response with the exception that the model has raised."""
        if isinstance(error, (SystemExit, KeyboardInterrupt)):
            raise error
        try:
            failed = batch.fail(self._error_of(error))
        except mem.MemoryFault as fault:
            print("no answer can be sent: %s" % fault, file=sys.stderr)
            batch.end_process()
            raise
        if not failed:
            self._instance.control.log(ERROR, "execute() raised an exception after its last response\n" + _trace(error))

    def _error_of(self, error):
        """The error that callers get for an exception of the model."""
        told = self._told(error)
        told._message = "model '%s': %s" % (self._instance.model, told._message)
        return told

    @staticmethod
    def _told(error):
        """The error for an exception, without the model's name, which is added when a response is written."""
        if isinstance(error, mem.MemoryFault):
            code, text = code_of(TritonModelException("", "UNAVAILABLE", "NO_MEMORY")), str(error)
        else:
            code = code_of(error)
            text = text_of(error) if isinstance(error, TritonModelException) else named_text_of(error)
        if isinstance(error, ForeignError):
            told = text if error.origin is None else with_origin(text[-4096:], error.origin[-4096:], error.own[-4096:])
            return TritonError._of(told, code)
        return TritonError._of(with_origin(text[:4096], _trace(error)[-4096:]), code)
