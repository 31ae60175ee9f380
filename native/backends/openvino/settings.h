// The settings of a model, which TypeScript decides (src/backends/openvino/):
//
//   library      path of libopenvino_c
//   device       the device, such as CPU
//   properties   lines KEY=VALUE for compiling
//   extension    a library of operators
//   padding      true: a model that takes only full batches gets rows of zeros
//   reshape      true: the model gets the dims of the configuration
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace tritonts::openvino {

struct Settings {
  std::string library;
  std::string device = "CPU";
  std::vector<std::pair<std::string, std::string>> properties;
  std::string extension;
  bool padding = false;
  bool reshape = false;
};

// INVALID_ARG: a setting is unknown or has a wrong form.
StatusOr<Settings> ReadSettings(const std::map<std::string, std::string>& settings);

}  // namespace tritonts::openvino
