// The settings of a model of trees, which src/backends/fil/ writes:
//   model_type       xgboost, xgboost_json, xgboost_ubj, lightgbm or treelite_checkpoint
//   is_classifier    true: the output is a class, or with predict_proba the values of all classes
//   predict_proba    true: probabilities of the classes
//   threshold        a classifier with one column answers 1 for a greater value (0.5)
//   treeshap_output  true: the model has this output
//   output_columns   the last dim of output__0, if it was written
//   cpu_nthread      the most threads of a batch; 0 or less: one for each core
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/base/status.h"
#include "read_forest.h"

namespace tritonts::fil {

struct Settings {
  Format format = Format::kXgboostLegacy;
  bool is_classifier = false;
  bool predict_proba = false;
  bool treeshap_output = false;
  float threshold = 0.5F;
  int64_t output_columns = 0;  // 0: not written
  int64_t threads = 0;         // 0: one for each core
};

// INVALID_ARG or UNSUPPORTED: the message names the setting.
StatusOr<Settings> ReadSettings(const std::map<std::string, std::string>& settings);

}  // namespace tritonts::fil
