// How the tensors of a batch get to the device and leave it.
//
// An input may already be in the memory of a device, such as the output of an ensemble's step. It
// is used in place if it is on this device, and copied from there otherwise. An output stays on the
// device if all its readers accept it there.
#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu_instance.h"

namespace tritonts {

namespace {

// The alignment that TensorRT requires; the driver's allocations have it.
constexpr device::cuda::Address kAlignment = 256;

device::cuda::Address AddressOf(const Buffer& buffer) {
  return reinterpret_cast<device::cuda::Address>(buffer.data);
}

size_t HostBytesOf(const std::vector<Buffer>& parts) {
  size_t bytes = 0;
  for (const Buffer& part : parts) bytes += IsHostMemory(part.kind) ? part.size : 0;
  return bytes;
}

}  // namespace

bool GpuInstance::Takes(uint32_t input, MemoryKind kind, int) const {
  return IsHostMemory(kind) || ReadsOnDevice(input);
}

Status GpuInstance::GatherInput(Batch& batch, uint32_t index) {
  Input& input = batch.inputs[index];
  Gathered& gathered = input.gathered;
  input.in_place = 0;
  Status status = model_->inputs[index].rows_in_values
                      ? GatherShapeValues(*batch.run, index, &gathered)
                      : Gather(*batch.run, index, model_->batching, &gathered, MemoryKind::kPinned,
                               gpu_->id(), Elsewhere::kLeft);
  if (!status.ok()) return status;
  if (!gathered.present && !model_->may_lack_inputs) {
    return Status::InvalidArg("is missing, and the model has no value for it");
  }
  if (gathered.parts.empty()) return status;
  for (const Buffer& part : gathered.parts) {
    if (!Takes(index, part.kind, part.device)) {
      return Status::Internal("is in " + NameOf(part.kind, part.device) +
                              ", which its model does not take");
    }
  }
  const Buffer& first = gathered.parts.front();
  if (gathered.parts.size() == 1 && first.device == gpu_->id() &&
      AddressOf(first) % kAlignment == 0) {
    input.in_place = AddressOf(first);
  }
  return status;
}

Status GpuInstance::EnqueueInput(Input& input, device::cuda::Stream up) {
  if (input.on_host || input.in_place != 0 || !input.gathered.present) return Status::Ok();
  const Buffer& buffer = input.gathered.buffer;
  // Even an empty tensor needs a valid address.
  Status status = input.device.Reserve(std::max<size_t>(1, buffer.size));
  if (!status.ok() || buffer.size == 0) return status;
  if (!input.gathered.parts.empty()) return EnqueueParts(input, up);
  return CopyUp(input.device.address(), buffer.data, buffer.size, up);
}

bool GpuInstance::IsForKernel(const Input& input) const {
  const std::vector<Buffer>& parts = input.gathered.parts;
  return gather_ && parts.size() >= model_->gather_kernel_threshold &&
         std::all_of(parts.begin(), parts.end(), [this](const Buffer& part) {
           return IsHostMemory(part.kind) || part.device == gpu_->id();
         });
}

StatusOr<bool> GpuInstance::GatherByKernel(Input& input, device::cuda::Stream up) {
  using Piece = device::GatherKernel::Piece;
  const std::vector<Buffer>& parts = input.gathered.parts;
  // The staged bytes begin at an alignment that the kernel reads fast.
  const size_t table = (parts.size() * sizeof(Piece) + 15) / 16 * 16;
  BlockRef pinned = gpu_->Pinned(table + HostBytesOf(parts));
  if (!pinned) return Status::NoMemory();
  // The device cannot read other host memory.
  if (pinned->kind() != MemoryKind::kPinned) return false;
  auto* const pieces = static_cast<Piece*>(pinned->data());
  auto* staged = static_cast<char*>(pinned->data()) + table;
  device::cuda::Address to = input.device.address();
  size_t largest = 0;
  for (size_t i = 0; i < parts.size(); i++) {
    const Buffer& part = parts[i];
    device::cuda::Address from = AddressOf(part);
    if (IsHostMemory(part.kind)) {
      std::memcpy(staged, part.data, part.size);
      from = reinterpret_cast<device::cuda::Address>(staged);
      staged += part.size;
    }
    pieces[i] = {from, to, part.size};
    to += part.size;
    largest = std::max(largest, part.size);
  }
  input.gathered.buffer.owner = std::move(pinned);
  const Status status = gather_->Launch(pieces, parts.size(), largest, up);
  if (!status.ok()) return status;
  return true;
}

Status GpuInstance::EnqueueParts(Input& input, device::cuda::Stream up) {
  if (IsForKernel(input)) {
    auto gathered = GatherByKernel(input, up);
    if (!gathered.ok() || gathered.value()) return gathered.status();
  }
  const size_t on_host = HostBytesOf(input.gathered.parts);
  // Parts in host memory are gathered in pinned memory, which the batch keeps.
  char* staged = nullptr;
  if (on_host > 0) {
    input.gathered.buffer.owner = gpu_->Pinned(on_host);
    if (!input.gathered.buffer.owner) return Status::NoMemory();
    staged = static_cast<char*>(input.gathered.buffer.owner->data());
  }
  size_t waiting = 0;  // bytes before `staged` still to be copied to the device
  device::cuda::Address to = input.device.address();
  const auto copy_up = [&] {
    if (waiting == 0) return Status::Ok();
    const Status status = CopyUp(to - waiting, staged - waiting, waiting, up);
    waiting = 0;
    return status;
  };
  Status status;
  for (const Buffer& part : input.gathered.parts) {
    if (IsHostMemory(part.kind)) {
      std::memcpy(staged, part.data, part.size);
      staged += part.size;
      waiting += part.size;
    } else {
      status = copy_up();
      if (status.ok()) {
        status = part.device == gpu_->id() ? CopyAcross(to, AddressOf(part), part.size, up)
                                           : gpu_->CopyFromPeer(to, part, up);
      }
      if (!status.ok()) return status;
    }
    to += part.size;
  }
  return copy_up();
}

Status GpuInstance::CopyUp(device::cuda::Address to, const void* from, size_t size,
                           device::cuda::Stream stream) const {
  return gpu_->Check(gpu_->call().MemcpyHtoDAsync(to, from, size, stream), "cuMemcpyHtoDAsync");
}

Status GpuInstance::CopyAcross(device::cuda::Address to, device::cuda::Address from, size_t size,
                               device::cuda::Stream stream) const {
  return gpu_->Check(gpu_->call().MemcpyDtoDAsync(to, from, size, stream), "cuMemcpyDtoDAsync");
}

void GpuInstance::NoteReaders(Batch& batch, uint32_t index) const {
  Output& output = batch.outputs[index];
  const auto kept = batch.run->kept_outputs();
  output.wanted = std::find(kept.begin(), kept.end(), index) != kept.end();
  // The engine keeps outputs in host memory.
  output.stays = !output.wanted;
  if (output.wanted) return;
  const RequestHeader* header = nullptr;  // of the previous request
  for (const Request* request : batch.run->requests()) {
    if (request->header == header) continue;
    header = request->header;
    if (!header->Wants(index)) continue;
    output.wanted = true;
    if (header->sink->Takes(*request, index, MemoryKind::kDevice, gpu_->id())) continue;
    output.stays = false;
    return;
  }
}

Status GpuInstance::PlaceOutput(Batch& batch, uint32_t index) {
  Output& output = batch.outputs[index];
  NoteReaders(batch, index);
  if (output.on_host) return TakeStaging(output);
  // The output is computed directly in the memory that others will read, if its size is known and
  // the model has not chosen another place.
  if (output.wanted && output.stays && output.bytes > 0 && !output.in_lane)
    return TakeTensor(output);
  return output.device.Reserve(std::max<size_t>(1, output.bytes));
}

Status GpuInstance::EnqueueOutput(Output& output, device::cuda::Stream down) {
  // The model has allocated the output itself.
  if (output.own) output.tensor.reset();
  const bool on_host = output.own ? IsHostMemory(output.own->kind()) : output.on_host;
  if (!output.wanted || output.bytes == 0 || on_host || output.tensor) return Status::Ok();
  const auto address = output.own ? reinterpret_cast<device::cuda::Address>(output.own->data())
                                  : output.device.address();
  if (output.stays && output.computed.empty()) {
    const Status status = TakeTensor(output);
    return status.ok() ? CopyAcross(output.address(), address, output.bytes, down) : status;
  }
  if (Status status = TakeStaging(output); !status.ok()) return status;
  const size_t bytes = output.computed.empty() ? output.bytes : output.computed_bytes;
  return gpu_->Check(gpu_->call().MemcpyDtoHAsync(output.staging->data(), address, bytes, down),
                     "cuMemcpyDtoHAsync");
}

Status GpuInstance::TakeTensor(Output& output) {
  auto tensor = gpu_->Tensor(output.bytes);
  if (tensor.ok()) output.tensor = tensor.take();
  return tensor.status();
}

Status GpuInstance::TakeStaging(Output& output) {
  const size_t bytes = output.computed.empty() ? output.bytes : output.computed_bytes;
  output.staging = gpu_->Pinned(std::max<size_t>(1, bytes));
  if (output.staging) return Status::Ok();
  return Status::Unavailable(Reason::kNoMemory,
                             "no memory for " + std::to_string(bytes) + " bytes");
}

}  // namespace tritonts
