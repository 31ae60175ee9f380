// Calls, as the stub sends them (protocol.h), and where their responses are placed. The stub is
// another process, so every number is validated.
#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "engine/base/clock.h"
#include "engine/request/admission.h"
#include "engine/request/request_builder.h"
#include "engine/server/server.h"
#include "engine/version/check_request.h"
#include "engine/version/shapes.h"
#include "python/call_words.h"
#include "python/channel.h"
#include "python/python_call.h"

namespace tritonts::python {

namespace {

// Limits on this process' memory for calls under way: this many bytes, and this multiple of the
// shared memory that the stub and this process have allocated.
constexpr uint64_t kCallBytes = uint64_t{256} << 20;
constexpr uint64_t kCallTimes = 8;

}  // namespace

uint64_t Channel::Place(std::vector<uint64_t> words, std::span<const OutputTensor> outputs,
                        std::string_view text, std::string_view parameters, std::string* fault) {
  const auto aligned = [](uint64_t size) {
    return (size + kAlignment - 1) / kAlignment * kAlignment;
  };
  uint64_t size = aligned(words.size() * 8) + aligned(text.size()) + aligned(parameters.size());
  for (const OutputTensor& output : outputs) size += aligned(output.size);
  uint64_t place = 0;
  {
    const std::lock_guard lock(segment_->mutex);
    place = segment_->heap.Allocate(size, fault);
    if (place == 0) return 0;
    try {
      answers_.emplace(place, size);
    } catch (const std::bad_alloc&) {
      segment_->heap.Free(place);
      throw;
    }
  }
  // The words are complete before they are copied: the stub may modify shared memory, so nothing is
  // read back from it.
  uint64_t data = place + aligned(words.size() * 8);
  const auto put = [&](size_t at_word, std::string_view bytes) {
    if (bytes.empty()) return;
    words[at_word] = bytes.size();
    words[at_word + 1] = data;
    std::memcpy(segment_->memory.data() + data, bytes.data(), bytes.size());
    data += aligned(bytes.size());
  };
  put(3, text);
  put(5, parameters);
  size_t at = 8;
  for (const OutputTensor& output : outputs) {
    const size_t rank = words[at + 2];
    words[at + 4 + rank] = data;
    if (output.size > 0) std::memcpy(segment_->memory.data() + data, output.data, output.size);
    data += aligned(output.size);
    at += 5 + rank;
  }
  std::memcpy(segment_->memory.data() + place, words.data(), words.size() * 8);
  return place;
}

bool Channel::FreeAnswer(uint64_t place) {
  const std::lock_guard lock(segment_->mutex);
  return answers_.erase(place) > 0 && segment_->heap.Free(place);
}

bool Channel::ChargeCall(uint64_t bytes) {
  const uint64_t used = call_bytes_.fetch_add(bytes) + bytes;
  if (used <= kCallBytes || used <= kCallBytes + kCallTimes * segment_->memory.TakenBytes())
    return true;
  call_bytes_.fetch_sub(bytes);
  return false;
}

void Channel::Forget(uint64_t word) {
  const std::lock_guard lock(calls_mutex_);
  calls_.erase(word);
}

uint32_t Channel::CallerOf(uint32_t number, uint32_t position) {
  uint32_t slot = 0;
  {
    const std::lock_guard lock(segment_->mutex);
    const auto batch = batches_.find(number);
    // The batch has ended before its call came: the call gets no caller.
    if (batch == batches_.end()) return 0;
    slot = batch->second.slot;
    if (position != ~0u && position >= batch->second.requests) return 0;
    const auto known = callers_.find({number, position});
    if (known != callers_.end()) return known->second;
  }
  const uint32_t caller = inbox_->NameCaller(slot, position);
  const std::lock_guard lock(segment_->mutex);
  if (caller != 0) callers_[{number, position}] = caller;
  return caller;
}

bool Channel::OnCallMessage(const Message& message) {
  std::shared_ptr<PythonCall> call;
  {
    const std::lock_guard lock(calls_mutex_);
    const auto known = calls_.find(message.word);
    if (known != calls_.end()) call = known->second;
  }
  const bool cancels = static_cast<Kind>(message.kind) == Kind::kCancel;
  if (!call) {
    if (!IsReply(message.word))
      return Break("protocol violation: a Reply outside the shared memory");
    // The call has ended: tell the waiting thread.
    if (!cancels) Tell(message.word, PythonCall::kEnded);
    return true;
  }
  if (cancels) call->Cancel();
  if (!cancels) call->Next();
  return true;
}

bool Channel::OnCall(const Message& message) {
  if (!IsReply(message.word)) return Break("protocol violation: a Reply outside the shared memory");
  if (!TakeBody(message)) return false;
  auto call = std::make_shared<PythonCall>(shared_from_this(), message.word);
  // The call's objects in this process take several times the size of its words.
  if (!call->Charge(message.size * 8 * kCallTimes)) {
    Tell(message.word, PythonCall::kNoMemory);
    return true;
  }
  CallWords words(words_);
  const auto batch_number = static_cast<uint32_t>(words.Take());
  const auto position = static_cast<uint32_t>(words.Take());
  const auto uid = static_cast<uint32_t>(words.Take());
  const auto revision = static_cast<uint64_t>(words.Take());
  const bool decoupled = words.Take() != 0;
  const std::shared_ptr<Server> server = server_.lock();
  const std::shared_ptr<Executor> executor = server ? server->FindExecutor(uid) : nullptr;
  RequestHeader& header = call->header();
  RequestBuilder builder({&header, call.get(), executor.get(), NowNs()});
  const auto priority = static_cast<uint64_t>(words.Take());
  builder.SetAttributes(priority, static_cast<uint64_t>(words.Take()));
  const auto said = static_cast<uint64_t>(words.Take());
  const auto said_bytes = static_cast<uint64_t>(words.Take());
  if (!words.good() || (said_bytes > 0 && !IsUp(said, said_bytes))) {
    return Break("protocol violation: malformed call");
  }
  if (said_bytes > (uint64_t{16} << 20))
    return Break("protocol violation: more than 16 MiB of parameters in a call");
  const std::string own(segment_->memory.data() + (said_bytes > 0 ? said : 0), said_bytes);
  if (!ReadParameters(own, &builder))
    return Break("protocol violation: malformed parameters of a call");
  for (size_t i = words.TakeCount(); i > 0; i--) {
    builder.Want(static_cast<uint32_t>(words.Take()));
  }
  // As in answers: the address space is far larger than the memory.
  std::optional<uint64_t> left_up;
  for (size_t i = words.TakeCount(); i > 0; i--) {
    const auto index = static_cast<uint32_t>(words.Take());
    const int64_t datatype = words.Take();
    const bool known = datatype > 0 && datatype <= static_cast<int64_t>(DataType::kBf16);
    InputTensor& input =
        builder.AddInput(index, known ? static_cast<DataType>(datatype) : DataType::kInvalid);
    for (size_t rank = words.TakeCount(); rank > 0; rank--) input.shape.push_back(words.Take());
    const auto size = static_cast<uint64_t>(words.Take());
    const auto place = static_cast<uint64_t>(words.Take());
    if (!words.good() || static_cast<int64_t>(input.shape.size()) > kMostDims) {
      return Break("protocol violation: malformed call");
    }
    bool there = IsUp(place, size);
    if (there && size >= kOwnBlock) {
      if (!left_up) left_up = segment_->memory.TakenBytes();
      there = size <= *left_up;
      if (there) *left_up -= size;
    } else if (!there) {
      // The input is an output of an earlier answer or an input of a batch, passed on.
      const std::lock_guard lock(segment_->mutex);
      const auto held = [&](uint64_t begin, uint64_t room) {
        return place >= begin && place - begin <= room && size <= room - (place - begin);
      };
      for (const auto& [begin, room] : answers_) there = there || held(begin, room);
      for (const auto& [key, batch] : batches_) {
        const auto& memory = *static_cast<const BatchMemory*>(batch.memory.get());
        there = there || held(memory.place(), batch.bytes);
        for (const auto& one : memory.inputs()) there = there || held(one.place, one.size);
      }
    }
    if (!there) return Break("protocol violation: an input of a call outside its memory");
    // Strings are validated and then used, so they need memory that the stub cannot modify. All
    // inputs are copied, because they must stay unchanged until the call has ended.
    const BlockRef block =
        call->Charge(size) ? call_pool_.Acquire(size == 0 ? 1 : size) : BlockRef();
    if (!block) {
      Tell(message.word, PythonCall::kNoMemory);
      return true;
    }
    std::memcpy(block->data(), At(place), size);
    builder.Keep(&input, block, size);
  }
  if (!words.good()) return Break("protocol violation: malformed call");
  if (!executor) {
    Tell(message.word, PythonCall::kMoved);
    return true;
  }
  if (!server->IsCurrent(executor->name(), revision)) {
    Tell(message.word, PythonCall::kMoved);
    return true;
  }
  {
    const std::lock_guard lock(calls_mutex_);
    if (calls_.size() >= kMostWaiting)
      return Break("protocol violation: more than 65536 calls at once");
    if (!calls_.emplace(message.word, call).second)
      return Break("protocol violation: two calls with one Reply");
  }
  const ModelIo& io = executor->io();
  Status status = FitToModel(executor->name(), io, &header);
  Request& request = call->request();
  request.header = &header;
  if (status.ok()) status = CheckRequest(executor->name(), io, request);
  if (status.ok() && !decoupled && executor->decoupled()) {
    status = Status::Unsupported("model '" + executor->name() +
                                 "' is decoupled: call it with decoupled=True");
  }
  if (!status.ok()) {
    call->Refuse(status);
    return true;
  }
  builder.Finish();
  const uint32_t number = CallerOf(batch_number, position);
  if (number != 0) {
    builder.CallBy(number, executor->name());
    const Status no_memory = Status::Unavailable(
        Reason::kNoMemory, "model '" + executor->name() + "': no memory for the call");
    Request* one = &request;
    if (Admission(*executor, no_memory).AdmitCalls({&one, 1}) == 0) return true;
  }
  call->Submit(executor, executor->decoupled(), inline_time_);
  return true;
}

}  // namespace tritonts::python
