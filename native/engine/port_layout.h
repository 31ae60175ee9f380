// The words that JavaScript and the engine exchange. src/addon/layout.ts says the same.
//
// Submission: a record for each request, all 32-bit words:
//   uid, slot, generation, parts, inputs, wanted outputs (0: all), rows,
//   for each input: index | source << 16, place, offset, byte size, rank, dims…
//   then the indices of the wanted outputs.
//   Source kSlab: place = number of the slab, offset and byte size within it.
//   Source kBlock: place = id of the staged block; offset and byte size are its length, in two
//   words.
// A request may stand for several that differ in their bytes alone: its parts, which follow each
// other in its rows. Rows, dims and byte sizes are those of all of them.
//
// Completion: in a page, records of three kinds:
//   kTimings, then (at the next even word) five doubles: rows of the batch, and nanoseconds in the
//     queue, of compute_input, compute_infer and compute_output; holds for the records after it
//   slot, generation, code | final << 8 | limited << 9 | ran << 10 | outputs << 16, first part,
//     parts,
//     on error: offset and byte size of the message in the page, for all of these parts,
//     else for each output (of one part): index | datatype << 16, offset in the page (or ~number of
//     a large output), byte size, rank, dims…
//   kAlike, how many, outputs: answers of one batch that are all final, good and of the same
//     shapes. For each output: index | datatype << 16, offset of the first one's in the page, byte
//     size of one, rank, dims…; then, until there are so many: slot, first part, parts. An output's
//     bytes follow each other in that order.
//   What lies in the page begins at a multiple of 8.
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

// Header words.
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
constexpr int32_t kAlike = -2;
constexpr int32_t kFinalBit = 1 << 8;
constexpr int32_t kLimitedBit = 1 << 9;
constexpr int32_t kRanBit = 1 << 10;

}  // namespace tritonts::layout
