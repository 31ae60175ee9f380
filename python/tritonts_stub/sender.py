"""Sends the responses of a request one by one."""

from . import memory as mem
from .errors import TritonModelException
from .response import FINAL, InferenceResponse

#: The number of responses for which the server grants room at once.
ROOM = 16


class InferenceResponseSender:
    """Sends responses to a request (Triton: `pb_utils.InferenceResponseSender`). Any thread may use it."""

    __slots__ = ("_batch", "_position", "_room", "_gone", "_final")

    def __init__(self, batch, position):
        self._batch, self._position = batch, position
        # There is always room for the first response.
        self._room, self._gone, self._final = 1, False, False

    def send(self, response=None, flags=0):
        """Sends a response; the flag FINAL ends the request. Blocks while the caller reads too slowly."""
        if flags not in (0, FINAL):
            raise TritonModelException("flags: expected 0 or TRITONSERVER_RESPONSE_COMPLETE_FINAL but got %s" % flags)
        final = flags == FINAL
        if response is None and not final:
            raise TritonModelException(
                "send(): expected a response or flags=TRITONSERVER_RESPONSE_COMPLETE_FINAL but got neither"
            )
        if response is not None and not isinstance(response, InferenceResponse):
            raise TritonModelException("expected an InferenceResponse but got %s" % type(response).__name__)
        if self._final:
            raise TritonModelException("the response sender is closed: the final response was sent already")
        batch = self._batch
        if not batch.instance.decoupled and final and batch.answered[self._position]:
            self._final = True
            return
        if response is not None and batch.attributes[self._position].counted and not self._gone:
            if self._room == 0 and not batch.answered[self._position]:
                answer = batch.instance.memory.ask(mem.ASK_ROOM, batch.number, self._position)
                self._gone, self._room = answer != 1, ROOM
            self._room -= 1
        if self._gone and not final:
            return
        wrong = batch.respond(self._position, None if self._gone else response, final)
        self._final = self._final or final
        if wrong is not None:
            raise TritonModelException(wrong)

    def is_cancelled(self):
        return self._batch.is_cancelled(self._position)

    def __del__(self):
        if not self._final:
            self._batch.abandon(
                self._position,
                "the model dropped its response sender before it sent the final response"
                " (flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL); a thread that had it may have ended",
            )
