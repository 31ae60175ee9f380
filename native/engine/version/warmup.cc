#include "engine/version/warmup.h"

#include <algorithm>
#include <cstring>

#include "engine/request/model_io.h"
#include "engine/request/request_builder.h"

namespace tritonts {

namespace {

// The generator xorshift64*. It gives the same bytes at every load, so that a model that has loaded
// once loads again.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }

 private:
  uint64_t state_;
};

void FillRandom(char* data, size_t size, uint64_t seed) {
  Generator generator(seed);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    const uint64_t value = generator.Next();
    std::memcpy(data + at, &value, std::min(sizeof(value), size - at));
  }
}

}  // namespace

WarmupRequests::WarmupRequests(const WarmupSample& sample, Executor* version) {
  uint64_t seed = 0;
  for (const WarmupInput& input : sample.inputs) {
    const std::string name = "input '" + version->io().inputs[input.index].name + "'";
    if (input.given && input.given->size() != input.size) {
      made_ = Status::InvalidArg(name + ": expected " + std::to_string(input.size) +
                                 " bytes but its data has " + std::to_string(input.given->size()));
      return;
    }
    data_.push_back(MakeData(input, ++seed));
    if (data_.back()) continue;
    made_ = Status::Unavailable(
        Reason::kNoMemory, name + ": no memory for its " + std::to_string(input.size) + " bytes");
    return;
  }
  headers_.resize(sample.batch_size);
  for (RequestHeader& header : headers_) {
    RequestBuilder builder({&header, this, version});
    for (size_t i = 0; i < sample.inputs.size(); i++) {
      const WarmupInput& from = sample.inputs[i];
      InputTensor& input = builder.AddInput(from.index, from.datatype);
      input.shape.assign(from.shape.begin(), from.shape.end());
      // Lent, so that no run releases memory that the next run needs.
      builder.Lend(&input, data_[i]->data(), from.size);
    }
    builder.Finish();
    Request& request = owned_.emplace_back();
    request.header = &header;
    requests_.push_back(&request);
  }
}

BlockRef WarmupRequests::MakeData(const WarmupInput& input, uint64_t seed) {
  BlockRef block = pool_.Acquire(std::max(input.size, size_t{1}));
  if (!block) return block;
  char* const data = static_cast<char*>(block->data());
  if (input.data == WarmupInput::Data::kGiven) {
    std::memcpy(data, input.given->data(), input.size);
  } else if (input.data == WarmupInput::Data::kZero || input.datatype == DataType::kBytes) {
    // For BYTES this makes each element's length 0.
    std::memset(data, 0, input.size);
  } else {
    FillRandom(data, input.size, seed);
    // A BOOL byte must be 0 or 1; other values are undefined for runtimes.
    if (input.datatype == DataType::kBool) {
      for (size_t i = 0; i < input.size; i++) data[i] &= 1;
    }
  }
  return block;
}

void WarmupRequests::Prepare(uint64_t now_ns) {
  {
    std::lock_guard lock(mutex_);
    outcome_ = Status::Ok();
  }
  for (RequestHeader& header : headers_) header.arrival_ns = now_ns;
  for (Request* request : requests_) {
    request->Prepare(false);
    request->set_state(Request::State::kQueued);
  }
}

Status WarmupRequests::outcome() const {
  std::lock_guard lock(mutex_);
  return outcome_;
}

void WarmupRequests::Deliver(std::span<const Response> responses) {
  std::lock_guard lock(mutex_);
  for (const Response& response : responses) {
    if (outcome_.ok() && !response.status.ok()) outcome_ = response.status;
    if (response.final && !response.abandoned) response.request->set_state(Request::State::kIdle);
  }
}

}  // namespace tritonts
