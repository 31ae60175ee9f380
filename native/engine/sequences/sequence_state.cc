#include "engine/sequences/sequence_state.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "engine/memory/memory_copier.h"
#include "engine/sequences/sequence.h"

namespace tritonts {

namespace {

constexpr size_t kIdleBytes = size_t{16} << 20;

std::vector<SequenceStateSpec> InOrder(std::vector<SequenceStateSpec> specs) {
  std::sort(specs.begin(), specs.end(),
            [](const auto& one, const auto& other) { return one.input < other.input; });
  return specs;
}

std::vector<uint32_t> OutputsOf(std::span<const SequenceStateSpec> specs) {
  std::vector<uint32_t> outputs;
  for (const SequenceStateSpec& spec : specs) outputs.push_back(spec.output);
  return outputs;
}

// The bytes of zeros of a shape. A text is only its length, 4 bytes.
size_t ZeroBytes(DataType datatype, std::span<const int64_t> shape) {
  size_t bytes = datatype == DataType::kBytes ? 4 : ByteSize(datatype);
  for (const int64_t dim : shape) bytes *= static_cast<size_t>(dim);
  return bytes;
}

// The bytes of the first state.
size_t FirstBytes(const SequenceStateSpec& spec) {
  return spec.first_bytes.empty() ? ZeroBytes(spec.datatype, spec.first_shape)
                                  : spec.first_bytes.size();
}

}  // namespace

SequenceStates::SequenceStates(std::vector<SequenceStateSpec> specs, Budget* budget)
    : specs_(InOrder(std::move(specs))),
      kept_(OutputsOf(specs_)),
      budget_(budget),
      pool_(kIdleBytes) {}

StateFault SequenceStates::Grow(SequenceState* state, StateValue* value, size_t size) noexcept {
  const size_t before = value->block ? value->block->size() : 0;
  if (value->block && size <= before) return StateFault::kNone;
  BlockRef block = pool_.Acquire(std::max<size_t>(size, 1));
  if (!block) return StateFault::kNoMemory;
  const uint64_t more = block->size() - before;
  if (budget_ && !budget_->Reserve(more)) return StateFault::kNoMemory;
  state->charged_ += more;
  bytes_.fetch_add(more, std::memory_order_relaxed);
  value->block = std::move(block);
  return StateFault::kNone;
}

Status SequenceStates::Begin(std::unique_ptr<SequenceState>* state) {
  auto made = std::make_unique<SequenceState>();
  made->tensors_.resize(specs_.size());
  for (size_t i = 0; i < specs_.size(); i++) {
    for (StateValue* value : {&made->tensors_[i].now, &made->tensors_[i].next}) {
      // Room for all dims, so that a copy of a shape does not allocate.
      value->shape.reserve(specs_[i].first_shape.size());
    }
  }
  for (size_t i = 0; i < specs_.size(); i++) {
    const SequenceStateSpec& spec = specs_[i];
    SequenceState::Tensor& tensor = made->tensors_[i];
    for (StateValue* value : {&tensor.now, &tensor.next}) {
      if (Grow(made.get(), value, FirstBytes(spec)) == StateFault::kNone) continue;
      Release(made.get());
      return Status::Unavailable(
          Reason::kTooMuchInFlight,
          "no memory for the state of another sequence: expected " +
              std::to_string(FirstBytes(spec)) + " bytes twice, but the states of the model have " +
              std::to_string(bytes()) +
              (budget_ ? " bytes and the server's limit is " + std::to_string(budget_->limit())
                       : "") +
              "; end sequences that are not needed, or raise the limit (maxInFlightBytes)");
    }
  }
  Restart(made.get());
  *state = std::move(made);
  return Status::Ok();
}

void SequenceStates::Restart(SequenceState* state) const {
  for (size_t i = 0; i < specs_.size(); i++) {
    const SequenceStateSpec& spec = specs_[i];
    StateValue* const now = &state->tensors_[i].now;
    now->shape.assign(spec.first_shape.begin(), spec.first_shape.end());
    now->size = FirstBytes(spec);
    if (spec.first_bytes.empty()) {
      std::memset(now->block->data(), 0, now->size);
    } else {
      std::memcpy(now->block->data(), spec.first_bytes.data(), now->size);
    }
    state->tensors_[i].has_next = false;
  }
}

void SequenceStates::Advance(SequenceState* state) const {
  for (SequenceState::Tensor& tensor : state->tensors_) {
    if (std::exchange(tensor.has_next, false)) std::swap(tensor.now, tensor.next);
  }
}

void SequenceStates::Release(SequenceState* state) {
  const uint64_t charged = std::exchange(state->charged_, 0);
  state->tensors_.clear();
  if (budget_) budget_->Release(charged);
  bytes_.fetch_sub(charged, std::memory_order_relaxed);
}

bool SequenceStates::Alike(const SequenceState& one, const SequenceState& other) const {
  for (size_t i = 0; i < specs_.size(); i++) {
    const SequenceState::Tensor& left = one.tensors_[i];
    const SequenceState::Tensor& right = other.tensors_[i];
    // The first dim of a batching model is 1 in each.
    if (left.now.shape != right.now.shape) return false;
  }
  return true;
}

void SequenceStates::Add(uint32_t slot, const SequenceState& state, OverlayList* overlays) const {
  for (size_t i = 0; i < specs_.size(); i++) {
    const StateValue& now = state.tensors_[i].now;
    overlays->Add(slot, specs_[i].input, specs_[i].datatype, now.shape,
                  {now.block->data(), now.size, MemoryKind::kHost, 0, {}});
  }
}

bool SequenceStates::MakeZeros(const SequenceState& like) {
  size_t most = 1;
  for (size_t i = 0; i < specs_.size(); i++) {
    most = std::max(most, ZeroBytes(specs_[i].datatype, like.tensors_[i].now.shape));
  }
  if (zeros_ && zeros_->size() >= most) return true;
  BlockRef zeros = pool_.Acquire(most);
  if (!zeros) return false;
  std::memset(zeros->data(), 0, zeros->size());
  zeros_ = std::move(zeros);
  return true;
}

void SequenceStates::AddZeros(uint32_t slot, const SequenceState& like,
                              OverlayList* overlays) const {
  for (size_t i = 0; i < specs_.size(); i++) {
    const StateValue& now = like.tensors_[i].now;
    // A run of another instance may still read the zeros when larger ones replace them.
    overlays->Add(
        slot, specs_[i].input, specs_[i].datatype, now.shape,
        {zeros_->data(), ZeroBytes(specs_[i].datatype, now.shape), MemoryKind::kHost, 0, zeros_});
  }
}

StateFault SequenceStates::Set(SequenceState* state, size_t index,
                               const OutputTensor& output) noexcept {
  SequenceState::Tensor& tensor = state->tensors_[index];
  if (specs_[index].same_buffer && output.size != tensor.now.size) return StateFault::kOtherSize;
  const StateFault fault = Grow(state, &tensor.next, output.size);
  if (fault != StateFault::kNone) return fault;
  try {
    if (specs_[index].same_buffer) {
      tensor.next.shape = tensor.now.shape;
    } else {
      tensor.next.shape.clear();
      if (output.batch >= 0) tensor.next.shape.push_back(output.batch);
      tensor.next.shape.insert(tensor.next.shape.end(), output.tail.begin(), output.tail.end());
    }
    if (output.size > 0) {
      const Block* const from = output.block;
      const Status copied =
          CopyBytes({const_cast<void*>(output.data), output.size, output.kind,
                     from ? from->device() : 0, BlockRef::Share(output.block)},
                    {tensor.next.block->data(), output.size, MemoryKind::kHost, 0, {}});
      if (!copied.ok()) return StateFault::kNoCopy;
    }
  } catch (const std::bad_alloc&) {
    return StateFault::kNoMemory;
  }
  tensor.next.size = output.size;
  tensor.has_next = true;
  return StateFault::kNone;
}

void SequenceStates::Keep(const Request& request, uint32_t /*slot*/,
                          std::span<const OutputTensor> outputs) noexcept {
  SequenceState* const state = request.sequence().place->state.get();
  for (size_t i = 0; i < specs_.size(); i++) {
    for (const OutputTensor& output : outputs) {
      if (output.index != specs_[i].output) continue;
      const StateFault fault = Set(state, i, output);
      if (fault != StateFault::kNone) state->fault_ = fault;
    }
  }
}

}  // namespace tritonts
