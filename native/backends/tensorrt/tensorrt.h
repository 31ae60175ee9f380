// The backend for TensorRT plans, on GPUs.
//
// Settings:
//   library   TensorRT's library, a path or a name that the system resolves
//   devices   ids of the instances' GPUs, separated by commas
//   profiles  the plan's profiles that instances use: by instance, separated by semicolons, each a
//             list of numbers separated by commas. Default, also beyond the end: 0
//   version_compatible   1: accept plans with host code for other versions, and run that code
//   lean_runtime   a lean runtime, a path or a name, for such plans without host code; only with
//             version_compatible
//   execution_policy   "BLOCKING": each instance has a thread that enqueues its batches. Otherwise
//             the instances of a GPU share one, except for those that may block while enqueuing
//   plugins   files of plugin libraries, one per line
//   graphs    "true": record batches of some shapes as CUDA graphs
//   graph_specs   the shapes, in the format of graph_spec.h. Default: Triton's
//   preferred_batch_sizes   of the dynamic batcher, for that default; separated by commas
//   file.<id>, written_dims   as in ../gpu/device_files.h
// Optional settings, as in ../gpu/gpu_instance.h:
//   max_concurrency    batches of an instance under way
//   busy_wait_events   "true": spin until a batch has ended
//   output_copy_stream   "true": a separate stream for copies back even with one lane
//   gather_kernel_buffer_threshold   minimum number of pieces for gathering by a kernel
//   priority           "max" or "min": of the streams
#pragma once

#include <map>
#include <string>

#include "engine/backend.h"

namespace tritonts {

class TensorRtBackend final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override;
  StatusOr<std::map<std::string, std::string>> OpenRuntime(
      const std::map<std::string, std::string>& settings) override;
  // Enqueuing may wait for the driver.
  bool may_run_on_js_thread() const override { return false; }
};

namespace tensorrt {
// As in backends/find_backend.h.
Backend* MakeBackend();
}  // namespace tensorrt

}  // namespace tritonts
