#include "contexts.h"

#include <algorithm>
#include <optional>

#include "log.h"

namespace tritonts::tensorrt {

Contexts::~Contexts() {
  for (const OfProfile& one : all_) Delete(one.context);
}

Status Contexts::Make(const std::vector<int32_t>& profiles, device::cuda::Stream stream) {
  const auto& at = engine_->table().context;
  size_t size = 1;
  for (const int32_t profile : profiles) {
    if (profile >= engine_->profiles()) {
      return Status::InvalidArg("instance_group has profile " + std::to_string(profile) +
                                ", but the plan has " + std::to_string(engine_->profiles()) +
                                ", counted from 0");
    }
    size = std::max(size, engine_->MemoryOf(profile));
  }
  Status status = memory_.Reserve(size);
  if (!status.ok()) return status;
  for (const int32_t profile : profiles) {
    auto context = engine_->MakeContext();
    if (!context.ok()) return context.status();
    all_.push_back({profile, context.value()});
    if (at.setDeviceMemoryV2 != kAbsent) {
      Call<void>(context.value(), at.setDeviceMemoryV2, memory_.address(),
                 static_cast<int64_t>(size));
    } else {
      Call<void>(context.value(), at.setDeviceMemory, memory_.address());
    }
    ForgetLog();
    if (!Call<bool>(context.value(), at.setOptimizationProfileAsync, profile, stream))
      return Failure(Code::kInternal, "TensorRT does not take profile " + std::to_string(profile));
  }
  // Setting a profile may enqueue copies.
  return engine_->gpu()->Check(engine_->gpu()->call().StreamSynchronize(stream),
                               "cuStreamSynchronize");
}

StatusOr<Object*> Contexts::Choose(std::span<const Given> inputs) const {
  const OfProfile* chosen = nullptr;
  uint64_t least = 0;
  for (const OfProfile& one : all_) {
    const auto profile = static_cast<size_t>(one.profile);
    uint64_t distance = 0;
    const bool takes = std::all_of(inputs.begin(), inputs.end(), [&](const Given& input) {
      const PlanTensor& tensor = *input.tensor;
      distance += tensor.shapes[profile].DistanceOf(input.shape);
      if (!tensor.shapes[profile].Take(input.shape)) return false;
      if (!tensor.on_host) return true;
      distance += tensor.values[profile].DistanceOf(input.values);
      return tensor.values[profile].Take(input.values);
    });
    if (!takes || (chosen && distance >= least)) continue;
    chosen = &one;
    least = distance;
  }
  if (chosen) return chosen->context;
  return Refuse(inputs);
}

Status Contexts::Refuse(std::span<const Given> inputs) const {
  return MakeStatus([&] {
    // For each profile, the first input that it does not accept.
    std::string text;
    for (const OfProfile& one : all_) {
      const auto profile = static_cast<size_t>(one.profile);
      for (const Given& input : inputs) {
        const PlanTensor& tensor = *input.tensor;
        const bool shape = !tensor.shapes[profile].Take(input.shape);
        if (!shape && (!tensor.on_host || tensor.values[profile].Take(input.values))) continue;
        const Bounds& bounds = shape ? tensor.shapes[profile] : tensor.values[profile];
        text += (text.empty() ? "" : "; ") + std::string("input '") + tensor.name +
                "': the batch has " +
                (shape ? "shape " + TextOf(input.shape) : "the values " + TextOf(input.values)) +
                ", but profile " + std::to_string(one.profile) + " of the plan takes " +
                bounds.Text();
        break;
      }
    }
    return Status::InvalidArg(text);
  });
}

}  // namespace tritonts::tensorrt
