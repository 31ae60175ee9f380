// The layout of the words that JavaScript and the engine exchange. src/addon/layout.ts must match.
//
// Submission: a record of 32-bit words for each group. A group is the requests of a tick for one
// version that differ only in their bytes and in their sequences. A request that differs from all
// others is a group of one.
//   uid, slot, generation, requests (| kMarkedBit), inputs | targets << 16, wanted outputs (0: all)
//     | words of attributes << 16, rows of each request,
//   for each target: output, region, offset, capacity (the latter two are two words each, the lower
//     one first),
//   for each input: index, source, place, offset, byte size, rank, dims…
//   then the indexes of the wanted outputs,
//   then, if there are any, the attributes: priority, time-out and parameters,
//   then, if the record has kMarkedBit, the sequence of each request: its flags | bytes of the text
//     of its id << 8, then the text, from a word of its own on, or, if it has no byte, the id as a
//     number, in two words, the lower one first.
//   - Attributes: priority and time-out in microseconds, two words each, the lower one first, 0:
//     none; the number of parameters, and for each: kind, bytes of its name, bytes of its value,
//     the name, the value. Name and value begin at words of their own. A value is UTF-8, a signed
//     integer of 8 bytes, a double, or a word that is 0 or 1.
//   - Dims and byte sizes are those of one request.
//   - Source kSlab: place is the number of the slab. The first request's bytes begin at the offset,
//     and those of the other requests follow.
//   - Source kBlock: place is the id of the staged block; byte size and offset are the low and the
//     high word of its length. Only for a group of one. The id is free again after the submission,
//     unless the request is refused with kUnservedBit or the whole submission fails. Then the block
//     is still staged.
//   - Source kRegion: place is the id of the region. Offset and byte size are the lower words of
//     these, and their upper words follow the rank. The first request's bytes begin at the offset,
//     and those of the other requests follow.
//   - Target: outputs go to pages, unless they have a target. Then they go to a region (region.h).
//     The first request's place begins at the offset, and those of the others follow. Each has the
//     capacity as its size.
//   - If a region is unknown or too small, or a request does not fit its model, only the requests
//     of that group fail. The bytes in regions are checked, as JavaScript does not see them.
//   - A group's bytes in a slab lie in one range, from its first byte there to its last one. The
//     size of the range is a power of two, at least 64 bytes. Each request is charged an equal
//     share of it (budget.h).
//
// Completion: in a page, records of two kinds:
//   - kTimings, then (at the next even word) five doubles: rows of the batch, and nanoseconds in
//     the queue, of compute_input, of compute_infer and of compute_output. It holds for the records
//     that follow it. A batch of no rows stands for responses from the response cache.
//   - slot, generation, bits (code | final << 8 | limited << 9 | ran << 10 | unserved << 11 |
//     counted << 12 | empty << 13 | parameters << 14 | outputs << 16, or on error reason << 16),
//     position of the first request in its group, number of requests. These are neighbours whose
//     responses differ only in their bytes. Then, on error: offset and byte size of the message in
//     the page, the same for all requests; else, with the bit for parameters, which only a response
//     to one request has: offset and byte size of the parameters in the page; then for each output:
//     index | datatype << 16, offset in the page of the first request's bytes (or ~number of a
//     large output, for one request; or kInRegion + the upper word of its byte size), byte size of
//     one request (or its lower word), rank, dims… The bytes of the other requests follow those of
//     the first one.
//   Bytes at the back of a page begin at multiples of 8.
//   - Parameters: words as in the attributes of a group, one parameter after the other.
//   - Counted: a response of a decoupled model. It counts as unread until JavaScript says that it
//     was read, with StreamCount::kResponseBytes and the bytes of its outputs and parameters.
//     Empty: the end of a request without a response.
//
// Cancellation: in the submission words, for each sequence of neighbours in a group: slot,
// generation, position of the first request, number of requests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tritonts::layout {

constexpr size_t kSlabBytes = size_t{1} << 20;
constexpr size_t kSubmissionWords = size_t{1} << 16;
constexpr size_t kPageBytes = size_t{256} << 10;
constexpr size_t kLargeOutput = size_t{64} << 10;  // the smallest large output
// At most this many output bytes of one response are cut from its page. Further outputs count as
// large.
constexpr size_t kCutBytes = kPageBytes / 2;

// Header words. They are atomic, because other threads write some of them.
constexpr size_t kHeaderBytes = 4096;
constexpr size_t kEpoch = 0;
constexpr size_t kClosed = 1;
// From here on: pairs of id and words of the pages that the JS thread was just given.
constexpr size_t kPages = 2;
constexpr size_t kMostPages = 64;

constexpr int32_t kSlab = 0;
constexpr int32_t kBlock = 1;
constexpr int32_t kRegion = 2;

// Kinds of parameters.
constexpr int32_t kStringParameter = 0;
constexpr int32_t kIntegerParameter = 1;
constexpr int32_t kDoubleParameter = 2;
constexpr int32_t kFlagParameter = 3;
// No parameter of the model's: the number of the batch that makes the requests (call_graph.h).
constexpr int32_t kCallerParameter = 4;
// No parameter of the model's: the id of the trace that a front end has begun for the request
// (engine/trace/tracer.h), a double.
constexpr int32_t kTraceParameter = 5;

constexpr int32_t kMarkedBit = 1 << 30;
// Flags of a request's sequence.
constexpr int32_t kSequenceStart = 1;
constexpr int32_t kSequenceEnd = 2;

// First words of records.
constexpr int32_t kTimings = -1;
constexpr int32_t kFinalBit = 1 << 8;
constexpr int32_t kLimitedBit = 1 << 9;
constexpr int32_t kRanBit = 1 << 10;
constexpr int32_t kUnservedBit = 1 << 11;
constexpr int32_t kCountedBit = 1 << 12;
constexpr int32_t kEmptyBit = 1 << 13;
constexpr int32_t kParametersBit = 1 << 14;

// In place of an output's offset in the page: the output is in its target. No number of a large
// output is as small.
constexpr int32_t kInRegion = -1 << 31;

constexpr size_t kCancelWords = 4;

}  // namespace tritonts::layout
