// The outputs and parameters that a backend declared for a run's requests and that no response has
// carried yet.
//
// Each output is checked when it is declared. If it is invalid, the responses that would carry it
// are errors. Owned by a run and guarded by its lock.
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

// Outputs for a keeper (scheduling/batch.h), and the slot of each.
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
  // Reserves space for this many requests. Throws std::bad_alloc.
  void Reserve(size_t requests) { first_rows_.reserve(requests); }
  // Begins a run of these requests, for which room was reserved. No output is declared yet.
  // `keeper` takes some of the outputs; null: all go to callers.
  void Begin(const RunContext* context, std::span<Request* const> requests,
             const OutputKeeper* keeper = nullptr);

  uint32_t rows() const { return rows_; }
  // The bytes of an output of `request` (a position or kAll). nullopt: the shape is invalid or does
  // not give the size, or the size is too large for a tensor of a request.
  std::optional<size_t> SizeOf(uint32_t request, DataType datatype,
                               std::span<const int64_t> shape) const;
  // The error message if SizeOf returns nullopt.
  std::string NoPlace(uint32_t index, DataType datatype, std::span<const int64_t> shape) const;
  // Declares an output for `request` (a position or kAll). `tensor.block` keeps the data alive.
  // `offsets` are given for a ragged output. Returns the block of the output that this one
  // replaces; the caller drops it without the lock. If memory runs out, responses are errors until
  // all outputs are dropped.
  [[nodiscard]] BlockRef Declare(uint32_t request, const OutputTensor& tensor,
                                 std::span<const size_t> offsets = {});

  // Swaps the parameters of the next response to request `position` with these. If memory runs out,
  // it is as for Declare.
  void SetParameters(uint32_t position, ResponseParameters* parameters);
  // Takes those parameters. Null: there are none.
  ResponseParameters TakeParameters(uint32_t position);

  // Adds the outputs of the next response to request `position` to `tensors`, and references to
  // their memory to `blocks`. If an output is invalid, returns an error and adds no output. Outputs
  // declared for this request alone are consumed. Kept outputs go to `kept`.
  Status Take(uint32_t position, const Request& request, std::vector<OutputTensor>* tensors,
              std::vector<BlockRef>* blocks, KeptOutputs* kept);
  // Adds the part of each output that the first request gets, if one response can serve all
  // requests, and returns true. For that, the wanted outputs must be valid, declared for all
  // requests, with rows of equal size, in memory that the sink takes, and there must be no
  // parameters. `requests` are the run's and want the same outputs.
  bool TakeAlike(std::span<Request* const> requests, std::vector<OutputTensor>* tensors) const;
  // The number of outputs declared for all requests, and for single requests.
  size_t whole() const { return whole_.size(); }
  size_t single() const { return single_.size(); }
  // Drops the outputs and parameters declared for one request, or for all. References to the
  // outputs' memory go to `blocks`.
  void Drop(uint32_t position, std::vector<BlockRef>* blocks);
  void DropAll(std::vector<BlockRef>* blocks);
  // Why an output that was declared for request `position` alone cannot be kept. OK: each can.
  Status FaultOfKept(uint32_t position) const;
  // Takes an output that was declared for request `position` alone and is kept, without allocating.
  // `tensor.block` is `block`, which keeps its data alive. False: none is left.
  bool TakeKept(uint32_t position, OutputTensor* tensor, BlockRef* block);
  // Drops one output of request `position` or of kAll, without allocating. False: none is left, and
  // the parameters are dropped, too.
  bool DropOne(uint32_t position, BlockRef* block);
  // Drops all outputs, their blocks, and all parameters.
  void Clear();

  // Whether callers may get an output. Those of the model that are not internal may be kept as
  // well.
  bool IsForCaller(uint32_t index) const {
    return !Kept(index) || (context_->io && !context_->io->outputs[index].internal);
  }

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Declared {
    OutputTensor tensor;
    std::span<const size_t> offsets;  // of the rows of a ragged output
    size_t row_bytes = 0;
    BlockRef block;
    Status status;          // not ok: the output is invalid
    uint32_t next = kNone;  // link of the request's chain, or of the unused entries
  };

  BlockRef Add(uint32_t request, const OutputTensor& tensor, std::span<const size_t> offsets);
  uint32_t RowsOf(uint32_t request) const;
  bool MakesSense(uint32_t request, const Declared& declared) const;
  // Whether a request gets more bytes of an output than a tensor may have. The output's offsets
  // must be valid.
  bool IsTooLarge(uint32_t request, const Declared& declared) const;
  std::string TooLarge(const OutputTensor& tensor) const;
  std::string Complaint(uint32_t request, const Declared& declared) const;
  BlockRef Store(uint32_t request, Declared declared);
  // Whether the sink of the requests takes an output where it is.
  static bool Takes(std::span<Request* const> requests, const OutputTensor& tensor);
  // The rows `first_row` to `past_row` of an output for all requests.
  OutputTensor PartOf(const Declared& declared, size_t first_row, size_t past_row) const;

  // Adds a part of an output to the response, or to the kept outputs.
  void Hand(const OutputTensor& tensor, uint32_t position, const Request& request,
            std::vector<OutputTensor>* tensors, KeptOutputs* kept) const;
  bool Kept(uint32_t index) const { return keeper_ && keeper_->Keeps(index); }

  const RunContext* context_ = nullptr;
  const OutputKeeper* keeper_ = nullptr;
  uint32_t rows_ = 0;
  std::vector<uint32_t> first_rows_;  // by request: index of its first row
  std::vector<Declared> whole_;       // declared for all requests
  std::vector<Declared> single_;      // declared for single requests, and unused entries
  std::vector<uint32_t> chains_;      // by request: its first entry in single_; may be empty
  uint32_t unused_ = kNone;           // first unused entry in single_
  std::vector<ResponseParameters> parameters_;  // by request; empty: none were declared
  bool lacking_ = false;                        // memory for an output ran out
};

}  // namespace tritonts
