#include "engine/batch/delivery.h"

#include <new>

namespace tritonts {

void Delivery::Clear() {
  outputs.clear();
  output_counts.clear();
  kept.Clear();
  responses.clear();
  uncounted.clear();
  blocks.clear();
  copies.clear();
  shapes.clear();
  positions.clear();
  finals = 0;
  empty = alike = spoilt = false;
}

Delivery* DeliveryPool::Take(size_t responses, size_t outputs, size_t blocks, size_t kept) {
  try {
    if (unused_.empty()) {
      unused_.reserve(made_ + 1);
      unused_.push_back(std::make_unique<Delivery>());
      made_++;
    }
    Delivery& delivery = *unused_.back();
    delivery.outputs.reserve(outputs);
    delivery.output_counts.reserve(responses);
    delivery.responses.reserve(responses);
    delivery.uncounted.reserve(responses);
    delivery.open.reserve(responses);
    delivery.positions.reserve(responses);
    delivery.blocks.reserve(blocks);
    delivery.kept.Reserve(kept);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  Delivery* const delivery = unused_.back().release();
  unused_.pop_back();
  return delivery;
}

}  // namespace tritonts
