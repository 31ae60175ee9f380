// From the words that JavaScript wrote to requests: each group's become an array of ordinary ones.
#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "engine/port/port.h"
#include "engine/running/model_version.h"
#include "engine/server/server.h"

namespace tritonts {

namespace {

Status Malformed(const char* what) {
  return Status::Internal(std::string("malformed submission: ") + what);
}

// Makes room for `more` in one go, and in steps that double.
template <typename T>
void MakeRoom(std::vector<T>* vector, size_t more) {
  const size_t needed = vector->size() + more;
  if (needed > vector->capacity()) vector->reserve(std::max(needed, 2 * vector->capacity()));
}

// What a group takes of a slab: from the first of its bytes there to the last.
struct SlabSpan {
  uint32_t slab = 0;
  uint64_t begin = 0;
  uint64_t end = 0;  // 0: nothing

  // False: it is another slab.
  bool Add(uint32_t number, uint64_t first, uint64_t bytes) {
    if (end > 0 && number != slab) return false;
    begin = end > 0 ? std::min(begin, first) : first;
    slab = number;
    end = std::max(end, first + bytes);
    return true;
  }
  uint64_t range_bytes() const { return end > begin ? RangeBytes(end - begin) : 0; }
};

// Whether a request has the chunks of so many inputs; who is through with one early has let go of
// all of them.
bool HasInputs(const Request& request, size_t inputs) {
  const auto tensors = request.inputs();
  return tensors.size() == inputs && (inputs == 0 || !tensors.front().chunks.empty());
}

// Input number `i` of these requests, which they have already, lies somewhere else now.
void Move(std::span<Request> group, uint32_t i, Buffer buffer) {
  for (Request& request : group) {
    request.inputs()[i].chunks.front() = buffer;
    buffer.data = static_cast<char*>(buffer.data) + buffer.size;
  }
}

}  // namespace

Port::Tick* Port::TickOf(uint32_t uid) {
  for (size_t i = 0; i < tick_count_; i++) {
    if (ticks_[i].uid == uid) return &ticks_[i];
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
  return AddTick(uid, std::move(version));
}

Port::Tick* Port::AddTick(uint32_t uid, std::shared_ptr<ModelVersion> version) {
  if (tick_count_ == ticks_.size()) ticks_.emplace_back();
  Tick* tick = &ticks_[tick_count_++];
  tick->uid = uid;
  tick->version = std::move(version);
  tick->requests.clear();
  return tick;
}

Status Port::ParseInputs(SubmissionReader* reader, const GroupRecord& record,
                         const ModelVersion* version, const char* const* slab_sources,
                         std::span<Request> group, size_t prepared, uint64_t* bytes) {
  SlabSpan span;
  uint64_t range_bytes = 0;
  for (uint32_t i = 0; i < record.inputs; i++) {
    InputRecord input;
    if (const char* fault = reader->Input(record, &input)) return Malformed(fault);
    DataType datatype = DataType::kInvalid;
    if (version) {
      if (input.index >= version->io().inputs.size()) return Malformed("an unknown input");
      if (input.dims.empty() && version->io().max_batch_size > 0) {
        return Malformed("a shape without a batch dimension");
      }
      datatype = version->io().inputs[input.index].datatype;
    }
    Buffer buffer;
    buffer.size = input.size;
    if (input.in_block) {
      MakeRoom(&tick_blocks_, 1);
      BlockRef block = inputs_.Take(input.place);
      if (!block) return Malformed("an unknown block");
      tick_blocks_.push_back({group.data(), input.place});
      // Blocks are rounded up; how much of one is used, the record says.
      if (input.size > block->size()) return Malformed("a block that is too small");
      *bytes += block->size();
      buffer.data = block->data();
      buffer.owner = std::move(block);
    } else {
      buffer.data = inputs_.Range(input, record.requests, slab_sources);
      if (!buffer.data) return Malformed("a range outside of its slab");
      const uint64_t all = input.size * record.requests;
      if (!span.Add(input.place, input.offset, all)) {
        range_bytes += span.range_bytes();
        span = {};
        span.Add(input.place, input.offset, all);
      }
    }
    // The number may stand for another slab by now.
    if (prepared > 0 && group.front().inputs()[i].chunks.front().data != buffer.data) {
      Move(group.first(prepared), i, buffer);
    }
    if (prepared == group.size()) continue;
    buffer.data = static_cast<char*>(buffer.data) + prepared * input.size;
    for (Request& request : group.subspan(prepared)) {
      InputTensor& tensor = request.AddInput();
      tensor.index = input.index;
      tensor.datatype = datatype;
      tensor.shape.assign(input.dims.begin(), input.dims.end());
      tensor.chunks.push_back(buffer);
      buffer.data = static_cast<char*>(buffer.data) + input.size;
    }
  }
  range_bytes += span.range_bytes();
  const uint64_t share = (range_bytes + group.size() - 1) / group.size();
  for (Request& request : group) request.range_bytes = static_cast<uint32_t>(share);
  *bytes += share;
  return Status::Ok();
}

Status Port::ParseGroup(SubmissionReader* reader, const char* const* slab_sources,
                        uint64_t now_ns) {
  GroupRecord record;
  // What is the same for groups that are alike: all words but the first four, which name it.
  constexpr size_t kNames = 4;
  const std::span<const int32_t> words = reader->words();
  if (const char* fault = reader->Group(&record)) return Malformed(fault);
  Tick* tick = TickOf(record.uid);
  if (!tick) return Malformed("an unknown model version");
  ModelVersion* version = tick->version.get();
  MakeRoom(&tick->requests, record.requests);
  const char* fault = nullptr;
  Slots::Slot* slot = slots_.Take(record, &fault);
  if (!slot) return Malformed(fault);
  const std::span<Request> group = slot->all();
  const bool same = version && slot->prepared > 0 && slot->prepared_uid == record.uid &&
                    words.size() >= kNames + slot->words.size() &&
                    std::equal(slot->words.begin(), slot->words.end(), words.begin() + kNames);
  size_t prepared = same ? std::min<size_t>(slot->prepared, group.size()) : 0;
  const uint32_t known = same ? slot->prepared : 0;
  slot->prepared = 0;  // until it is known to be right
  for (size_t i = 0; i < group.size(); i++) {
    Request& request = group[i];
    request.generation = record.generation;
    request.flush = flushes_;
    request.arrival_ns = now_ns;
    request.unserved = false;
    request.cancelled.store(false, std::memory_order_relaxed);
    request.set_state(Request::State::kSubmitted);
    tick->requests.push_back(&request);
    if (i < prepared) {
      if (HasInputs(request, record.inputs)) continue;
      prepared = i;
    }
    request.slot = record.slot;
    request.position = static_cast<uint32_t>(i);
    request.sink = this;
    request.version = version;
    request.batch_size = std::max(1u, record.rows);
    request.ClearInputs();
  }
  uint64_t bytes = version ? version->KnownOutputBytes(std::max(1u, record.rows)) : 0;
  const size_t blocks = tick_blocks_.size();
  Status status = ParseInputs(reader, record, version, slab_sources, group, prepared, &bytes);
  if (!status.ok()) return status;
  std::span<const int32_t> wanted;
  if (const char* cut = reader->Wanted(record, &wanted)) return Malformed(cut);
  // Nothing is counted of what is not to run.
  for (Request& request : group) request.accounted_bytes = version ? bytes : 0;
  if (!version) {
    for (Request& request : group) request.range_bytes = 0;
    return Status::Ok();
  }
  if (prepared < group.size()) {
    const std::span<Request> others = group.subspan(prepared);
    version->SetShapeKey(&others.front());
    for (Request& request : others) {
      request.wanted.assign(wanted.begin(), wanted.end());
      if (&request != others.data()) request.shape_key = others.front().shape_key;
    }
  }
  // Blocks are not the slot's.
  if (tick_blocks_.size() > blocks) return Status::Ok();
  if (!same) {
    const size_t length = words.size() - reader->words().size();
    slot->words.assign(words.begin() + kNames, words.begin() + static_cast<ptrdiff_t>(length));
    slot->prepared_uid = record.uid;
  }
  slot->prepared = std::max(known, static_cast<uint32_t>(group.size()));
  return Status::Ok();
}

Status Port::Parse(SubmissionReader reader, const char* const* slab_sources, uint64_t now_ns) {
  while (!reader.done()) {
    Status status = ParseGroup(&reader, slab_sources, now_ns);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace tritonts
