#include "engine/batch/batch_input_maker.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "engine/base/rules.h"

namespace tritonts {

namespace {

// Values have 4 bytes; inputs begin at addresses that suit any runtime.
constexpr size_t kWidth = 4;
constexpr size_t kAlignment = 64;

size_t Aligned(size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

// Writes a value as INT32 or FP32. Numbers beyond INT32 become its largest one.
char* Put(DataType datatype, size_t value, char* to) {
  if (datatype == DataType::kFp32) {
    const auto number = static_cast<float>(value);
    std::memcpy(to, &number, kWidth);
  } else {
    const auto number = static_cast<int32_t>(
        std::min(value, static_cast<size_t>(std::numeric_limits<int32_t>::max())));
    std::memcpy(to, &number, kWidth);
  }
  return to + kWidth;
}

}  // namespace

std::unique_ptr<BatchInputMaker> BatchInputMaker::Make(const ModelIo& io) {
  if (io.batch_inputs.empty()) return nullptr;
  std::vector<Input> inputs;
  for (const BatchInputSpec& spec : io.batch_inputs) {
    TRITONTS_ASSERT(spec.source < io.inputs.size() && spec.target < io.inputs.size(),
                    "a batch input is no input of the model");
    inputs.push_back({spec, io.inputs[spec.target].datatype});
  }
  return std::unique_ptr<BatchInputMaker>(new BatchInputMaker(std::move(inputs)));
}

Batch* BatchInputMaker::BatchOf(std::span<Request* const> requests) {
  own_.Clear();
  own_.members.assign(requests.begin(), requests.end());
  return &own_;
}

void BatchInputMaker::FindSources(const Batch& batch, uint32_t input) {
  const auto first = std::find_if(batch.members.begin(), batch.members.end(),
                                  [](const Request* one) { return one; });
  sources_.clear();
  size_t next = 0;
  for (size_t slot = 0; slot < batch.members.size(); slot++) {
    const Request* const request = batch.members[slot] ? batch.members[slot] : *first;
    const InputTensor* tensor = request->input(input);
    for (; next < batch.overlays.size() && batch.overlays[next].slot == slot; next++) {
      if (batch.overlays[next].tensor.index == input) tensor = &batch.overlays[next].tensor;
    }
    // An optional input that a request lacks has no elements.
    Source& source = sources_.emplace_back();
    if (!tensor) continue;
    source.shape = {tensor->shape.data(), tensor->shape.size()};
    source.elements = 1;
    for (const int64_t dim : source.shape) source.elements *= static_cast<size_t>(dim);
  }
}

size_t BatchInputMaker::Largest() const {
  size_t most = 0;
  for (const Source& source : sources_) most = std::max(most, source.elements);
  return most;
}

size_t BatchInputMaker::ValuesOf(Kind kind, size_t slot) const {
  switch (kind) {
    case Kind::kElementCount:
    case Kind::kAccumulatedElementCount:
      return 1;
    case Kind::kAccumulatedElementCountWithZero:
      return slot == 0 ? 2 : 1;
    case Kind::kMaxElementCountAsShape:
      return slot == 0 ? Largest() : 0;
    case Kind::kItemShape:
    case Kind::kItemShapeFlatten:
      return sources_[slot].rows() * sources_[slot].tail().size();
  }
  return 0;
}

char* BatchInputMaker::Write(const Input& input, const BlockRef& block, char* to) {
  const Kind kind = input.spec.kind;
  size_t sum = 0;
  for (uint32_t slot = 0; slot < sources_.size(); slot++) {
    const Source& source = sources_[slot];
    char* const begin = to;
    sum += source.elements;
    switch (kind) {
      case Kind::kElementCount:
        to = Put(input.datatype, source.elements, to);
        break;
      case Kind::kAccumulatedElementCountWithZero:
        if (slot == 0) to = Put(input.datatype, 0, to);
        [[fallthrough]];
      case Kind::kAccumulatedElementCount:
        to = Put(input.datatype, sum, to);
        break;
      case Kind::kMaxElementCountAsShape: {
        const size_t size = ValuesOf(kind, slot) * kWidth;
        if (size > 0) std::memset(to, 0, size);
        to += size;
        break;
      }
      case Kind::kItemShape:
      case Kind::kItemShapeFlatten:
        for (size_t row = 0; row < source.rows(); row++) {
          for (const int64_t dim : source.tail()) {
            to = Put(input.datatype, static_cast<size_t>(dim), to);
          }
        }
        break;
    }
    const auto size = static_cast<size_t>(to - begin);
    Overlay& overlay = made_.emplace_back();
    overlay.slot = slot;
    overlay.tensor.index = input.spec.target;
    overlay.tensor.datatype = input.datatype;
    overlay.tensor.of_one = true;
    if (kind == Kind::kItemShape) {
      overlay.tensor.shape.push_back(static_cast<int64_t>(source.rows()));
      overlay.tensor.shape.push_back(static_cast<int64_t>(source.tail().size()));
    } else {
      overlay.tensor.shape.push_back(static_cast<int64_t>(size / kWidth));
    }
    overlay.tensor.first_chunks.push_back({begin, size, MemoryKind::kHost, 0, block});
  }
  return to;
}

void BatchInputMaker::AddTo(Batch* batch, BlockPool* pool) {
  Drop();
  const auto each_source = [&](auto&& use) {
    const BatchInputSpec* last = nullptr;
    for (const Input& input : inputs_) {
      if (!last || last->source != input.spec.source) FindSources(*batch, input.spec.source);
      last = &input.spec;
      use(input);
    }
  };
  size_t total = 0;
  each_source([&](const Input& input) {
    size_t values = 0;
    for (size_t slot = 0; slot < sources_.size(); slot++) values += ValuesOf(input.spec.kind, slot);
    total += Aligned(values * kWidth);
  });
  const BlockRef block = pool->Acquire(std::max<size_t>(total, 1));
  if (!block) throw std::bad_alloc();
  char* const start = static_cast<char*>(block->data());
  size_t offset = 0;
  each_source([&](const Input& input) {
    offset = Aligned(static_cast<size_t>(Write(input, block, start + offset) - start));
  });
  // Input i's overlay for slot s is at i * slots + s.
  const size_t slots = batch->members.size();
  overlays_.reserve(batch->overlays.size() + made_.size());
  size_t next = 0;
  for (size_t slot = 0; slot < slots; slot++) {
    for (; next < batch->overlays.size() && batch->overlays[next].slot == slot; next++) {
      overlays_.push_back(batch->overlays[next]);
    }
    for (size_t i = slot; i < made_.size(); i += slots) overlays_.push_back(std::move(made_[i]));
  }
  batch->remade = batch->plain();
  batch->overlays = overlays_;
}

void BatchInputMaker::Drop() {
  made_.clear();
  overlays_.clear();
}

}  // namespace tritonts
