// What both sides of an instance's shared memory know: this process, and the stub, the process that
// runs the Python model (native/python/, src/python/).
//
//   | control page | ring down | ring up | heap down            | heap up             |
//
// Down is from this process to the stub: batches, and answers to calls. Up is from the stub:
// responses, and calls. Who writes to a heap owns it, and alone knows what is free in it. So a heap
// has no list that the other side could spoil.
//
// Neither side trusts the other. Whatever is read from shared memory to be used as a size, a place
// or a number is read once, into memory of one's own, and checked there.
//
// A body is a list of 64-bit words. The words of a batch (kExecute):
//   requests, stretches, then for each stretch of requests that share a header:
//     requests, rows of each, priority, timeout in us, place and bytes of what they say besides,
//     decoupled readers (1: somebody counts what is read), wanted outputs, each one's index,
//     inputs, for each: index, rank, dims, bytes of one, place of the first; the others follow
// What they say besides: for each parameter its type (0 text, 1 whole, 2 real, 3 truth), bytes of
// its name, bytes of its value, as 4 bytes each, then name and value.
//
// The words of an answer (kAnswer), any number of
//   1, request, final, outputs, for each: index, datatype, rank, dims, bytes, place   (a response)
//   2, request or -1 for all, code, bytes of the text, place                           (an error)
//   3, request                                                        (the end of its responses)
// Places are offsets in the whole of the memory; outputs may lie in the batch's own inputs. Behind
// it, from `size` on, is the memory of the version's inputs (shared_inputs.h), which all processes
// of the version see.
//
// The words of a call (kCall):
//   number of the batch that makes it or 0, position of the request in it or -1, uid of the
//   version, revision of what is published of its model, decoupled, priority, timeout in us, place
//   and bytes of parameters, wanted outputs, each one's index, inputs, for each: index, datatype,
//   rank, dims, bytes, place
// Its answers go where the call's Reply is. The words of an answer to a call:
//   code, final, empty, bytes of the text, place, outputs, for each: index, datatype, rank, dims,
//   bytes, place
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tritonts::python {

constexpr uint32_t kMagic = 0x74737079;
// Raised with each change of what is said here: the stub refuses another one.
constexpr uint32_t kProtocol = 4;

constexpr size_t kAlignment = 64;
constexpr size_t kPage = 4096;
// No body has as many words.
constexpr uint64_t kMostWords = uint64_t{1} << 22;
// No stub waits for so many answers at once.
constexpr size_t kMostWaiting = size_t{1} << 16;
// Of one request. Larger tensors leave the shared memory in blocks, which are used again.
constexpr size_t kOwnBlock = size_t{64} << 10;
// No tensor has as many dims.
constexpr int64_t kMostDims = 64;
// Before the body of an answer that is lent.
constexpr uint64_t kLentBytes = 64;
// A stream is at most so many responses ahead of its reader.
constexpr uint32_t kMostAhead = 16;

struct ControlPage {
  uint32_t magic;
  uint32_t protocol;
  uint32_t ring_slots;  // a power of two
  uint32_t spin_ns;     // how long the stub may look for a message before it sleeps
  uint64_t size;
  uint64_t ring_down;
  uint64_t ring_up;
  uint64_t heap_down;
  uint64_t heap_up;
  uint64_t initial_bytes;  // of a heap
  uint64_t growth_bytes;
  uint64_t inputs_size;  // of the memory of the version's inputs; 0: there is none
};

enum class Kind : uint32_t {
  // Down. `batch` is the batch's number; `offset` and `size` (in words) are its body.
  kExecute = 1,
  // The stub is to finalize and end.
  kStop = 2,
  // The model is to say whether it is ready. The answer comes over the socket.
  kAskReady = 3,
  // Up. `offset` and `size` are the body. `word` has bits: 1: the batch has ended; 2: each request
  // has one response, which is ok and final; 4: the body and its outputs are lent. They are given
  // back by a word of 4 bytes, kLentBytes before the body, that becomes 1: they are not free when
  // the message has been read.
  kAnswer = 16,
  // The model has returned from a batch whose responses follow.
  kPart = 17,
  // `word` is the place of the call's Reply.
  kCall = 18,
  // The next response to a decoupled call may come: `word` as above.
  kNext = 19,
  // Nobody wants further responses to a call: `word` as above.
  kCancel = 20,
  // The answer at `offset` was read.
  kRead = 21,
  // Whether request `size` of a batch is cancelled: its Reply at `word` gets 1, or 2 if it is not.
  kAskCancelled = 22,
  // Whether a response to request `size` of a batch may be sent: the Reply at `word` gets 1 as soon
  // as there is room, or 2 if nobody reads any more.
  kAskRoom = 23,
};

struct Message {
  uint32_t kind = 0;
  // The number of the batch that it is about, where it is about one: each batch has its own. No two
  // that are under way have the same, and 2^32 others come before one has it again. So a message
  // that comes late never reaches a later batch. Both sides check it.
  uint32_t batch = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t word = 0;
};
static_assert(sizeof(Message) == 32);

// Where one waits for an answer, in the heap of whoever asks.
struct Reply {
  std::atomic<uint32_t> state;  // 0: none yet
  uint32_t reserved;
  uint64_t offset;
  uint64_t size;
};
static_assert(sizeof(Reply) == 24);

struct RingHeader {
  alignas(64) std::atomic<uint32_t> tail;  // how many messages were written
  std::atomic<uint32_t> sleeping;          // the reader sleeps, or is about to
  std::atomic<uint32_t> bell;              // moves when it is to look
  alignas(64) std::atomic<uint32_t> head;  // how many messages were read
  std::atomic<uint32_t> blocked;           // the writer sleeps until there is room
  std::atomic<uint32_t> room_bell;
  alignas(64) char end[1];
};
constexpr size_t kRingHeaderBytes = offsetof(RingHeader, end);
static_assert(kRingHeaderBytes == 128);

constexpr size_t RingBytes(uint32_t slots) {
  const size_t bytes = kRingHeaderBytes + size_t{slots} * sizeof(Message);
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace tritonts::python
