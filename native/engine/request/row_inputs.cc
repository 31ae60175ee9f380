#include "engine/request/row_inputs.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "engine/base/rules.h"
#include "engine/request/response_sink.h"

namespace tritonts {

namespace {

// Drops the responses to null rows.
class NoCaller final : public ResponseSink {
 public:
  void Deliver(std::span<const Response>) override {}
};

NoCaller no_caller;

// An output that no model has: null rows want none.
constexpr uint32_t kNoOutput = ~0u;

// The byte size of a null row's input that is shaped like `input`. Its strings are empty: each is
// only its length, 4 bytes.
size_t NullBytesOf(const InputTensor& input) {
  if (input.datatype != DataType::kBytes) return input.byte_size();
  size_t elements = 1;
  for (const int64_t dim : input.shape) elements *= static_cast<size_t>(dim);
  return 4 * elements;
}

}  // namespace

void RowInputs::MakeNullRow(const Request& like, BlockPool* pool) {
  const RequestHeader& known = *like.header;
  header_.sink = &no_caller;
  header_.executor = known.executor;
  header_.null_row = true;
  header_.batch_size = known.batch_size;
  header_.arrival_ns = known.arrival_ns;
  header_.shape_key = known.shape_key;
  header_.wanted = {kNoOutput};
  header_.ClearInputs();
  size_t most = 0;
  for (const InputTensor& input : like.inputs()) most = std::max(most, NullBytesOf(input));
  BlockRef zeros;
  if (most > 0) {
    zeros = pool->Acquire(most);
    if (!zeros) throw std::bad_alloc();
    std::memset(zeros->data(), 0, most);
  }
  for (const InputTensor& input : like.inputs()) {
    InputTensor& added = header_.AddInput();
    added.index = input.index;
    added.datatype = input.datatype;
    added.of_one = true;
    added.shape = input.shape;
    const size_t size = NullBytesOf(input);
    added.first_chunks.push_back(
        {zeros ? zeros->data() : nullptr, size, MemoryKind::kHost, 0, zeros});
  }
}

void RowInputs::Fill(std::span<Request*> members, std::span<const Overlay> overlays,
                     BlockPool* pool) {
  Clear();
  const auto first =
      std::find_if(members.begin(), members.end(), [](const Request* one) { return one; });
  TRITONTS_ASSERT(first != members.end(), "a batch has no request");
  slots_.resize(std::max(slots_.size(), members.size()));
  const auto empty = static_cast<size_t>(std::count(members.begin(), members.end(), nullptr));
  while (rows_.size() < empty) rows_.push_back(std::make_unique<Request>());
  if (empty > 0) MakeNullRow(**first, pool);
  size_t next = 0;
  for (uint32_t slot = 0; slot < members.size(); slot++) {
    const RequestHeader& own = members[slot] ? *members[slot]->header : header_;
    std::vector<InputTensor>& inputs = slots_[slot];
    for (const InputTensor& input : own.inputs()) inputs.push_back(input);
    for (; next < overlays.size() && overlays[next].slot == slot; next++) {
      const InputTensor& tensor = overlays[next].tensor;
      TRITONTS_ASSERT(tensor.of_one, "an overlay has the bytes of one slot");
      const auto at = std::lower_bound(
          inputs.begin(), inputs.end(), tensor.index,
          [](const InputTensor& one, uint32_t index) { return one.index < index; });
      if (at != inputs.end() && at->index == tensor.index) {
        *at = tensor;
      } else {
        inputs.insert(at, tensor);
      }
    }
  }
  TRITONTS_ASSERT(next == overlays.size(), "overlays are in the order of slots");
  for (Request*& member : members) {
    if (member) continue;
    member = rows_[null_rows_++].get();
    member->header = &header_;
    member->Prepare(false);
    member->set_state(Request::State::kQueued);
  }
  header_.requests = null_rows_;
}

void RowInputs::Clear() {
  for (std::vector<InputTensor>& inputs : slots_) inputs.clear();
  header_.ClearInputs();
  null_rows_ = 0;
}

const InputTensor* RowInputs::Find(uint32_t slot, uint32_t index) const {
  for (const InputTensor& input : slots_[slot]) {
    if (input.index == index) return &input;
  }
  return nullptr;
}

}  // namespace tritonts
