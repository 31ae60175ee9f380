// The outputs that a backend declared for a run's requests, until responses carry them.
//
// Of each it is known at once whether it makes sense; one that does not makes an error of the
// responses that would carry it. Guarded by the run's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

// What runs of a version have in common. Not owned by its runs.
struct RunContext {
  RunContext() = default;
  RunContext(const std::string& name, bool batches, const ModelIo* tensors);  // throws bad_alloc

  std::string model;
  bool batching = false;        // whether tensors have a batch dimension
  const ModelIo* io = nullptr;  // what outputs must be: their index and datatype; null: anything
  // Made beforehand, to be said where there may be no memory.
  Status cancelled;
  Status unanswered;   // by a blocking Execute
  Status no_memory;    // for the request
  Status no_response;  // no memory for the response
};

class RunOutputs {
 public:
  // Room for so many requests. Throws std::bad_alloc.
  void Reserve(size_t requests) { first_rows_.reserve(requests); }
  // For a new run, of these requests, for which there is room; nothing is declared.
  void Begin(const RunContext* context, std::span<Request* const> requests);

  uint32_t rows() const { return rows_; }
  // Bytes of an output of `request`, a position or kAll; nothing where it is no tensor of a size
  // that its shape tells.
  std::optional<size_t> SizeOf(uint32_t request, DataType datatype,
                               std::span<const int64_t> shape) const;
  // `tensor.block` keeps the data. With `offsets`, of a ragged one. Request: a position, or kAll.
  // Returns the block of what it replaces, to be let go of without the lock. Where there is no
  // memory for it, responses are errors until all is dropped.
  [[nodiscard]] BlockRef Declare(uint32_t request, const OutputTensor& tensor,
                                 std::span<const size_t> offsets = {});

  // Adds what the next response to request `position` carries to `tensors`, and keeps its memory in
  // `blocks`; an error, with nothing added, where one of them makes no sense. What was declared for
  // this request is consumed.
  Status Take(uint32_t position, const Request& request, std::vector<OutputTensor>* tensors,
              std::vector<BlockRef>* blocks);
  // Whether nothing but whole tensors of sense, of equal rows, was declared: what requests of so
  // many rows get of each is added, of the first one's rows.
  bool TakeAlike(uint32_t rows, std::vector<OutputTensor>* tensors) const;
  // How many were declared, for all requests and for single ones.
  size_t whole() const { return whole_.size(); }
  size_t single() const { return single_.size(); }
  // Consumes what was declared for one request, or for all.
  void Drop(uint32_t position, std::vector<BlockRef>* blocks);
  void DropAll(std::vector<BlockRef>* blocks);
  // The same for one output, of request `position` or of kAll, without memory; false: none is left.
  bool DropOne(uint32_t position, BlockRef* block);
  // The same for all there are, and lets go of the blocks here.
  void Clear();

 private:
  static constexpr uint32_t kNone = ~0u;
  struct Declared {
    OutputTensor tensor;
    std::span<const size_t> offsets;  // of rows, for ragged ones
    size_t row_bytes = 0;
    BlockRef block;
    Status status;          // not ok: it makes no sense
    uint32_t next = kNone;  // of the same request's chain, or of those not in use
  };

  BlockRef Add(uint32_t request, const OutputTensor& tensor, std::span<const size_t> offsets);
  uint32_t RowsOf(uint32_t request) const;
  bool MakesSense(uint32_t request, const Declared& declared) const;
  std::string Complaint(uint32_t request, const Declared& declared) const;
  BlockRef Keep(uint32_t request, Declared declared);
  // What request `position` gets of one: `first_row` to `past_row` of the whole tensor's.
  OutputTensor PartOf(const Declared& declared, size_t first_row, size_t past_row) const;

  const RunContext* context_ = nullptr;
  uint32_t rows_ = 0;
  std::vector<uint32_t> first_rows_;  // where each request's rows begin
  std::vector<Declared> whole_;       // of the whole batch
  std::vector<Declared> single_;      // of single requests, and those not in use
  std::vector<uint32_t> chains_;      // by request: its first in single_; empty: there is none
  uint32_t unused_ = kNone;           // first of those in single_ that are not in use
  bool lacking_ = false;              // there was no memory for one
};

}  // namespace tritonts
