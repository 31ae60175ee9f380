// Watches the GPUs of this process with a thread of its own, because asking the management library
// takes milliseconds, and whoever scrapes metrics must not wait.
//
// The process has one watch, which its servers share. Any thread may call any function.
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
  // `uuids` are the GPUs', by id; `file` is the management library's.
  GpuWatch(std::vector<std::string> uuids, std::string file, std::chrono::milliseconds interval);
  // Joins its thread, unless that is in a call of the library, which may take long: then it is
  // abandoned, and ends after the call.
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  // The process' watch of the GPUs that FindCudaDevices has found. While there is one, that is
  // returned, with the interval that it has. Null: there is no GPU.
  static std::shared_ptr<GpuWatch> Share(std::chrono::milliseconds interval);
  // What the process' watch saw last; empty if there is none.
  static std::vector<GpuSample> Latest();

  // What it saw last, by id; empty before the first look. Energies count from that look on.
  std::vector<GpuSample> samples() const;
  // Why it sees nothing; "": it does, or has not looked yet.
  std::string fault() const;
  // Waits until it has looked as often as this, or sees nothing.
  void AwaitLooks(uint64_t count) const;

 private:
  struct State;
  static void Run(State& state);

  const std::shared_ptr<State> state_;  // shared with the thread
  platform::Thread thread_;
};

}  // namespace tritonts::device
