// Turns the words of an answer into responses (protocol.h). The stub is another process, so every
// number is validated.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/request/response_parameters.h"
#include "python/channel.h"
#include "python/parameter_bytes.h"

namespace tritonts::python {

namespace {

constexpr size_t kMostText = 16 << 10;
// An answer may return the inputs of its batch as outputs at most this many times.
constexpr uint64_t kMostRepeats = 64;

enum class Item : int64_t {
  kResponse = 1,
  kError = 2,
  kEnd = 3,
  kTogether = 4,
  kAgain = 5,
  kParameters = 6,
};

}  // namespace

// Reads the words of one answer.
struct Channel::Answers {
  Channel* channel;
  Run* run;
  Batch batch;
  bool together;  // each request has one response, which succeeded and is final
  BlockRef lent;  // empty: outputs in the heap "up" are copied now
  const int64_t* at;
  const int64_t* end;
  // The bytes that outputs in the heap "up" may still have, and those that are inputs; unset: not
  // determined yet.
  std::optional<uint64_t> left_up = std::nullopt;
  std::optional<uint64_t> left_inputs = std::nullopt;
  // For errors about wrong datatypes and sizes.
  Status status = Status::Ok();

  bool Has(int64_t words) const { return words <= end - at; }

  // Returns the address of an answer's data: in the heap "up", or in the batch's inputs.
  const char* Data(int64_t place, int64_t size) {
    if (place < 0 || size < 0) return nullptr;
    const auto offset = static_cast<uint64_t>(place);
    const auto bytes = static_cast<uint64_t>(size);
    bool good = channel->IsUp(offset, bytes);
    if (good) {
      // The address space is far larger than the memory. Only written pages take memory, so they
      // bound the outputs.
      if (bytes < kOwnBlock) return channel->segment_->memory.data() + offset;
      if (!left_up) left_up = channel->segment_->memory.TakenBytes();
      good = Take(&*left_up, bytes);
    } else {
      if (!left_inputs) left_inputs = GivenBytes() * kMostRepeats;
      good = WasGiven(offset, bytes) && Take(&*left_inputs, bytes);
    }
    return good ? channel->At(offset) : nullptr;
  }

  const BatchMemory& memory() const { return *static_cast<const BatchMemory*>(batch.memory.get()); }

  uint64_t GivenBytes() const {
    uint64_t bytes = batch.bytes;
    for (const BatchMemory::Input& input : memory().inputs()) bytes += input.size;
    return bytes;
  }

  bool WasGiven(uint64_t offset, uint64_t bytes) const {
    const auto within = [&](uint64_t place, uint64_t size) {
      return offset >= place && offset - place <= size && bytes <= size - (offset - place);
    };
    if (within(memory().place(), batch.bytes)) return true;
    const auto& inputs = memory().inputs();
    return std::any_of(inputs.begin(), inputs.end(), [&](const BatchMemory::Input& input) {
      return within(input.place, input.size);
    });
  }

  static bool Take(uint64_t* left, uint64_t bytes) {
    if (bytes > *left) return false;
    *left -= bytes;
    return true;
  }

  // One output: index, datatype, rank, dims, bytes, offset. Returns false if the words are invalid.
  bool Output(uint32_t request) {
    if (!Has(3)) return false;
    const int64_t index = at[0];
    const int64_t datatype = at[1];
    const int64_t rank = at[2];
    if (index < 0 || index > UINT32_MAX || datatype <= 0 || datatype > 14) return false;
    if (rank < 0 || rank > kMostDims || !Has(5 + rank)) return false;
    const int64_t* const dims = at + 3;
    const int64_t size = dims[rank];
    const char* const data = Data(dims[rank + 1], size);
    at += 5 + rank;
    // Rows of strings differ in size, so one output cannot serve all requests.
    if (request == Run::kAll && datatype == static_cast<int64_t>(DataType::kBytes)) return false;
    if (!data || !status.ok()) return data != nullptr;
    const std::span<const int64_t> shape(dims, static_cast<size_t>(rank));
    const auto type = static_cast<DataType>(datatype);
    const auto bytes = static_cast<size_t>(size);
    if (type == DataType::kBytes) {
      Strings(request, static_cast<uint32_t>(index), shape, data, bytes);
    } else {
      Numbers(request, static_cast<uint32_t>(index), type, shape, data, bytes);
    }
    return true;
  }

  void Numbers(uint32_t request, uint32_t index, DataType type, std::span<const int64_t> shape,
               const char* data, size_t size) {
    BlockRef block;
    if (size / (request == Run::kAll ? std::max(batch.requests, 1u) : 1) >= kOwnBlock) {
      // Lent outputs and passed-on inputs are read when a reader takes them. By then the stub may
      // have modified the bytes, but size and shape are fixed here.
      const auto up = reinterpret_cast<uintptr_t>(data) -
                      reinterpret_cast<uintptr_t>(channel->segment_->memory.data());
      const bool answered = up >= channel->heap_up_ && up < channel->size_;
      block = answered ? lent : batch.memory;
      if (!block) {
        block = channel->segment_->copies.Acquire(size);
        if (!block) {
          status = Status::NoMemory();
          return;
        }
        std::memcpy(block->data(), data, size);
        data = static_cast<const char*>(block->data());
      }
    }
    if (request == Run::kAll) {
      run->SetOutput(index, type, shape, data, size, block.get());
    } else {
      run->SetRequestOutput(request, index, type, shape, data, size, block.get());
    }
  }

  // Strings are validated, so they are copied to memory that the stub cannot modify.
  void Strings(uint32_t request, uint32_t index, std::span<const int64_t> shape, const char* data,
               size_t size) {
    const BlockRef block = run->pool().Acquire(size == 0 ? 1 : size);
    if (!block) {
      status = Status::NoMemory();
      return;
    }
    auto* const copy = static_cast<char*>(block->data());
    if (size > 0) std::memcpy(copy, data, size);
    uint64_t left = size;
    uint64_t elements = 0;
    const char* one = copy;
    while (left >= 4) {
      uint32_t length = 0;
      std::memcpy(&length, one, 4);
      if (length > left - 4) break;
      one += 4 + size_t{length};
      left -= 4 + uint64_t{length};
      elements++;
    }
    uint64_t wanted = 1;
    for (const int64_t dim : shape) {
      if (dim == 0) wanted = 0;
      if (wanted != 0 && dim > 0 && wanted <= (uint64_t{1} << 32))
        wanted *= static_cast<uint64_t>(dim);
    }
    if (left != 0 || elements != wanted) {
      status = MakeStatus([&] {
        return Status::Internal(
            "model '" + channel->model() + "', output " + std::to_string(index) +
            ": expected strings with length prefixes, as many as its shape has elements");
      });
      return;
    }
    run->SetRequestOutput(request, index, DataType::kBytes, shape, copy, size, block.get());
  }

  // Reads this many outputs, for one request or for all.
  bool Outputs(uint32_t request, int64_t outputs) {
    for (int64_t i = 0; i < outputs; i++) {
      if (!Output(request)) return false;
    }
    return outputs >= 0;
  }

  bool Response() {
    if (!Has(3)) return false;
    const int64_t request = at[0];
    const bool final = at[1] != 0;
    const int64_t outputs = at[2];
    at += 3;
    if (request < 0 || request >= batch.requests) return false;
    status = Status::Ok();
    if (!Outputs(static_cast<uint32_t>(request), outputs)) return false;
    if (together && status.ok()) return true;
    run->Respond(static_cast<uint32_t>(request), status, final || !status.ok());
    return true;
  }

  // The outputs of all requests, concatenated.
  bool Together() {
    if (!Has(1)) return false;
    const int64_t outputs = *at++;
    status = Status::Ok();
    if (!Outputs(Run::kAll, outputs)) return false;
    run->RespondAll(status);
    return true;
  }

  bool Error() {
    if (!Has(4)) return false;
    const int64_t request = at[0];
    const auto number = static_cast<uint64_t>(at[1]);
    const char* const text = Data(at[3], at[2]);
    const auto size = std::min<size_t>(static_cast<size_t>(at[2]), kMostText);
    at += 4;
    if (!text || request < -1 || request >= batch.requests) return false;
    run->Respond(request < 0 ? Run::kAll : static_cast<uint32_t>(request),
                 MakeStatus([&] { return Status::Said(number, std::string(text, size)); }));
    return true;
  }

  bool End() {
    if (!Has(1) || *at < 0 || *at >= batch.requests) return false;
    run->EndResponses(static_cast<uint32_t>(*at++));
    return true;
  }

  bool Again() {
    if (!Has(1) || *at < 0 || *at >= batch.requests) return false;
    run->Reschedule(static_cast<uint32_t>(*at++));
    return true;
  }

  bool Parameters() {
    if (!Has(3)) return false;
    const int64_t request = at[0];
    const int64_t size = at[1];
    const char* const data = Data(at[2], size);
    at += 3;
    if (!data || request < 0 || request >= batch.requests) return false;
    // The list has the limit. Bytes are bounded before they are copied: only a bool takes more of
    // them here than in a port's page, 8 instead of 4.
    if (size > static_cast<int64_t>(2 * kMostResponseParameterBytes)) return false;
    const std::string own(data, static_cast<size_t>(size));
    std::string_view left = own;
    ResponseParameterList list;
    while (!left.empty()) {
      uint32_t type = 0;
      std::string_view name;
      std::string_view bytes;
      std::variant<std::string, int64_t, double, bool> value;
      if (!NextParameter(&left, &type, &name, &bytes) || !ReadValue(type, bytes, &value) ||
          !list.Set(name, std::move(value)).ok()) {
        return false;
      }
    }
    run->SetParameters(static_cast<uint32_t>(request), list.Take());
    return true;
  }

  bool Read() {
    while (at < end) {
      const auto kind = static_cast<Item>(*at++);
      const bool good = kind == Item::kResponse     ? Response()
                        : kind == Item::kError      ? Error()
                        : kind == Item::kEnd        ? End()
                        : kind == Item::kTogether   ? Together()
                        : kind == Item::kAgain      ? Again()
                        : kind == Item::kParameters ? Parameters()
                                                    : false;
      if (!good) return false;
    }
    if (together) run->RespondAll(Status::Ok());
    return true;
  }
};

bool Channel::OnAnswer(const Message& message) {
  if (!TakeBody(message)) return false;
  const bool last = (message.word & 1) != 0;
  BlockRef lent;
  if ((message.word & 4) != 0) {
    const uint64_t word = message.offset - kLentBytes;
    if (message.offset % kAlignment != 0 || message.offset < kLentBytes ||
        !IsUp(word, kLentBytes)) {
      return Break("protocol violation: a lent answer without a release word");
    }
    lent = BlockRef::Adopt(new LentAnswer(segment_, word));
  }
  const Batch batch = BatchOf(message.batch);
  // If the stub answers an unknown batch, the batch that it does have would never be answered.
  if (!batch.memory) return Break("protocol violation: an answer to an unknown batch");
  if (last && !rooms_.empty()) EndRooms(message.batch);
  Run* const run = Enter(batch);
  if (!run) {
    // The run was terminated by the engine.
    if (last) FreeBatch(message.batch);
    return true;
  }
  run->MarkComputed();
  Answers answers{this,
                  run,
                  batch,
                  (message.word & 2) != 0,
                  lent,
                  words_.data(),
                  words_.data() + words_.size()};
  const bool good = answers.Read();
  // Free the batch before the slot can be reused.
  if (last) FreeBatch(message.batch);
  inbox_->Leave(batch.slot, last && good);
  return good || Break("protocol violation: malformed answer");
}

}  // namespace tritonts::python
