// A model's settings for ONNX Runtime. TypeScript writes them as strings. An absent setting means
// the runtime's default; an unknown key is an error.
//
//   library                 path of the runtime's library file
//   open_first              path of another library of the same name, which is opened before this
//                           one and not used: other code in the process may load that name
//   shared_pool             "1": run on the threads that such models share, if there are any.
//                           Not with settings that need threads of the session's own:
//                           intra_op_threads, inter_op_threads, allow_spinning "1" and
//                           execution_mode "1"
//   global_threads          number of shared threads; only the first model's number counts
//   fallback_threads        number of the session's own threads if there are no shared ones
//   intra_op_threads        number of the session's own threads that share one operator's work
//   inter_op_threads        number of the session's own threads that run operators in parallel
//   execution_mode          "0": operators run one after the other, "1": in parallel
//   allow_spinning          "1": the session's own threads spin when they wait, "0": they sleep
//   spin_in_runs            "1": threads of the session's own spin while they wait within a run,
//   and
//                           sleep between runs, if the runtime can bound how long they spin. With
//                           shared_pool, large models get such threads, as far as the process has
//                           some left (pool_threads.h)
//   graph_optimization_level  the runtime's number: "0" none, "1", "2", "3", "99" all
//   enable_cpu_mem_arena    "0" or "1"
//   enable_mem_pattern      "0" or "1"
//   profile_prefix          write a profile to <prefix>_<date>.json when the model is unloaded;
//                           for a session on a GPU to <prefix>_gpu<id>_<date>.json
//   custom_op_libraries     paths of libraries with operators, one a line
//   session_config.<key>    a session configuration entry of the runtime; overrides the above
//   run_config.<key>        a run configuration entry of the runtime
//   devices                 ids of the CUDA devices that instances run on, separated by commas;
//                           -1 is the CPU; absent: the CPU
//   cuda.<key>              an option of the CUDA provider, for sessions on GPUs; not device_id
//   tensorrt                "1": sessions on GPUs use TensorRT for the operators that it supports
//   tensorrt.<key>          an option of the TensorRT provider; not device_id
//   file.<id>, written_dims   as in ../gpu/device_files.h
//   max_concurrency, priority, busy_wait_events, gather_kernel_buffer_threshold
//                           as for plans (backends/tensorrt/tensorrt.h)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../device/gpu.h"
#include "engine/base/status.h"

namespace tritonts::onnxruntime {

// The device id of the CPU.
constexpr int kCpu = -1;

struct Settings {
  std::string library;
  std::string open_first;
  bool shared_pool = false;
  int global_threads = 0;    // 0: the runtime's default
  int fallback_threads = 0;  // 0: the runtime's default
  std::optional<int> intra_op_threads;
  std::optional<int> inter_op_threads;
  std::optional<int> execution_mode;
  std::optional<bool> allow_spinning;
  bool spin_in_runs = false;
  std::optional<int> graph_optimization_level;
  std::optional<bool> enable_cpu_mem_arena;
  std::optional<bool> enable_mem_pattern;
  std::string profile_prefix;
  std::vector<std::string> custom_op_libraries;
  std::vector<std::pair<std::string, std::string>> session_config;
  std::vector<std::pair<std::string, std::string>> run_config;
  std::vector<int> devices = {kCpu};  // at least one, without duplicates
  std::vector<std::pair<std::string, std::string>> cuda;
  bool use_tensorrt = false;
  std::vector<std::pair<std::string, std::string>> tensorrt;
  int max_concurrency = 2;
  device::Gpu::Priority priority = device::Gpu::Priority::kDefault;
  bool busy_wait_events = false;
  int gather_kernel_threshold = 0;

  // Whether the runtime captures CUDA graphs.
  bool cuda_graphs() const;
};

// Reads the settings. INVALID_ARG, with the key and its valid values, if a setting is unknown
// or invalid. Thread-safe.
StatusOr<Settings> ReadSettings(const std::map<std::string, std::string>& strings);

}  // namespace tritonts::onnxruntime
