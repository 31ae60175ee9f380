"""The shared memory of an instance: native/python/stub_memory.cc, and python/protocol.h."""

import ctypes
import os
from struct import Struct

EXECUTE, STOP, ASK_READY = 1, 2, 3
ANSWER, PART, CALL, NEXT, CANCEL, READ, ASK_CANCELLED, ASK_ROOM = range(16, 24)
ALIGNMENT = 64
REPLY_BYTES = 64
#: Smaller arrays are copied, which costs less than finding their place in shared memory.
LARGE = 65536
#: Flags of an answer: LAST: the batch has ended. LENT: the answer's memory is borrowed until it is given back.
LAST, LENT = 1, 4
#: The size of the header before the words of a lent answer.
LENT_BYTES = 64


class Message(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_uint32),
        ("batch", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("word", ctypes.c_uint64),
    ]


class MemoryFault(Exception):
    """The shared memory has no room, or the server's data in it is invalid."""


class _Words(dict):
    """A struct of 64-bit words for each number of them. Batches of one size have the same numbers again and again."""

    MOST = 256

    def __missing__(self, count):
        made = Struct("=%dq" % count)
        if len(self) < self.MOST:
            self[count] = made
        return made


_words = _Words()


def aligned(size):
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def _refuse(*_arguments, **_named):
    raise MemoryFault("a process that the model forked cannot use the requests and calls of its parent")


def _ignore(*_arguments):
    pass


class Memory:
    """Messages, and allocation of places in the shared memory."""

    def __init__(self, library, file, inputs):
        lib = ctypes.CDLL(library)
        u32, u64, pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
        for name, result, arguments in (
            ("open", pointer, [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]),
            ("base", u64, [pointer]),
            ("size", u64, [pointer]),
            ("next", ctypes.c_int, [pointer, ctypes.POINTER(Message)]),
            ("send", ctypes.c_int, [pointer, u32, u32, u64, u64, u64, u64]),
            ("allocate", u64, [pointer, u64]),
            ("free", None, [pointer, u64]),
            ("fault", None, [pointer, ctypes.c_char_p, ctypes.c_size_t]),
            ("await", u32, [pointer, u64]),
            ("reset", None, [pointer, u64]),
            ("watch", ctypes.c_int, [ctypes.c_int, ctypes.c_int]),
        ):
            function = getattr(lib, "tritonts_" + name)
            function.restype, function.argtypes = result, arguments
        self._lib = lib
        self._next, self._send = lib.tritonts_next, lib.tritonts_send
        self._allocate, self._await = lib.tritonts_allocate, lib.tritonts_await
        fault = ctypes.create_string_buffer(512)
        self._stub = lib.tritonts_open(file, inputs, fault, len(fault))
        if not self._stub:
            raise MemoryFault(fault.value.decode(errors="replace"))
        self.base = lib.tritonts_base(self._stub)
        self.size = lib.tritonts_size(self._stub)
        self.bytes = memoryview((ctypes.c_char * self.size).from_address(self.base)).cast("B")
        #: Whether this is a process that the model has forked.
        self.is_left = False
        self._message = Message()
        self._message_pointer = ctypes.byref(self._message)
        os.register_at_fork(after_in_child=self._leave)

    def _leave(self):
        """Called in a process that the model has forked, as multiprocessing does: only the parent may use the memory.

        Garbage collection in the child must not free places of objects that the parent still has.
        """
        self.is_left = True
        self.next = self.send = self.allocate = self.wait_for = _refuse
        self.free = self.reset = _ignore

    @staticmethod
    def watch(library, socket, server):
        """Ends this process when the server's process ends."""
        lib = ctypes.CDLL(library)
        error = lib.tritonts_watch(socket, server)
        if error != 0:
            raise OSError(error, "this process cannot watch the server's process")

    def next(self):
        """Waits for the next message. It is valid until the next call."""
        while True:
            found = self._next(self._stub, self._message_pointer)
            if found > 0:
                return self._message
            if found < 0:
                raise MemoryFault("protocol violation by the server: invalid ring counters")

    def send(self, kind, batch=0, offset=0, size=0, word=0, frees=0):
        """Sends a message. `frees` is a place that becomes free once the server has read the message."""
        if self._send(self._stub, kind, batch, offset, size, word, frees) != 0:
            raise MemoryFault("protocol violation by the server: invalid ring counters")

    def allocate(self, size):
        place = self._allocate(self._stub, size)
        if place == 0:
            fault = ctypes.create_string_buffer(512)
            self._lib.tritonts_fault(self._stub, fault, len(fault))
            raise MemoryFault(fault.value.decode(errors="replace") or "no memory left for %d bytes" % size)
        return place

    def free(self, place):
        self._lib.tritonts_free(self._stub, place)

    def words(self, offset, count):
        """The 64-bit words at a place, as a tuple."""
        if offset % 8 != 0 or offset + 8 * count > self.size:
            raise MemoryFault("protocol violation by the server: the body of a message is outside of the shared memory")
        return _words[count].unpack_from(self.bytes, offset)

    def put_words(self, place, words):
        _words[len(words)].pack_into(self.bytes, place, *words)

    def wait_for(self, word):
        """Waits until a Reply has a state. Returns the state, its offset and its size."""
        while True:
            state = self._await(self._stub, word)
            if state != 0:
                offset, size = self.words(word + 8, 2)
                return state, offset, size

    def ask(self, kind, batch, request):
        """Asks the server a question about a request of a batch. Returns the state of the reply."""
        word = self.allocate(REPLY_BYTES)
        try:
            self._lib.tritonts_reset(self._stub, word)
            self.send(kind, batch, 0, request, word)
            return self.wait_for(word)[0]
        finally:
            self.free(word)

    def reset(self, word):
        self._lib.tritonts_reset(self._stub, word)
