// NVIDIA's management library, which tells what GPUs do. Like the driver it is opened while the
// process runs, and never closed. Any thread but a JS thread may call it: each call waits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/status.h"

namespace tritonts::device {

// What a GPU does now. What it does not tell is empty: parts of a divided GPU tell little.
struct GpuSample {
  std::optional<double> utilization;  // 0 to 1
  std::optional<uint64_t> memory_total_bytes;
  std::optional<uint64_t> memory_used_bytes;
  std::optional<double> power_watts;
  std::optional<double> power_limit_watts;
  std::optional<double> energy_joules;  // since the GPU's driver was loaded
};

class Nvml {
 public:
  // The name by which the system's loader finds the library.
  static const char* const kFile;
  struct Gpu;  // the library's handle of a GPU

  // Opens and initialises the library in `file`, which stays open. UNAVAILABLE: why it cannot be
  // used.
  static StatusOr<std::shared_ptr<const Nvml>> Open(const std::string& file);

  const std::string& path() const { return path_; }
  // Of the library, and of the driver that it belongs to; "": it does not tell.
  const std::string& version() const { return version_; }
  const std::string& driver_version() const { return driver_version_; }

  // The GPU with this UUID, as the CUDA driver tells it.
  StatusOr<Gpu*> Find(const std::string& uuid) const;
  GpuSample Sample(Gpu* gpu) const;

 private:
  struct Functions;
  struct Utilization;
  struct Memory;
  Nvml() = default;
  std::string Failure(int result, const char* function) const;

  std::shared_ptr<const Functions> functions_;
  std::string path_;
  std::string version_;
  std::string driver_version_;
};

}  // namespace tritonts::device
