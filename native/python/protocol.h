// The shared memory of one Python instance, as both sides know it: this process, and the stub,
// which is the process that runs the Python model (native/python/, src/python/).
//
//   | control page | ring down | ring up | heap down            | heap up             |
//
// "Down" is from this process to the stub: batches, and responses to calls. "Up" is from the stub
// to this process: responses, and calls. Each heap is owned by the side that writes to it; only the
// owner knows which parts are free. So no free list lies in shared memory, where the other side
// could corrupt it.
//
// Neither side trusts the other. Every size, offset or number in shared memory is copied once to
// private memory and validated there.
//
// A body is an array of 64-bit words. The words of a batch (kExecute):
//   requests, stretches, then for each stretch of requests that share a header:
//     requests, rows per request, priority, timeout in us, offset and bytes of the parameters,
//     decoupled readers (1: the reader's progress is counted), wanted outputs, index of each,
//     inputs, for each: index, rank, dims, bytes per request, offset of the first request's bytes;
//     the bytes of the other requests follow
// Parameters: for each its type (0 string, 1 integer, 2 double, 3 bool), bytes of its name and
// bytes of its value, 4 bytes each, then name and value. Type 4 is the request's sequence: the name
// is the text of the correlation id, empty if it is a number, and the value has kSequenceBytes
// bytes: the number (8) and the flags (4).
//
// The words of an answer (kAnswer) are any number of these items:
//   1, request, final, outputs, for each: index, datatype, rank, dims, bytes, offset  (a response)
//   2, request or -1 for all, code, bytes of the text, offset                         (an error)
//   3, request                                                      (the end of its responses)
//   4, outputs, for each: as in 1, with the rows of all requests  (the only response to each)
//   5, request                                                      (the request runs again)
//   6, request, bytes, offset                   (the parameters of its next response in the answer)
// Offsets count from the start of the memory. Outputs may lie in the batch's own inputs. Offsets
// from `size` on refer to the memory of the version's inputs (shared_inputs.h), which all processes
// of the version map.
//
// The words of a call (kCall):
//   number of the calling batch or 0, index of the request in it or -1, uid of the version,
//   revision of its model's published state, decoupled, priority, timeout in us, offset and bytes
//   of the parameters, wanted outputs, index of each, inputs, for each: index, datatype, rank,
//   dims, bytes, offset
// The responses to a call are announced in the call's Reply. The words of such a response:
//   code, final, empty, bytes of the text, offset, bytes of the parameters, offset, outputs, for
//   each: index, datatype, rank, dims, bytes, offset
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tritonts::python {

constexpr uint32_t kMagic = 0x74737079;
// Incremented with each change of this file: the stub refuses another version.
constexpr uint32_t kProtocol = 6;

constexpr size_t kAlignment = 64;
constexpr size_t kPage = 4096;
// Upper limit of the words of a body.
constexpr uint64_t kMostWords = uint64_t{1} << 22;
// Upper limit of the answers that a stub waits for at once.
constexpr size_t kMostWaiting = size_t{1} << 16;
// Bytes per request. Outputs of at least this size are passed on in blocks, which are reused.
constexpr size_t kOwnBlock = size_t{64} << 10;
// The entry of the parameters that is the request's sequence; flags as in Triton.
constexpr uint32_t kSequenceType = 4;
constexpr uint32_t kSequenceStart = 1;
constexpr uint32_t kSequenceEnd = 2;
constexpr size_t kSequenceBytes = 12;
// Upper limit of a tensor's rank.
constexpr int64_t kMostDims = 64;
// Bytes between a lent answer's release word and its body.
constexpr uint64_t kLentBytes = 64;
// A stream may be at most this many responses ahead of its reader.
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
  uint64_t initial_bytes;  // of each heap
  uint64_t growth_bytes;
  uint64_t inputs_size;  // size of the memory of the version's inputs; 0: there is none
};

enum class Kind : uint32_t {
  // Down. `batch` is the batch's number; `offset` and `size` (in words) locate its body.
  kExecute = 1,
  // The stub shall finalize the model and exit.
  kStop = 2,
  // The model shall report whether it is ready. The reply comes over the socket.
  kAskReady = 3,
  // Up. `offset` and `size` (in words) locate the body. `word` is a bit mask. 1: the batch has
  // ended. 2: each request gets one response, which succeeded and is final. 4: the body and its
  // outputs are lent: this process releases them by storing 1 to the 4-byte word kLentBytes before
  // the body. Until then the stub must not reuse them.
  kAnswer = 16,
  // The model has returned from a batch; its responses follow later.
  kPart = 17,
  // `word` is the offset of the call's Reply.
  kCall = 18,
  // Requests the next response to a decoupled call. `word` is the offset of its Reply.
  kNext = 19,
  // Cancels a call. `word` is the offset of its Reply.
  kCancel = 20,
  // The stub has read the answer at `offset`, whose memory may be freed.
  kRead = 21,
  // Asks whether request `size` of a batch is cancelled. The Reply at `word` gets 1 if so, else 2.
  kAskCancelled = 22,
  // Asks whether a response to request `size` of a batch may be sent. The Reply at `word` gets 1 as
  // soon as there is room, or 2 if the request has no reader any more.
  kAskRoom = 23,
};

struct Message {
  uint32_t kind = 0;
  // The number of the batch that the message is about, if any. Batches under way have distinct
  // numbers, and a number is reused only after 2^32 batches. So a late message never reaches a
  // later batch. Both sides check it.
  uint32_t batch = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t word = 0;
};
static_assert(sizeof(Message) == 32);

// Where a thread waits for a reply, in the heap of the side that asks.
struct Reply {
  std::atomic<uint32_t> state;  // 0: not answered yet
  uint32_t reserved;
  uint64_t offset;
  uint64_t size;
};
static_assert(sizeof(Reply) == 24);

struct RingHeader {
  alignas(64) std::atomic<uint32_t> tail;  // number of messages written
  std::atomic<uint32_t> sleeping;          // the reader sleeps, or is about to sleep
  std::atomic<uint32_t> bell;              // futex: changes to wake the reader
  alignas(64) std::atomic<uint32_t> head;  // number of messages read
  std::atomic<uint32_t> blocked;           // the writer sleeps until a slot is free
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
