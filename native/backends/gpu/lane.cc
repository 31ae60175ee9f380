#include "lane.h"

#include <cstring>
#include <new>
#include <span>

#include "box.h"
#include "engine/request/shape_values.h"

namespace tritonts {

GpuInstance::Lane::Lane(GpuInstance& instance, uint32_t number) : instance_(instance) {
  batch.lane = number;
  for (size_t i = 0; i < instance.model_->inputs.size(); i++)
    batch.inputs.emplace_back(instance.gpu_);
  for (size_t i = 0; i < instance.model_->outputs.size(); i++)
    batch.outputs.emplace_back(instance.gpu_);
}

GpuInstance::Lane::~Lane() {
  // Calls on a lost device fail and free nothing. The process goes on without the device.
  for (const device::cuda::Event event : {inputs_copied, begun, computed, end})
    if (event) (void)instance_.gpu_->call().EventDestroy(event);
}

Status GpuInstance::Lane::Prepare() {
  using namespace device;
  const Gpu& gpu = *instance_.gpu_;
  const auto make = [&](cuda::Event* event, unsigned flags) {
    const Status status = gpu.Check(gpu.call().EventCreate(event, flags), "cuEventCreate");
    if (!status.ok()) *event = nullptr;
    return status;
  };
  Status status;
  if (instance_.model_->max_concurrency > 1) status = make(&inputs_copied, cuda::kWithoutTiming);
  for (cuda::Event* const event : {&begun, &computed, &end})
    if (status.ok()) status = make(event, cuda::kWithTiming);
  return status;
}

void GpuInstance::Lane::Stamp(uint64_t reached_ns) {
  const device::Gpu& gpu = *instance_.gpu_;
  float since_begun = 0;
  float since_computed = 0;
  // Both in milliseconds. If the device gives no times, the run gets only the CPU's times.
  if (gpu.call().EventElapsedTime(&since_begun, begun, end) != 0 ||
      gpu.call().EventElapsedTime(&since_computed, computed, end) != 0) {
    return run->MarkComputed();
  }
  const auto before = [&](float milliseconds) {
    const auto ns = static_cast<uint64_t>(static_cast<double>(milliseconds) * 1e6);
    return ns < reached_ns ? reached_ns - ns : 1;
  };
  run->MarkInputsReady(before(since_begun));
  run->MarkComputed(before(since_computed));
}

void GpuInstance::Lane::Finish(const Status& status, uint64_t reached_ns) {
  Status given = status;
  if (given.ok()) {
    Stamp(reached_ns);
  } else {
    run->MarkComputed();
  }
  try {
    for (uint32_t i = 0; i < batch.outputs.size() && given.ok(); i++)
      given = About("output", instance_.model_->outputs[i].name, GiveOutput(i));
  } catch (const std::bad_alloc&) {
    given = Status::NoMemory();
  }
  instance_.End(*this, given);
}

Status GpuInstance::Lane::GiveOutput(uint32_t index) {
  const Output& output = batch.outputs[index];
  if (!output.wanted) return Status::Ok();
  const GpuModel& model = *instance_.model_;
  if (model.outputs[index].rows_in_values) return GiveShapeValues(index);
  const auto tail = std::span(output.shape).subspan(model.batching ? 1 : 0);
  if (output.tensor) {
    run->SetOutput(index, model.outputs[index].datatype, tail, output.tensor->data(), output.bytes,
                   output.tensor.get());
    return Status::Ok();
  }
  auto place = run->Output(Run::kAll, index, model.outputs[index].datatype, tail);
  if (!place.ok()) return place.status();
  if (output.bytes == 0) return Status::Ok();
  const bool owned_on_host = output.own && IsHostMemory(output.own->kind());
  const void* const from = owned_on_host ? output.own->data() : output.staging->data();
  if (output.computed.empty()) {
    std::memcpy(place.value().data, from, output.bytes);
  } else {
    CopyBox(from, output.computed, place.value().data, output.shape,
            ByteSize(model.outputs[index].datatype));
  }
  return Status::Ok();
}

Status GpuInstance::Lane::GiveShapeValues(uint32_t index) {
  const Output& output = batch.outputs[index];
  const DataType datatype = instance_.model_->outputs[index].datatype;
  const uint32_t rows = run->total_batch_size();
  const size_t size = output.bytes;
  const int64_t found = size > 0 ? ShapeValueAt(output.staging->data(), datatype, 0) : 0;
  if (found != int64_t{rows}) {
    return Status::Internal("the model returned " + std::to_string(found) +
                            " as its first value for a batch of " + std::to_string(rows) + " rows");
  }
  const auto requests = run->requests();
  const BlockRef block = run->pool().Acquire(requests.size() * size);
  if (!block) {
    return Status::Unavailable(
        Reason::kNoMemory, "no memory for " + std::to_string(requests.size() * size) + " bytes");
  }
  auto* values = static_cast<char*>(block->data());
  for (uint32_t i = 0; i < requests.size(); i++, values += size) {
    std::memcpy(values, output.staging->data(), size);
    SetShapeValue(values, datatype, 0, requests[i]->header->batch_size);
    run->SetRequestOutput(i, index, datatype, output.shape, values, size, block.get());
  }
  return Status::Ok();
}

}  // namespace tritonts
