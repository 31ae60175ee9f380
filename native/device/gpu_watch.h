// Samples the GPUs of this process on a separate thread: the management library's calls take
// milliseconds, for which a scrape of the metrics must not wait.
//
// The process has one watch, shared by its servers. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "../platform/thread.h"
#include "nvml.h"

namespace tritonts::device {

class GpuWatch {
 public:
  // `uuids`: of the GPUs, by id. `file`: the management library.
  GpuWatch(std::vector<std::string> uuids, std::string file, std::chrono::milliseconds interval);
  // Joins its thread, unless that is in a call of the library, which may take long: then the thread
  // is abandoned, and ends after the call.
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // Returns the process' watch of the GPUs that FindCudaDevices has found. An existing watch keeps
  // its interval. Null if there is no GPU.
  static std::shared_ptr<GpuWatch> Share(std::chrono::milliseconds interval);
  // The latest samples of the process' watch; empty if there is none.
  static std::vector<GpuSample> Latest();

  // The latest samples, by id; empty before the first look. Energies count from the first look.
  std::vector<GpuSample> samples() const;
  // Why the watch gets no samples; "": it does, or has not looked yet.
  std::string fault() const;
  // Waits until the watch has looked `count` times, or gets no samples.
  void AwaitLooks(uint64_t count) const;

 private:
  struct State;
  static void Run(State& state);

  const std::shared_ptr<State> state_;  // shared with the thread
  platform::Thread thread_;
};

}  // namespace tritonts::device
