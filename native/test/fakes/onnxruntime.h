// Shared by the files of the fake ONNX Runtime.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tritonts::fakes::ort {

using Function = void (*)();

// The functions of the real library.
extern const Function* real_table;

template <typename Result = void*, typename... Parameters>
Result Real(size_t index, Parameters... parameters) {
  return reinterpret_cast<Result (*)(Parameters...)>(real_table[index])(parameters...);
}

// Creates a status of the real library.
void* Fail(int code, const std::string& text);
// Ends the process.
[[noreturn]] void Die(const std::string& why);

// A function of the fake CUDA driver.
template <typename Function>
Function* Driver(const char* name);
void* OfDriver(const char* name);
template <typename Function>
Function* Driver(const char* name) {
  return reinterpret_cast<Function*>(OfDriver(name));
}

// The options of a session with the CUDA provider.
struct Place {
  int device = 0;
  void* stream = nullptr;
  bool graphs = false;
  uint64_t weights = 0;  // address of their memory
};

struct State {
  std::mutex mutex;                                                // guards all
  std::map<const void*, Place> options;                            // by session options
  std::map<void*, Place, std::less<>> sessions;                    // by session
  std::map<const void*, std::map<std::string, std::string>> runs;  // by run options
  int live = 0;  // number of provider options, bindings, and tensors in the runtime's memory
};
State& Here();

// Replaces functions of the real table.
void ReplaceProviders(Function* table);
void ReplaceRuns(Function* table);

template <typename Function>
ort::Function At(Function* function) {
  return reinterpret_cast<ort::Function>(function);
}

}  // namespace tritonts::fakes::ort
