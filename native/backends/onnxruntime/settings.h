// What a model's settings ask of ONNX Runtime. They are strings, decided in TypeScript; what is
// absent is left to the runtime's default, and an unknown key is an error.
//
//   library                 path of the runtime's library file
//   open_first              path of a library of the same name that others in the process may want
//   by
//                           that name; it is opened before, and not used
//   shared_pool             "1": run on the threads that all such models share, if there are any;
//                           not together with intra_op_threads, inter_op_threads, allow_spinning
//                           "1" or execution_mode "1", which need threads of the session's own
//   global_threads          threads of that shared pool; only the first model's number counts
//   fallback_threads        threads of the session's own where no shared pool can be had
//   intra_op_threads        threads of the session's own that share the work of one operator
//   inter_op_threads        threads of the session's own that run operators side by side
//   execution_mode          "0" one operator after the other, "1" side by side
//   allow_spinning          "1": the session's own threads wait actively for work, "0": they sleep
//   graph_optimization_level  the runtime's number: "0" none, "1", "2", "3", "99" all
//   enable_cpu_mem_arena    "0" or "1"
//   enable_mem_pattern      "0" or "1"
//   profile_prefix          write a profile to <prefix>_<date>.json when the model is unloaded;
//                           for a session on a device <prefix>_gpu<id>_<date>.json
//   custom_op_libraries     paths of libraries with operators, one a line
//   session_config.<key>    a session configuration entry of the runtime; overrides the above
//   run_config.<key>        a run configuration entry of the runtime
//   devices                 ids of the CUDA devices that instances run on, with commas between;
//                           -1 is the CPU; absent: the CPU
//   cuda.<key>              an option of the CUDA provider, which sessions on devices have; not
//                           device_id
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace tritonts::onnxruntime {

// The CPU among the ids of devices.
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
  std::optional<int> graph_optimization_level;
  std::optional<bool> enable_cpu_mem_arena;
  std::optional<bool> enable_mem_pattern;
  std::string profile_prefix;
  std::vector<std::string> custom_op_libraries;
  std::vector<std::pair<std::string, std::string>> session_config;
  std::vector<std::pair<std::string, std::string>> run_config;
  std::vector<int> devices = {kCpu};  // at least one, each once
  std::vector<std::pair<std::string, std::string>> cuda;
};

// INVALID_ARG, with the key and what it takes, for a setting that is unknown or makes no sense.
StatusOr<Settings> ReadSettings(const std::map<std::string, std::string>& strings);

}  // namespace tritonts::onnxruntime
