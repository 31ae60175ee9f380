// What the settings of a plan say (tensorrt.h lists them).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../gpu/gpu_instance.h"
#include "engine/backend.h"
#include "graph_spec.h"

namespace tritonts::tensorrt {

struct Settings {
  std::string library;
  std::vector<int> devices;
  // By instance; never empty lists. An instance beyond the end uses profile 0.
  std::vector<std::vector<int32_t>> profiles;
  bool version_compatible = false;
  std::string lean_runtime;          // a file; "": none. Only if version_compatible
  std::vector<std::string> plugins;  // files
  GraphSettings graphs;
  bool blocking = false;  // each instance has a thread that enqueues its batches
  GpuModel gpu;

  const std::vector<int32_t>& ProfilesOf(uint32_t instance) const;
};

// INTERNAL: what TypeScript should not have written. UNSUPPORTED: there is no GPU among them.
StatusOr<Settings> ReadSettings(const ModelSpec& spec);

}  // namespace tritonts::tensorrt
