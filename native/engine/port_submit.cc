// A port's way in: from the words that JavaScript wrote to requests in their models' queues.
#include <algorithm>
#include <cstring>

#include "clock.h"
#include "model_version.h"
#include "port.h"
#include "server.h"

namespace tritonts {

namespace {

constexpr uint32_t kMostSlots = 1u << 24;

Status Malformed(const char* what) {
  return Status::Internal(std::string("malformed submission: ") + what);
}

// Whether so many parts have the same share of an input of so many rows.
bool HasParts(const InputTensor& input, uint32_t rows, uint32_t parts) {
  return input.datatype != DataType::kBytes && !input.shape.empty() &&
         input.shape[0] == int64_t{rows} && input.chunks.front().size % parts == 0;
}

}  // namespace

Port::Group* Port::GroupOf(uint32_t uid) {
  for (size_t i = 0; i < group_count_; i++) {
    if (groups_[i].uid == uid) return &groups_[i];
  }
  std::shared_ptr<ModelVersion> version;
  const auto known = versions_.find(uid);
  if (known != versions_.end()) {
    version = known->second;
  } else {
    version = server_->FindVersion(uid);
    if (version && !version->started()) version = nullptr;
    if (version) {
      versions_.emplace(uid, version);
    } else if (!server_->Knew(uid)) {
      return nullptr;
    }
  }
  if (group_count_ == groups_.size()) groups_.emplace_back();
  Group* group = &groups_[group_count_++];
  group->uid = uid;
  group->version = std::move(version);
  group->requests.clear();
  return group;
}

char* Port::SlabRange(uint32_t slab, uint32_t offset, uint64_t size,
                      const char* const* slab_sources) const {
  if (slab >= slabs_.size() || offset > layout::kSlabBytes || size > layout::kSlabBytes - offset) {
    return nullptr;
  }
  char* data = static_cast<char*>(slabs_[slab]->data()) + offset;
  if (slab_sources) std::memcpy(data, slab_sources[slab] + offset, size);
  return data;
}

Status Port::ParseInput(const int32_t* words, size_t count, size_t* position,
                        const ModelVersion* version, const char* const* slab_sources,
                        Request* request, uint64_t* bytes) {
  if (*position + 5 > count) return Malformed("an input is cut");
  const int32_t* record = words + *position;
  const auto index = static_cast<uint32_t>(record[0] & 0xffff);
  const int32_t source = record[0] >> 16;
  const auto place = static_cast<uint32_t>(record[1]);
  const auto offset = static_cast<uint32_t>(record[2]);
  const auto size = static_cast<uint32_t>(record[3]);
  const auto rank = static_cast<size_t>(static_cast<uint32_t>(record[4]));
  *position += 5;
  if (rank > count - *position) return Malformed("a shape is cut");
  InputTensor& input = request->AddInput();
  input.index = index;
  input.shape.assign(words + *position, words + *position + rank);
  *position += rank;
  if (version) {
    if (index >= version->io().inputs.size()) return Malformed("an unknown input");
    if (rank == 0 && version->io().max_batch_size > 0) {
      return Malformed("a shape without a batch dimension");
    }
    input.datatype = version->io().inputs[index].datatype;
  }
  Buffer buffer;
  if (source == layout::kSlab) {
    buffer.data = SlabRange(place, offset, size, slab_sources);
    buffer.size = size;
    if (!buffer.data) return Malformed("a range outside of its slab");
  } else if (source == layout::kBlock) {
    if (place >= staged_.size() || !staged_[place]) return Malformed("an unknown block");
    buffer.data = staged_[place]->data();
    // Blocks are rounded up; how much of one is used, the record says.
    buffer.size = (static_cast<uint64_t>(offset) << 32) | size;
    if (buffer.size > staged_[place]->size()) return Malformed("a block that is too small");
    buffer.owner = std::move(staged_[place]);
    free_stages_.push_back(place);
  } else {
    return Malformed("an unknown source");
  }
  *bytes += buffer.size;
  input.chunks.push_back(std::move(buffer));
  return Status::Ok();
}

Request* Port::TakeSlot(uint32_t slot, uint32_t generation, const char** fault) {
  Request* request = RequestOf(slot);
  if (!request) {
    if (slot >= kMostSlots) {
      *fault = "a slot beyond all bounds";
      return nullptr;
    }
    const size_t chunk = slot / kSlotsTogether;
    if (chunk >= slots_.size()) slots_.resize(std::max(chunk + 1, slots_.size() * 2));
    slots_[chunk] = std::make_unique<Request[]>(kSlotsTogether);
    request = RequestOf(slot);
  }
  if (request->state() != Request::State::kIdle) {
    *fault = "a slot that is in use";
    return nullptr;
  }
#if defined(TRITONTS_CHECKS)
  taken_parts_.resize(slots_.size() * kSlotsTogether);
  TRITONTS_ASSERT(taken_parts_[slot] == 0, "a slot was used again before its answers were taken");
  TRITONTS_ASSERT(request->generation != generation, "a request id was used again");
#endif
  request->slot = slot;
  request->generation = generation;
  request->first_part = 0;
  request->set_state(Request::State::kSubmitted);
  return request;
}

Status Port::ParseOne(const int32_t* words, size_t count, size_t* position,
                      const char* const* slab_sources, uint64_t now_ns) {
  if (*position + 7 > count) return Malformed("a record is cut");
  const int32_t* record = words + *position;
  const auto parts = static_cast<uint32_t>(record[3]);
  const auto inputs = static_cast<uint32_t>(record[4]);
  const auto wanted = static_cast<uint32_t>(record[5]);
  const auto rows = static_cast<uint32_t>(record[6]);
  *position += 7;
  Group* group = GroupOf(static_cast<uint32_t>(record[0]));
  if (!group) return Malformed("an unknown model version");
  ModelVersion* version = group->version.get();
  // More than one share the rows: there is a batch dimension, which all inputs have.
  const bool batching = !version || version->io().max_batch_size > 0;
  if (parts == 0 || (parts > 1 && (!batching || rows == 0 || rows % parts != 0))) {
    return Malformed("rows that the parts do not share");
  }
  const char* fault = nullptr;
  Request* request =
      TakeSlot(static_cast<uint32_t>(record[1]), static_cast<uint32_t>(record[2]), &fault);
  if (!request) return Malformed(fault);
  group->requests.push_back(request);
#if defined(TRITONTS_CHECKS)
  taken_parts_[request->slot] = parts;
#endif
  request->sink = this;
  request->version = version;
  request->flush = flushes_;
  request->batch_size = std::max(1u, rows);
  request->parts = parts;
  request->arrival_ns = now_ns;
  request->cancelled.store(false, std::memory_order_relaxed);
  request->ClearInputs();
  uint64_t bytes = version ? version->KnownOutputBytes(request->batch_size) : 0;
  for (uint32_t i = 0; i < inputs; i++) {
    Status status = ParseInput(words, count, position, version, slab_sources, request, &bytes);
    if (!status.ok()) return status;
    if (parts > 1 && !HasParts(request->inputs().back(), rows, parts)) {
      return Malformed("an input that the parts do not share");
    }
  }
  if (wanted > count - *position) return Malformed("a record is cut");
  request->wanted.assign(words + *position, words + *position + wanted);
  *position += wanted;
  request->accounted_bytes = version ? bytes : 0;
  if (version) version->SetShapeKey(request);
  return Status::Ok();
}

Status Port::Parse(const int32_t* words, size_t count, const char* const* slab_sources,
                   uint64_t now_ns) {
  size_t position = 0;
  while (position < count) {
    Status status = ParseOne(words, count, &position, slab_sources, now_ns);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

void Port::DropGroups() {
  for (size_t i = 0; i < group_count_; i++) {
    for (Request* request : groups_[i].requests) {
      request->ClearInputs();
      request->set_state(Request::State::kIdle);
#if defined(TRITONTS_CHECKS)
      taken_parts_[request->slot] = 0;
#endif
    }
    groups_[i].version.reset();
  }
}

void Port::RefuseGone(std::vector<Response>* refused) {
  for (size_t i = 0; i < group_count_; i++) {
    if (groups_[i].version) continue;
    for (Request* request : groups_[i].requests) {
      request->set_state(Request::State::kDone);
      Response response;
      response.request = request;
      response.status = Status::Unavailable("the model's version was unloaded");
      refused->push_back(std::move(response));
    }
    groups_[i].requests.clear();
  }
}

void Port::Charge(std::vector<Response>* refused,
                  std::vector<std::unique_ptr<Request>>* refused_parts) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < group_count_; i++) {
    for (const Request* request : groups_[i].requests) bytes += request->accounted_bytes;
  }
  if (server_->Reserve(bytes)) return;
  // Not all of them: as many as fit, in order.
  const uint64_t limit = server_->max_in_flight_bytes();
  for (size_t i = 0; i < group_count_; i++) {
    std::erase_if(groups_[i].requests, [&](Request* request) {
      const uint64_t each = request->accounted_bytes / request->parts;
      uint32_t fits = 0;
      while (fits < request->parts && server_->Reserve(each)) fits++;
      if (fits == request->parts) return false;
      Request* over = request;
      if (fits > 0) {
        over = refused_parts->emplace_back(std::make_unique<Request>()).get();
        over->TakeParts(request, fits, request->parts - fits);
      }
      const std::string& model = groups_[i].version->name();
      const std::string sizes = std::to_string(each) +
                                " bytes of inputs and outputs; maxInFlightBytes is " +
                                std::to_string(limit);
      Response response;
      response.request = over;
      if (each > limit) {
        response.status = Status::InvalidArg("model '" + model + "': one request needs " + sizes);
      } else {
        response.status = Status::Unavailable(
            "model '" + model + "': too much in flight for one more request of " + sizes);
        response.limited = true;
      }
      over->accounted_bytes = 0;
      over->set_state(Request::State::kDone);
      refused->push_back(std::move(response));
      return fits == 0;
    });
  }
}

Status Port::Submit(const int32_t* words, size_t count, const char* const* slab_sources, bool run,
                    bool* answered) {
  CheckThread();
  const uint64_t now = NowNs();
  flushes_++;
  group_count_ = 0;
  Status status = Parse(words, count, slab_sources, now);
  if (!status.ok()) {
    DropGroups();
    return status;
  }
  uint64_t accepted = 0;
  for (size_t i = 0; i < group_count_; i++) {
    for (const Request* request : groups_[i].requests) accepted += request->parts;
  }
  if (!self_) {
    // Before anything is in flight: nobody else looks at it yet.
    self_ = shared_from_this();
    references_ = 1;
  }
  references_.fetch_add(accepted, std::memory_order_relaxed);
  unanswered_ += accepted;
  running_here_ = run;
  answered_here_ = false;
  std::vector<Response> refused;
  std::vector<std::unique_ptr<Request>> refused_parts;
  RefuseGone(&refused);
  Charge(&refused, &refused_parts);
  InlineTick tick;
  for (size_t i = 0; i < group_count_; i++) {
    if (!groups_[i].requests.empty()) {
      groups_[i].version->Submit(groups_[i].requests, now, run ? &tick : nullptr);
    }
    groups_[i].version.reset();
  }
  if (!refused.empty()) Deliver(refused);
  running_here_ = false;
  if (waiting_since_ns_ == 0) BeginWait(now);
  if (answered) *answered = answered_here_;
  return Status::Ok();
}

}  // namespace tritonts
