// The outputs that a backend declared for a run's requests and that no response has carried yet.
//
// Each output is checked when it is declared. If it is invalid, the responses that would carry it
// are errors. A run owns its RunOutputs; the run's lock guards them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/batch/run_context.h"
#include "engine/scheduling/batch.h"

namespace tritonts {

// Outputs that a keeper takes (scheduling/batch.h), and the slot that each is of.
struct KeptOutputs {
  std::vector<OutputTensor> outputs;
  std::vector<uint32_t> slots;

  void Reserve(size_t most) {  // throws std::bad_alloc
    outputs.reserve(most);
    slots.reserve(most);
  }
  void Clear() {
    outputs.clear();
    slots.clear();
  }
};

class RunOutputs {
 public:
  // Makes room for this many requests. Throws std::bad_alloc.
  void Reserve(size_t requests) { first_rows_.reserve(requests); }
  // Begins a run of these requests, for which there must be room. Nothing is declared yet.
  // `keeper` takes some of the outputs; null: all go to callers.
  void Begin(const RunContext* context, std::span<Request* const> requests,
             const OutputKeeper* keeper = nullptr);

  uint32_t rows() const { return rows_; }
  // Bytes of an output of `request` (a position or kAll). Nothing if the shape is invalid or does
  // not tell the size, or if it is too large for a tensor of a request.
  std::optional<size_t> SizeOf(uint32_t request, DataType datatype,
                               std::span<const int64_t> shape) const;
  // Why it has none.
  std::string NoPlace(uint32_t index, DataType datatype, std::span<const int64_t> shape) const;
  // Declares an output for `request` (a position or kAll). `tensor.block` keeps the data alive.
  // `offsets` are given for a ragged output. Returns the block of the output that this one
  // replaces, which the caller drops without the lock. If there is no memory for it, responses are
  // errors until all outputs are dropped.
  [[nodiscard]] BlockRef Declare(uint32_t request, const OutputTensor& tensor,
                                 std::span<const size_t> offsets = {});

  // Adds what the next response to request `position` carries to `tensors`, and references to its
  // memory to `blocks`. If an output is invalid, returns an error and adds nothing. What was
  // declared for this request alone is consumed.
  // Outputs that are kept go to `kept`.
  Status Take(uint32_t position, const Request& request, std::vector<OutputTensor>* tensors,
              std::vector<BlockRef>* blocks, KeptOutputs* kept);
  // If only valid tensors for all requests, with rows of equal size, were declared of what these
  // want, in memory that their sink takes: adds the part of each that the first one gets, and
  // returns true. They are the run's requests, and want the same.
  bool TakeAlike(std::span<Request* const> requests, std::vector<OutputTensor>* tensors) const;
  // How many outputs were declared for all requests, and for single ones.
  size_t whole() const { return whole_.size(); }
  size_t single() const { return single_.size(); }
  // Drops what was declared for one request, or for all. References to its memory go to `blocks`.
  void Drop(uint32_t position, std::vector<BlockRef>* blocks);
  void DropAll(std::vector<BlockRef>* blocks);
  // Drops one output of request `position` or of kAll, without allocating. False: none is left.
  bool DropOne(uint32_t position, BlockRef* block);
  // Drops all outputs and their blocks.
  void Clear();

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Declared {
    OutputTensor tensor;
    std::span<const size_t> offsets;  // of the rows of a ragged output
    size_t row_bytes = 0;
    BlockRef block;
    Status status;          // not ok: the output is invalid
    uint32_t next = kNone;  // link of the request's chain, or of the unused ones
  };

  BlockRef Add(uint32_t request, const OutputTensor& tensor, std::span<const size_t> offsets);
  uint32_t RowsOf(uint32_t request) const;
  bool MakesSense(uint32_t request, const Declared& declared) const;
  // Whether a request gets more bytes of it than a tensor may have. Its offsets have to be valid.
  bool IsTooLarge(uint32_t request, const Declared& declared) const;
  std::string TooLarge(const OutputTensor& tensor) const;
  std::string Complaint(uint32_t request, const Declared& declared) const;
  BlockRef Keep(uint32_t request, Declared declared);
  // Whether the sink of the requests takes an output where it is.
  static bool Takes(std::span<Request* const> requests, const OutputTensor& tensor);
  // The part of an output for all that has the rows `first_row` to `past_row`.
  OutputTensor PartOf(const Declared& declared, size_t first_row, size_t past_row) const;

  // Adds a part of an output to what a response carries, or to what is kept.
  void Hand(const OutputTensor& tensor, uint32_t position, const Request& request,
            std::vector<OutputTensor>* tensors, KeptOutputs* kept) const;
  bool Kept(uint32_t index) const { return keeper_ && keeper_->Keeps(index); }

  const RunContext* context_ = nullptr;
  const OutputKeeper* keeper_ = nullptr;
  uint32_t rows_ = 0;
  std::vector<uint32_t> first_rows_;  // by request: where its rows begin
  std::vector<Declared> whole_;       // declared for all requests
  std::vector<Declared> single_;      // declared for single requests, and unused ones
  std::vector<uint32_t> chains_;      // by request: its first in single_; may be empty
  uint32_t unused_ = kNone;           // first unused one in single_
  bool lacking_ = false;              // there was no memory for an output
};

}  // namespace tritonts
