// The words that JavaScript and the engine exchange. src/addon/layout.ts says the same.
//
// Submission: a record for each group, all 32-bit words. A group is requests of a tick for one
// version that differ in their bytes alone; what fits no other is a group of one.
//   uid, slot, generation, requests, inputs, wanted outputs (0: all), rows of each,
//   for each input: index, source, place, offset, byte size, rank, dims…
//   then the indices of the wanted outputs.
//   Dims and byte sizes are those of one request.
//   Source kSlab: place = number of the slab; the first request's bytes begin at the offset in it,
//   and those of the others follow.
//   Source kBlock: place = id of the staged block; offset and byte size are its length, in two
//   words. Of a group of one only. The id is free again when the block's request is accepted, or
//   refused for another reason than kUnservedBit; after that, and when nothing was taken of a
//   submission, the block is still staged.
//   What a group has in slabs lies in one range of each slab that it names, from the first of its
//   bytes there to the last one; that is a power of two long, at least 64 bytes, and is counted as
//   in flight in equal shares.
//
// Completion: in a page, records of two kinds:
//   kTimings, then (at the next even word) five doubles: rows of the batch, and nanoseconds in the
//     queue, of compute_input, compute_infer and compute_output; holds for the records after it
//   slot, generation, code | final << 8 | limited << 9 | ran << 10 | unserved << 11 | outputs <<
//   16,
//     position of the first request in its group, requests: neighbours whose responses differ in
//     their bytes alone,
//     on error: offset and byte size of the message in the page, which is that of all of them,
//     else for each output: index | datatype << 16, offset of the first one's in the page (or
//     ~number of a large output, of one request), byte size of one, rank, dims…; the others' bytes
//     follow.
//   What lies in the page begins at a multiple of 8.
//
// Cancellation of many: in the submission words, for each: slot, generation, position of the first
// request, requests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tritonts::layout {

constexpr size_t kSlabBytes = size_t{1} << 20;
constexpr size_t kSubmissionWords = size_t{1} << 16;
constexpr size_t kPageBytes = size_t{256} << 10;
constexpr size_t kLargeOutput = size_t{64} << 10;  // from here on an output is a large one
// Outputs of one response that are cut from its page, together at most; the others are large ones.
constexpr size_t kCutBytes = kPageBytes / 2;

// Header words; atomic, because other threads write some.
constexpr size_t kHeaderBytes = 4096;
constexpr size_t kEpoch = 0;
constexpr size_t kClosed = 1;
// From here on pairs of id and words of the pages that the JS thread was just given.
constexpr size_t kPages = 2;
constexpr size_t kMostPages = 64;

constexpr int32_t kSlab = 0;
constexpr int32_t kBlock = 1;

// First words of records.
constexpr int32_t kTimings = -1;
constexpr int32_t kFinalBit = 1 << 8;
constexpr int32_t kLimitedBit = 1 << 9;
constexpr int32_t kRanBit = 1 << 10;
constexpr int32_t kUnservedBit = 1 << 11;

constexpr size_t kCancelWords = 4;

}  // namespace tritonts::layout
