// The settings of a model, which TypeScript decides (src/backends/tensorflow/):
//
//   library            path of libtensorflow or libtensorflow_cc
//   format             savedmodel or graphdef
//   tag                the tag of the graph in a SavedModel
//   signature          the signature in it; absent: the default one, or else any
//   intra_op_threads   threads that an operator may use
//   inter_op_threads   threads that run operators side by side; 1: the calling thread runs them
//   session_threads    true: each session has threads of its own
//   share              how many instances have one session
//   init_ops           operations that run once for a session, one on each line
//   operators          paths of libraries with operators of their own, one on each line
//   soft_placement     true: operators may run elsewhere than where the graph says
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace tritonts::tensorflow {

struct Settings {
  std::string library;
  bool graphdef = false;
  std::string tag = "serve";
  std::string signature;
  uint32_t intra_op_threads = 1;
  uint32_t inter_op_threads = 1;
  bool session_threads = false;
  uint32_t share = 1;
  std::vector<std::string> init_ops;
  std::vector<std::string> operators;
  bool soft_placement = true;
};

// INVALID_ARG: a setting is unknown or has a wrong form.
StatusOr<Settings> ReadSettings(const std::map<std::string, std::string>& settings);

}  // namespace tritonts::tensorflow
