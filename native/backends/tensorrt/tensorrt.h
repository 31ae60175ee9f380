// Plans of TensorRT, on GPUs.
//
// Settings:
//   library   TensorRT's library, a path or a name that the system looks up
//   devices   ids of the GPUs that instances are on, separated by commas
//   profiles  of the plan, that instances use: by instance, separated by semicolons, each a list of
//             numbers separated by commas. Without it, or beyond its end: 0
//   version_compatible   1: plans that bring code for other versions are read, and their code run
//   lean_runtime   a lean runtime, a path or a name, for such plans that bring no code; only with
//             version_compatible
//   execution_policy   "BLOCKING": each instance has a thread that enqueues its batches. Otherwise
//   a
//             GPU has one for all of its instances but those that may wait there
//   plugins   files of libraries with plugins, one a line
//   graphs    "true": batches of some shapes are recorded as CUDA graphs
//   graph_specs   of which shapes, as graph_spec.h has them. Without it: of Triton's default
//   preferred_batch_sizes   of the dynamic batcher, for that default; separated by commas
//   file.<id>, written_dims   as ../gpu/device_files.h has them
// and, as ../gpu/gpu_instance.h has them, each of which may be left out:
//   max_concurrency    batches of an instance under way
//   busy_wait_events   "true": the end of batches is waited for actively
//   output_copy_stream   "true": copies back have a stream of their own with one lane, too
//   gather_kernel_buffer_threshold   from so many pieces on a kernel gathers an input on the device
//   priority           "max" or "min": of the streams
#pragma once

#include <map>
#include <string>

#include "engine/backend.h"

namespace tritonts {

class TensorRtBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  // Enqueueing may wait for the driver.
  bool may_run_on_js_thread() const override { return false; }
};

// Opens the library alone. Returns "library" and "version".
StatusOr<std::map<std::string, std::string>> OpenTensorRt(
    const std::map<std::string, std::string>& settings);

}  // namespace tritonts
