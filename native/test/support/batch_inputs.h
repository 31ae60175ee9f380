// Triton's batch inputs as overlays: tensors that are computed from an input of all slots of a
// batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "engine/scheduling/batch.h"

namespace tritonts::test {

enum class BatchInput {
  kElementCount,
  kAccumulatedElementCount,
  kAccumulatedElementCountWithZero,
  kMaxElementCountAsShape,
  kItemShape,
  kItemShapeFlatten,
};

using Shapes = std::vector<std::vector<int64_t>>;

inline int32_t ElementsOf(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t dim : shape) count *= dim;
  return static_cast<int32_t>(count);
}

// Each slot's part of a batch input whose source has these shapes, by slot.
inline std::vector<std::vector<int32_t>> PartsOf(BatchInput kind, const Shapes& sources) {
  std::vector<std::vector<int32_t>> parts(sources.size());
  int32_t sum = 0;
  int32_t most = 0;
  for (size_t slot = 0; slot < sources.size(); slot++) {
    const std::vector<int64_t>& shape = sources[slot];
    sum += ElementsOf(shape);
    most = std::max(most, ElementsOf(shape));
    switch (kind) {
      case BatchInput::kElementCount:
        parts[slot] = {ElementsOf(shape)};
        break;
      case BatchInput::kAccumulatedElementCountWithZero:
        if (slot == 0) parts[slot].push_back(0);
        [[fallthrough]];
      case BatchInput::kAccumulatedElementCount:
        parts[slot].push_back(sum);
        break;
      case BatchInput::kMaxElementCountAsShape:
        break;
      case BatchInput::kItemShape:
      case BatchInput::kItemShapeFlatten:
        for (int64_t row = 0; row < shape[0]; row++) {
          for (size_t i = 1; i < shape.size(); i++) {
            parts[slot].push_back(static_cast<int32_t>(shape[i]));
          }
        }
        break;
    }
  }
  // The first slot has the whole tensor, whose values have no meaning.
  if (kind == BatchInput::kMaxElementCountAsShape) parts[0].resize(static_cast<size_t>(most));
  return parts;
}

// The overlays of a batch input: INT32 input `index`. They lie at `to` in `block`, one behind the
// other, so the collector gathers them without a copy.
inline void AddBatchInput(BatchInput kind, uint32_t index, const Shapes& sources, void* to,
                          const BlockRef& block, std::vector<Overlay>* overlays) {
  const auto width = static_cast<int64_t>(sources.front().size()) - 1;
  char* next = static_cast<char*>(to);
  const std::vector<std::vector<int32_t>> parts = PartsOf(kind, sources);
  for (uint32_t slot = 0; slot < parts.size(); slot++) {
    const std::vector<int32_t>& part = parts[slot];
    const size_t size = part.size() * sizeof(int32_t);
    if (size > 0) std::memcpy(next, part.data(), size);
    Overlay& overlay = overlays->emplace_back();
    overlay.slot = slot;
    overlay.tensor.index = index;
    overlay.tensor.datatype = DataType::kInt32;
    overlay.tensor.of_one = true;
    if (kind == BatchInput::kItemShape) {
      overlay.tensor.shape = {sources[slot][0], width};
    } else {
      overlay.tensor.shape = {static_cast<int64_t>(part.size())};
    }
    overlay.tensor.first_chunks.push_back({next, size, MemoryKind::kHost, 0, block});
    next += size;
  }
}

// Overlays are in the order of slots.
inline void SortOverlays(std::vector<Overlay>* overlays) {
  std::stable_sort(overlays->begin(), overlays->end(),
                   [](const Overlay& one, const Overlay& other) { return one.slot < other.slot; });
}

}  // namespace tritonts::test
