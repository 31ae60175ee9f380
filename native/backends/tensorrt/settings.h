// The parsed settings of a plan (listed in tensorrt.h).
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
  // By instance; no list is empty. Instances beyond the end use profile 0.
  std::vector<std::vector<int32_t>> profiles;
  bool version_compatible = false;
  std::string lean_runtime;          // a file; "": none. Only if version_compatible
  std::vector<std::string> plugins;  // files
  GraphSettings graphs;
  bool blocking = false;  // each instance has its own enqueuing thread
  GpuModel gpu;

  const std::vector<int32_t>& ProfilesOf(uint32_t instance) const;
};

// INTERNAL: invalid settings from TypeScript. UNSUPPORTED: the devices include no GPU.
StatusOr<Settings> ReadSettings(const ModelSpec& spec);

}  // namespace tritonts::tensorrt
