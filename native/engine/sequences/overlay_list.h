// The inputs that a scheduler injects into its next batch. Its memory is kept between batches, so
// that making a batch does not allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/rules.h"
#include "engine/request/row_inputs.h"

namespace tritonts {

class OverlayList {
 public:
  // Room for `most` inputs of at most `dims` dims. Throws std::bad_alloc; no other function
  // allocates.
  OverlayList(size_t most, size_t dims) : all_(most) {
    const std::vector<int64_t> room(dims);
    for (Overlay& one : all_) one.tensor.shape.assign(room.begin(), room.end());
  }

  // Drops the inputs of the last batch, and their references to memory.
  void Clear() {
    for (size_t i = 0; i < count_; i++) all_[i].tensor.first_chunks.clear();
    count_ = 0;
  }
  InputTensor& Add(uint32_t slot, uint32_t input, DataType datatype, std::span<const int64_t> shape,
                   Buffer bytes) {
    TRITONTS_ASSERT(count_ < all_.size(), "a batch has more inputs than there is room for");
    Overlay& overlay = all_[count_++];
    overlay.slot = slot;
    InputTensor& tensor = overlay.tensor;
    tensor.index = input;
    tensor.datatype = datatype;
    tensor.of_one = true;
    tensor.shape.assign(shape.begin(), shape.end());
    tensor.first_chunks.push_back(std::move(bytes));
    return tensor;
  }
  std::span<const Overlay> all() const { return std::span(all_).first(count_); }

 private:
  std::vector<Overlay> all_;
  size_t count_ = 0;
};

}  // namespace tritonts
