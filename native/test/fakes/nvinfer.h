// Shared by the files of the fake TensorRT.
//
// It is built once per version: FAKE_NVINFER_VERSION is the result of getInferLibVersion, and
// FAKE_NVINFER_KIND is "full", "lean", "dispatch" or "rtx"; full and rtx are built with
// FAKE_NVINFER_BUILDS. Calls with undefined behaviour in the real library end the process with a
// reason.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace tritonts::fakes::infer {

inline constexpr std::string_view kKind = FAKE_NVINFER_KIND;
// TensorRT for RTX has its own version numbers; its objects are those of 11.
inline constexpr int kLayout = kKind == "rtx" ? 11 : FAKE_NVINFER_VERSION / 10000;
inline constexpr int kMinor = kKind == "rtx" ? 1 : FAKE_NVINFER_VERSION / 100 % 100;

[[noreturn]] void Die(const std::string& why);

struct Dims {
  int32_t count = -1;
  int64_t d[8] = {};
};

enum Type : int32_t { kFloat, kHalf, kInt8, kInt32, kBool, kUint8, kFp8, kBf16, kInt64, kInt4 };
// The bytes of an element.
size_t SizeOf(int32_t type);

// --- Plans

struct Tensor {
  std::string name;
  bool input = false;
  int32_t type = kFloat;
  bool host = false;
  int32_t format = 0;
  Dims dims;
  // By profile: minimum, optimal and maximum dims; of a shape tensor also values.
  std::vector<std::array<Dims, 3>> profiles;
  std::vector<std::array<Dims, 3>> values;
};

struct Plan {
  int major = 0;  // of the library for which it was built
  bool compatible = false;
  bool without_lean = false;  // it contains no code, so it needs a lean runtime
  std::string plugin;
  std::string op;
  std::string rows;  // the shape tensor whose first value is the number of rows of the other inputs
  std::vector<float> weights;
  std::vector<Tensor> tensors;
  int32_t profiles = 1;
  size_t memory = 1024;  // of a context, for each profile up to its own

  const Tensor& Find(const char* name) const;
};

// Null if the text is not a plan.
std::shared_ptr<const Plan> ReadPlan(const std::string& text);

// --- Objects with the headers' layout: an own table for the destructor, and an implementation.

struct Impl {
  void* const* table;
  void (*destroy)(Impl*);
};
struct Object {
  void* const* own;
  Impl* impl;
};

// Makes an object around an Impl that was created with `new`.
Object* Make(Impl* impl);

// A function's index in the tables of versions 10 and 11, and the minor version of 10 that
// introduced it. -1: not in this table.
struct Place {
  const char* name;
  int in10;
  int in11;
  int since;  // minor version of 10
  void* function;
};
// The table of this version. Calling any other index ends the process.
void* const* TableOf(std::initializer_list<Place> places);
template <typename Function>
void* At(Function* function) {
  return reinterpret_cast<void*>(function);
}

struct Runtime : Impl {
  void* logger = nullptr;
  bool host_code = false;
  int32_t lean = 0;  // the version of the loaded lean runtime that this one forwards to; 0: none
  std::shared_ptr<int> parent_uses;                      // of the runtime that loaded it
  std::shared_ptr<int> uses = std::make_shared<int>(0);  // shared with the objects that it made
};
Runtime* MakeRuntime(void* logger);

struct Engine : Impl {
  void* logger = nullptr;
  const void* device = nullptr;  // the context in which it was created
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<int> runtime_uses;
  std::shared_ptr<int> uses = std::make_shared<int>(0);  // shared with its contexts
};
Engine* MakeEngine(void* logger, std::shared_ptr<const Plan> plan);

struct Context : Impl {
  void* logger = nullptr;
  const void* device = nullptr;
  // The number of batches on a stream, except those of graphs.
  std::shared_ptr<std::atomic<int>> running = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<int> uses;
  bool owns_memory = false;
  uint64_t memory = 0;
  size_t memory_size = 0;
  int32_t profile = 0;
  std::map<std::string, Dims> shapes;
  bool fresh = true;  // no batch was enqueued since a shape was set
  std::map<std::string, uint64_t> addresses;
  std::map<std::string, void*> allocators;
};
Context* MakeContext(const Engine& engine, bool owns_memory);
// The bytes of device memory that a context needs with a profile.
size_t MemoryFor(const Plan& plan, int32_t profile);

// Computes a context's batch on a stream.
bool Compute(Context* self, void* stream);
// The values of a shape tensor whose shape and address are set.
Dims ValuesOf(Context* self, const Tensor& tensor);
// The shape of an output, -1 where it depends on data.
Dims OutputShape(Context* self, const Tensor& tensor);

// --- Other libraries

// Writes to a logger, an object of the caller.
void Log(void* logger, int severity, const char* text);
// A function of the fake CUDA driver; null if the driver is not open.
void* OfDriver(const char* name);
template <typename Function>
Function* Driver(const char* name) {
  return reinterpret_cast<Function*>(OfDriver(name));
}
// Ends the process if this device's context is not current on the calling thread.
void CheckDevice(const void* device, const char* what);
bool HasPlugin(const std::string& name);

extern std::atomic<int> live;  // runtimes, engines and contexts

}  // namespace tritonts::fakes::infer
