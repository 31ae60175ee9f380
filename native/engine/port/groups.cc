// Parses submission words: each group becomes an array of ordinary requests.
#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "engine/backend.h"
#include "engine/port/port.h"
#include "engine/request/parameter_list.h"
#include "engine/request/request_builder.h"
#include "engine/version/check_request.h"

namespace tritonts {

namespace {

Status Malformed(const char* what) {
  return Status::Internal(std::string("malformed submission: ") + what);
}

// Makes room for `more` elements. The capacity at least doubles when it grows.
template <typename T>
void MakeRoom(std::vector<T>* vector, size_t more) {
  const size_t needed = vector->size() + more;
  if (needed > vector->capacity()) vector->reserve(std::max(needed, 2 * vector->capacity()));
}

// `bytes` has exactly the size of a T.
template <typename T>
T ValueOf(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// The range of a slab that a group uses, from its first byte to its last one.
struct SlabSpan {
  uint32_t slab = 0;
  uint64_t begin = 0;
  uint64_t end = 0;  // 0: the span is empty

  // False: the bytes lie in another slab.
  bool Add(uint32_t number, uint64_t first, uint64_t bytes) {
    if (end > 0 && number != slab) return false;
    begin = end > 0 ? std::min(begin, first) : first;
    slab = number;
    end = std::max(end, first + bytes);
    return true;
  }
  uint64_t range_bytes() const { return end > begin ? RangeBytes(end - begin) : 0; }
};

}  // namespace

Port::VersionRequests* Port::RequestsOf(uint32_t uid) {
  for (size_t i = 0; i < version_count_; i++) {
    if (versions_[i].uid == uid) return &versions_[i];
  }
  std::shared_ptr<Executor> executor;
  const auto known = executors_.find(uid);
  if (known != executors_.end()) {
    executor = known->second;
  } else {
    executor = host_->FindExecutor(uid);
    if (executor) {
      executors_.emplace(uid, executor);
    } else if (!host_->WasGiven(uid)) {
      return nullptr;
    }
  }
  return AddVersion(uid, std::move(executor));
}

Port::VersionRequests* Port::AddVersion(uint32_t uid, std::shared_ptr<Executor> executor) {
  if (version_count_ == versions_.size()) versions_.emplace_back();
  VersionRequests* version = &versions_[version_count_++];
  version->uid = uid;
  version->executor = std::move(executor);
  if (!version->refusal.ok()) version->refusal = Status();
  version->requests.clear();
  version->bytes = 0;
  version->has_calls = false;
  return version;
}

Status Port::ParseInputs(SubmissionReader* reader, const GroupRecord& record,
                         const char* const* slab_sources, const Slots::Slot& slot,
                         RequestBuilder* builder, uint64_t* bytes, Status* refusal) {
  const Executor* const executor = builder->header().executor;
  SlabSpan span;
  uint64_t range_bytes = 0;
  for (uint32_t i = 0; i < record.inputs; i++) {
    InputRecord input;
    if (const char* fault = reader->Input(record, &input)) return Malformed(fault);
    InputTensor& tensor = builder->AddInput(input.index, DataType::kInvalid);
    tensor.shape.assign(input.dims.begin(), input.dims.end());
    if (executor) {
      if (input.index >= executor->io().inputs.size()) return Malformed("unknown input");
      if (input.dims.empty() && executor->io().max_batch_size > 0) {
        return Malformed("shape without a batch dimension");
      }
      tensor.datatype = executor->io().inputs[input.index].datatype;
    }
    if (input.source == layout::kRegion) {
      // The requests of a version that is gone are refused without their bytes.
      if (executor && refusal->ok()) *refusal = ReadRegion(record, input, &tensor, builder, bytes);
    } else if (input.source == layout::kBlock) {
      MakeRoom(&staged_blocks_, 1);
      BlockRef block = inputs_.Take(input.place, record.uid);
      if (!block) return Malformed("unknown block");
      staged_blocks_.push_back({slot.requests.get(), input.place});
      // A block may be larger than the input, because sizes are rounded up.
      if (input.size > block->size()) return Malformed("block smaller than its input");
      *bytes += block->size();
      builder->Keep(&tensor, std::move(block), input.size);
    } else {
      void* const data = inputs_.Range(input, record.requests, slab_sources);
      if (!data) return Malformed("input range outside its slab");
      const uint64_t all = input.size * record.requests;
      if (!span.Add(input.place, input.offset, all)) {
        range_bytes += span.range_bytes();
        span = {};
        span.Add(input.place, input.offset, all);
      }
      builder->Lend(&tensor, data, input.size);
    }
  }
  range_bytes += span.range_bytes();
  const uint64_t share = (range_bytes + record.requests - 1) / record.requests;
  slot.header->range_bytes = static_cast<uint32_t>(share);
  *bytes += share;
  return Status::Ok();
}

Status Port::ParseAttributes(SubmissionReader* reader, const GroupRecord& record,
                             const std::string& model, RequestBuilder* builder, uint64_t* bytes) {
  if (record.attributes == 0) return Status::Ok();
  AttributesReader attributes;
  if (const char* cut = reader->Attributes(record, &attributes)) return Malformed(cut);
  uint64_t priority = 0;
  uint64_t timeout_us = 0;
  uint32_t count = 0;
  if (const char* fault = attributes.Head(&priority, &timeout_us, &count)) return Malformed(fault);
  builder->SetAttributes(priority, timeout_us, count);
  for (; count > 0; count--) {
    ParameterRecord read;
    if (const char* fault = attributes.Parameter(&read)) return Malformed(fault);
    if (read.kind == layout::kCallerParameter) {
      builder->CallBy(static_cast<uint32_t>(ValueOf<int32_t>(read.value)), model);
      continue;
    }
    if (read.kind == layout::kTraceParameter) {
      const auto id = ValueOf<double>(read.value);
      if (id >= 1 && id <= 0x1p53) builder->TraceAs(static_cast<uint64_t>(id));
      continue;
    }
    if (read.kind == layout::kStringParameter) {
      builder->AddParameter(read.name, std::string(read.value));
    } else if (read.kind == layout::kIntegerParameter) {
      builder->AddParameter(read.name, ValueOf<int64_t>(read.value));
    } else if (read.kind == layout::kDoubleParameter) {
      builder->AddParameter(read.name, ValueOf<double>(read.value));
    } else {
      builder->AddParameter(read.name, ValueOf<int32_t>(read.value) != 0);
    }
  }
  const uint64_t parameters = ParameterBytes(builder->header().parameters);
  *bytes += (parameters + record.requests - 1) / record.requests;
  return Status::Ok();
}

Status Port::ParseMarks(SubmissionReader* reader, const GroupRecord& record,
                        RequestBuilder* builder) {
  if (!record.marked) return Status::Ok();
  for (uint32_t position = 0; position < record.requests; position++) {
    MarkRecord read;
    if (const char* cut = reader->Mark(&read)) return Malformed(cut);
    if (read.text.size() > kMostSequenceIdBytes) return Malformed("a correlation id is too long");
    builder->SetSequence(position, read.number, read.text,
                         (read.flags & layout::kSequenceStart) != 0,
                         (read.flags & layout::kSequenceEnd) != 0);
  }
  return Status::Ok();
}

Status Port::ParseGroup(SubmissionReader* reader, const char* const* slab_sources,
                        uint64_t now_ns) {
  GroupRecord record;
  if (const char* fault = reader->Group(&record)) return Malformed(fault);
  VersionRequests* version = RequestsOf(record.uid);
  if (!version) return Malformed("unknown model version");
  Executor* const executor = version->executor.get();
  const size_t before = version->requests.size();
  MakeRoom(&version->requests, record.requests);
  const char* fault = nullptr;
  const Slots::Slot* slot = slots_.Take(record, executor && executor->decoupled(), &fault);
  if (!slot) return Malformed(fault);
  RequestHeader& header = *slot->header;
  RequestBuilder builder({&header, this, executor, now_ns, flushes_, record.requests});
  builder.SetRows(record.rows);
  header.slot = record.slot;
  header.generation = record.generation;
  // Requests that will be refused are not charged.
  const bool charged = executor != nullptr;
  version->requests.resize(before + record.requests);
  Request** next = version->requests.data() + before;
  for (Request& request : slot->all()) {
    request.Prepare(charged);
    if (header.streams) {
      header.streams[request.position].Begin(&budget_.counter(), budget_.limit());
    }
    *next++ = &request;
  }
  uint64_t bytes = executor ? executor->KnownOutputBytes(header.batch_size) : 0;
  Status refusal;
  if (record.targets > 0) {
    if (Status cut = ParseTargets(reader, record, &builder, &refusal); !cut.ok()) return cut;
  }
  Status status = ParseInputs(reader, record, slab_sources, *slot, &builder, &bytes, &refusal);
  if (!status.ok()) return status;
  std::span<const int32_t> wanted;
  if (const char* cut = reader->Wanted(record, &wanted)) return Malformed(cut);
  builder.Want(wanted);
  static const std::string unknown;
  status = ParseAttributes(reader, record, executor ? executor->name() : unknown, &builder, &bytes);
  if (status.ok()) status = ParseMarks(reader, record, &builder);
  if (!status.ok()) return status;
  version->has_calls = version->has_calls || header.call;
  header.accounted_bytes = bytes;
  if (!executor) return Status::Ok();
  if (header.regions && header.regions->reads()) {
    // JavaScript has not seen the bytes.
    for (size_t i = before; i < version->requests.size() && refusal.ok(); i++) {
      refusal = CheckRequest(executor->name(), executor->io(), *version->requests[i]);
    }
  }
  if (!refusal.ok()) {
    RefuseFrom(version, before, refusal);
    return Status::Ok();
  }
  version->bytes = SumBytes(version->bytes, bytes * record.requests);
  builder.Finish();
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
