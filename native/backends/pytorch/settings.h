// The settings of a model, which TypeScript decides (src/backends/pytorch/):
//
//   library      path of libtorch's library, for messages
//   shim         path of the shim that was built for it
//   cores        threads of one operation where no model says another number
//   intra_op     threads of one operation, for the process; 0: not written
//   inter_op     threads for operations side by side, for the process; 0: not written
//   inference    false: without inference mode
//   optimize     false: the graph executor does not optimise
//   share        true: all instances share one module
//   executor, profiling, fuser   switches of the process, true or false
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/base/status.h"

namespace tritonts::pytorch {

struct Settings {
  std::string library;
  std::string shim;
  int32_t cores = 0;  // 0: libtorch's own number
  int32_t intra_op = 0;
  int32_t inter_op = 0;
  bool inference = true;
  bool optimize = true;
  bool share = false;
  std::optional<bool> executor;
  std::optional<bool> profiling;
  std::optional<bool> fuser;
};

// INVALID_ARG: a setting is unknown or has a wrong form.
StatusOr<Settings> ReadSettings(const std::map<std::string, std::string>& settings);

}  // namespace tritonts::pytorch
