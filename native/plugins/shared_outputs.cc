#include "plugins/shared_outputs.h"

#include <algorithm>
#include <cstring>

namespace tritonts::plugins {

namespace {

constexpr size_t kOutputAlignment = 64;

template <typename Visit>
void ForEachBit(uint64_t bits, const Visit& visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<uint32_t>(__builtin_ctzll(bits)));
}

}  // namespace

void SharedOutputs::Clear() {
  ForEachBit(known_, [&](uint32_t index) { all_[index].block.reset(); });
  known_ = 0;
}

char* SharedOutputs::Place(Run& run, uint32_t position, uint32_t index, DataType datatype,
                           std::span<const int64_t> shape, size_t size) {
  if (index >= all_.size() || size == 0 || size > kMostBytes) return nullptr;
  Shared& shared = all_[index];
  if (Knows(index)) {
    const bool same =
        shared.datatype == datatype && shared.size == size &&
        std::equal(shape.begin(), shape.end(), shared.shape.begin(), shared.shape.end());
    return same ? At(shared, position) : nullptr;
  }
  const size_t stride = (size + kOutputAlignment - 1) / kOutputAlignment * kOutputAlignment;
  BlockRef block = run.pool().Acquire(stride * run.requests().size());
  if (!block) return nullptr;
  shared.shape.assign(shape.begin(), shape.end());
  shared.datatype = datatype;
  shared.size = size;
  shared.stride = stride;
  shared.block = std::move(block);
  known_ |= uint64_t{1} << index;
  return At(shared, position);
}

void SharedOutputs::Declare(Run& run, uint32_t position, uint64_t outputs) const {
  ForEachBit(outputs, [&](uint32_t index) {
    const Shared& shared = all_[index];
    run.SetRequestOutput(position, index, shared.datatype,
                         {shared.shape.data(), shared.shape.size()}, At(shared, position),
                         shared.size, shared.block.get());
  });
}

void SharedOutputs::DeclareAll(Run& run, uint64_t outputs) {
  const auto count = static_cast<uint32_t>(run.requests().size());
  ForEachBit(outputs, [&](uint32_t index) {
    const Shared& shared = all_[index];
    char* const data = At(shared, 0);
    if (shared.stride != shared.size) {
      // The rows of an output follow each other.
      for (uint32_t i = 1; i < count; i++) {
        std::memmove(data + i * shared.size, At(shared, i), shared.size);
      }
    }
    const std::span shape(shared.shape.data(), shared.shape.size());
    run.SetOutput(index, shared.datatype, shape.subspan(1), data, count * shared.size,
                  shared.block.get());
  });
}

}  // namespace tritonts::plugins
