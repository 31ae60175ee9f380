"""The socket to the server for rare messages: the start of the model, its log, its metrics, loads of other models.

Each message is a line of JSON. Questions have a number, and are answered one at a time.
"""

import base64
import enum
import json
import os
import socket
import sys
import threading

from .errors import TritonModelException


def _line_of(message):
    """A message to the server. JSON has no NaN and no infinity."""
    return (json.dumps(message, allow_nan=False) + "\n").encode()


def _bytes_of(name, content):
    """The bytes of a file for a load."""
    try:
        return memoryview(content).cast("B")
    except TypeError:
        raise TritonModelException(
            "files: expected bytes of '%s' but got %s" % (name, type(content).__name__), "INVALID_ARG"
        ) from None


class LogLevel(enum.IntEnum):
    """Levels of the log (Triton: `pb_utils.Logger.LogLevel`)."""

    INFO, WARNING, ERROR, VERBOSE = range(4)


INFO, WARNING, ERROR, VERBOSE = LogLevel
LEVELS = {INFO: "info", WARNING: "warn", ERROR: "error", VERBOSE: "verbose"}
MOST_TEXT = 16384
#: The bytes of a part of a file, before base64.
PART_BYTES = 3 * 32768


def _print(log=None, text="", **_message):
    if log is not None:
        print(text, file=sys.stderr if log in ("warn", "error") else sys.stdout, flush=True)


def _refuse(_what, _files=None, **_arguments):
    raise TritonModelException("a process that the model forked cannot call the server", "UNAVAILABLE")


class Control:
    def __init__(self, file):
        self._socket = socket.socket(fileno=file)
        self._lines = self._socket.makefile("r", encoding="utf-8", errors="surrogateescape", newline="\n")
        self._write = threading.Lock()
        self._asking = threading.Lock()
        self._asked = 0
        self.levels = frozenset(LEVELS.values())
        os.register_at_fork(after_in_child=self._leave)

    def _leave(self):
        """Called in a process that the model has forked: only the parent may use the socket. The log goes to `print`."""
        self.tell = _print
        self.ask = _refuse

    def fileno(self):
        return self._socket.fileno()

    def tell(self, **message):
        self._write_line(_line_of(message))

    def _write_line(self, line):
        with self._write:
            self._socket.sendall(line)

    def read(self):
        line = self._lines.readline()
        if not line:
            raise EOFError("the server has ended")
        return json.loads(line)

    def ask(self, what, files=None, **arguments):
        """Asks the server, and returns its answer. Raises the server's error."""
        with self._asking:
            self._asked += 1
            # Check everything before sending: files of a question that fails would belong to the next question.
            try:
                line = _line_of({"ask": what, "number": self._asked, "arguments": arguments})
            except (TypeError, ValueError) as error:
                raise TritonModelException(
                    "the arguments of '%s' cannot be written as JSON: %s" % (what, error), "INVALID_ARG"
                ) from None
            contents = [(str(name), _bytes_of(name, content)) for name, content in (files or {}).items()]
            for name, content in contents:
                self._send(name, content)
            self._write_line(line)
            while True:
                answer = self.read()
                if answer.get("number") == self._asked:
                    break
        if "error" in answer:
            error = answer["error"]
            raise TritonModelException(error["message"], error.get("code"), error.get("reason"))
        return answer.get("value")

    def _send(self, name, content):
        """Sends a file of the next question in small parts, so that the server can do other work between them."""
        self.tell(file=name, bytes=len(content))
        for at in range(0, len(content), PART_BYTES):
            self.tell(part=base64.b64encode(content[at : at + PART_BYTES]).decode())

    def log(self, level, text):
        name = LEVELS.get(level)
        if name is None:
            raise TritonModelException(
                "level: expected INFO, WARNING, ERROR or VERBOSE of pb_utils.Logger but got %s" % level
            )
        if name in self.levels:
            self.tell(log=name, text=str(text)[:MOST_TEXT])
