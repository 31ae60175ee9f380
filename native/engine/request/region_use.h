// What the requests of a header use of regions (memory/region.h): the memory of their inputs, which
// it keeps alive, and the places for their outputs. Only headers of such requests have one.
//
// The sender makes it before Submit. From then on any thread may call it, and only `EndOne` changes
// it. The header owns it (RequestHeader::regions). The sink drops it with the last request.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/datatype.h"
#include "engine/base/status.h"
#include "engine/memory/buffer.h"

namespace tritonts {

class Executor;
class Region;
class Request;
struct OutputTensor;

// Whether a model may use tensors of a type in memory that others write to meanwhile. Models use
// values of the other types as indices, lengths or conditions, which they check before they use
// them. So those are copied. (Integers of 8 bits are pixels and quantised numbers.)
inline bool MayBeShared(DataType datatype) {
  switch (datatype) {
    case DataType::kFp16:
    case DataType::kBf16:
    case DataType::kFp32:
    case DataType::kFp64:
    case DataType::kInt8:
    case DataType::kUint8:
      return true;
    default:
      return false;
  }
}

// Whether requests to an executor have input `input` in this memory of a region as it is. Any
// thread may call it.
bool ReadsInPlace(const Executor& executor, uint32_t input, const Buffer& range);

class RegionUse {
 public:
  explicit RegionUse(uint32_t requests) : requests_(requests), left_(requests) {}

  // --- For the sender. All throw std::bad_alloc. Keeps a region, which counts as in use.
  void Keep(std::shared_ptr<const Region> region) { regions_.push_back(std::move(region)); }
  // Keeps memory that inputs are read from.
  void Hold(BlockRef memory) { held_.push_back(std::move(memory)); }
  // An output goes to a region. `place` is the first request's, and those of the others follow it.
  void Aim(uint32_t output, Buffer place) { targets_.push_back({output, std::move(place)}); }
  // Whether any output may be written to a range of memory.
  bool Overlaps(const Buffer& range) const;

  // Whether any output goes to a region.
  bool writes() const { return !targets_.empty(); }
  // Whether inputs are read from regions.
  bool reads() const { return !held_.empty(); }

  // --- Whether an output goes to a region.
  bool Aims(uint32_t output) const { return Find(output) != nullptr; }
  // The place of an output of `size` bytes, for a writer on the host. Without data: the output
  // does not fit, or a writer cannot use the place as it is (MayBeShared).
  Buffer Place(const Request& request, uint32_t output, size_t size) const;
  // Whether an output is taken in memory of a device, because its region is there, too.
  bool TakesOnDevice(uint32_t output, int device) const;
  // Copies outputs to their places, unless they are there. Nothing is written if it returns
  // INVALID_ARG, because an output is larger than its place. Throws std::bad_alloc.
  Status Store(const Request& request, std::span<const OutputTensor> outputs) const;

  // INVALID_ARG: another process has made the memory of a region shorter.
  Status CheckWhole() const;

  // Notes that a request has ended. True: it was the last one.
  bool EndOne() { return left_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  struct Target {
    uint32_t output;
    Buffer first;  // the first request's place
  };
  const Target* Find(uint32_t output) const;
  static Buffer PlaceOf(const Target& target, const Request& request);

  const uint32_t requests_;
  std::vector<std::shared_ptr<const Region>> regions_;
  std::vector<BlockRef> held_;
  std::vector<Target> targets_;
  std::atomic<uint32_t> left_;
};

}  // namespace tritonts
