// NVIDIA's management library, which reports the state of GPUs. Like the driver it is opened at run
// time and never closed. Thread-safe, but not for JS threads: each call blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/status.h"

namespace tritonts::device {

// The state of a GPU. Values that the library does not report are empty: MIG parts report little.
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
  // The library's name for the system's loader.
  static const char* const kFile;
  struct Gpu;  // the library's handle of a GPU

  // Opens and initialises the library in `file`, which stays open. UNAVAILABLE, with the reason, if
  // it cannot be used.
  static StatusOr<std::shared_ptr<const Nvml>> Open(const std::string& file);

  const std::string& path() const { return path_; }
  // The versions of the library and of its driver; "": not reported.
  const std::string& version() const { return version_; }
  const std::string& driver_version() const { return driver_version_; }

  // Returns the GPU with this UUID, as reported by the CUDA driver.
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
