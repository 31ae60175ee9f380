// Sources and targets of a port's requests that are regions (memory/region.h).
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "engine/backend.h"
#include "engine/base/datatype.h"
#include "engine/port/port.h"
#include "engine/request/admission.h"
#include "engine/request/region_use.h"
#include "engine/request/request_builder.h"

namespace tritonts {

namespace {

// Whether a tensor of a shape may have so many bytes. CheckRequest checks the rest.
bool MayFit(DataType datatype, std::span<const int64_t> shape, uint64_t size) {
  uint64_t count = std::ranges::find(shape, 0) != shape.end() ? 0 : 1;
  for (const int64_t dim : shape) {
    if (dim < 0 || (count > 0 && count > size / static_cast<uint64_t>(dim))) return false;
    count *= static_cast<uint64_t>(dim);
  }
  if (size > kMostTensorBytes) return false;
  // Each element of a BYTES tensor begins with its length.
  return datatype == DataType::kBytes ? count <= size / 4 : count * ByteSize(datatype) == size;
}

bool AreFlags(const Buffer& bytes) {
  const auto* const data = static_cast<const unsigned char*>(bytes.data);
  return std::all_of(data, data + bytes.size, [](unsigned char byte) { return byte <= 1; });
}

}  // namespace

StatusOr<Buffer> Port::RangeOf(uint32_t region, uint64_t offset, uint64_t size_of_one,
                               uint32_t requests, std::shared_ptr<const Region>* found) const {
  *found = host_->regions().Find(region);
  if (!*found) {
    return Status::NotFound("shared memory region " + std::to_string(region) +
                            " is not registered, but a request names " +
                            std::to_string(size_of_one) + " bytes at its offset " +
                            std::to_string(offset));
  }
  // A size that overflows is larger than any region.
  const bool huge = size_of_one > UINT64_MAX / requests;
  return (*found)->Range(offset, huge ? UINT64_MAX : size_of_one * requests);
}

Status Port::ParseTargets(SubmissionReader* reader, const GroupRecord& record,
                          RequestBuilder* builder, Status* refusal) {
  const Executor* const executor = builder->header().executor;
  for (uint32_t i = 0; i < record.targets; i++) {
    TargetRecord target;
    const char* fault = reader->Target(&target);
    if (!fault && executor && target.output >= executor->io().outputs.size()) {
      fault = "unknown output";
    }
    if (!fault && executor && builder->header().regions && builder->regions().Aims(target.output)) {
      fault = "an output with two targets";
    }
    if (fault) return Status::Internal(std::string("malformed submission: ") + fault);
    if (!executor || !refusal->ok()) continue;
    std::shared_ptr<const Region> region;
    auto range = RangeOf(target.region, target.offset, target.capacity, record.requests, &region);
    *refusal = range.status();
    if (!refusal->ok()) continue;
    Buffer place = range.take();
    place.size = static_cast<size_t>(target.capacity);
    builder->WriteTo(target.output, std::move(place));
    builder->regions().Keep(std::move(region));
  }
  return Status::Ok();
}

Status Port::ReadRegion(const GroupRecord& record, const InputRecord& input, InputTensor* tensor,
                        RequestBuilder* builder, uint64_t* bytes) {
  const Executor& executor = *builder->header().executor;
  const TensorSpec& spec = executor.io().inputs[input.index];
  std::shared_ptr<const Region> region;
  auto found = RangeOf(input.place, input.offset, input.size, record.requests, &region);
  if (!found.ok()) return found.status();
  Buffer range = found.take();
  // Others may write to a region at any time, and a model's output may go there. So values that are
  // checked before they are used, and ranges that outputs go to, are copied. So are ranges that the
  // model cannot read in place; senders avoid that for memory of GPUs, for which this thread would
  // wait. Whether an output goes to an aliased region cannot be seen. A device's region gets the
  // outputs of a request only after that has run, but maybe before another request of its group.
  const bool may_change =
      (region->aliased() && builder->regions().writes()) ||
      ((IsHostMemory(range.kind) || record.requests > 1) && builder->regions().Overlaps(range));
  const bool in_place = !may_change && ReadsInPlace(executor, input.index, range);
  if (!in_place && MayFit(spec.datatype, tensor->shape, input.size)) {
    const uint64_t copied = SumBytes(copied_, range.size);
    if (SumBytes(budget_.used(), copied) > budget_.limit()) {
      return Admission(executor, no_memory_).BeyondLimit(budget_, input.size);
    }
    copied_ = copied;
    BlockRef block = inputs_.Acquire(range.size);
    if (!block) return no_memory_;
    Buffer copy{block->data(), range.size, MemoryKind::kHost, 0, block};
    if (Status status = CopyBytes(range, copy); !status.ok()) {
      return status.With("model '" + executor.name() + "', input '" + spec.name +
                         "': " + status.message());
    }
    if (Status status = region->CheckWhole(); !status.ok()) return status;
    if (spec.datatype == DataType::kBool && !AreFlags(copy)) {
      return Status::InvalidArg("model '" + executor.name() + "', input '" + spec.name +
                                "': expected a byte of 0 or 1 for each BOOL, but the region has "
                                "another one");
    }
    *bytes += (block->size() + record.requests - 1) / record.requests;
    range = std::move(copy);
  }
  builder->Read(tensor, range, static_cast<size_t>(input.size));
  if (in_place) builder->regions().Keep(std::move(region));
  return Status::Ok();
}

void Port::RefuseFrom(VersionRequests* version, size_t first, const Status& refusal) {
  const auto number = static_cast<size_t>(version - versions_.data());
  VersionRequests* const refused = AddVersion(version->uid, nullptr);
  VersionRequests& all = versions_[number];  // AddVersion may have moved it
  const auto begin = all.requests.begin() + static_cast<ptrdiff_t>(first);
  refused->requests.assign(begin, all.requests.end());
  refused->refusal = refusal;
  all.requests.erase(begin, all.requests.end());
  for (Request* request : refused->requests) request->charged = false;
}

Buffer Port::Place(const Request& request, uint32_t output, size_t size, MemoryKind) {
  const RegionUse* const regions = request.header->regions.get();
  return regions ? regions->Place(request, output, size) : Buffer();
}

bool Port::Takes(const Request& request, uint32_t output, MemoryKind kind, int device) const {
  if (IsHostMemory(kind)) return true;
  const RegionUse* const regions = request.header->regions.get();
  return regions && kind == MemoryKind::kDevice && regions->TakesOnDevice(output, device);
}

}  // namespace tritonts
