// Kernels of the fake driver. It implements two PTX texts: add_one, of the program in test/gpu, and
// gather, of device/gather_kernel.cc.
#include <cstring>

#include "cuda_state.h"

using namespace tritonts::fakes;

namespace {

constexpr int kNotFound = 500;

// A module has one kernel; the address of its name serves as the handle of both.
constexpr const char* kKernels[] = {"add_one", "gather"};
std::atomic<int> modules{0};

const char* const* KernelOf(const char* text) {
  for (const char* const& name : kKernels)
    if (std::strstr(text, (".entry " + std::string(name) + "(").c_str())) return &name;
  return nullptr;
}

// Returns the address through which a kernel accesses its device's memory or pinned memory.
char* Reachable(uint64_t address, size_t size) {
  State& state = Here();
  {
    const std::lock_guard lock(state.mutex);
    auto found = state.pinned.upper_bound(reinterpret_cast<void*>(address));
    if (found != state.pinned.begin()) {
      --found;
      const auto begin = reinterpret_cast<uint64_t>(found->first);
      if (address >= begin && address + size <= begin + found->second)
        return reinterpret_cast<char*>(address);
    }
  }
  return ShadowOf("a kernel", address, size);
}

struct Piece {
  uint64_t from;
  uint64_t to;
  uint64_t size;
};

void Gather(const Piece* pieces, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    std::memcpy(Reachable(pieces[i].to, pieces[i].size), Reachable(pieces[i].from, pieces[i].size),
                pieces[i].size);
  }
}

int AddOne(unsigned blocks, unsigned threads, Stream* stream, void** arguments) {
  uint64_t to = 0;
  uint64_t from = 0;
  uint32_t count = 0;
  std::memcpy(&to, arguments[0], sizeof(to));
  std::memcpy(&from, arguments[1], sizeof(from));
  std::memcpy(&count, arguments[2], sizeof(count));
  if (uint64_t{blocks} * threads < count) return kInvalidValue;
  auto* const target = reinterpret_cast<float*>(ShadowOf("add_one", to, count * sizeof(float)));
  const auto* const source =
      reinterpret_cast<const float*>(ShadowOf("add_one", from, count * sizeof(float)));
  stream->PutTouching(Kind::kKernel, [=] {
    for (uint32_t i = 0; i < count; i++) target[i] = source[i] + 1;
  });
  return 0;
}

}  // namespace

EXPORTED int cuModuleLoadDataEx(const char* const** module, const void* text, unsigned, int*,
                                void**) {
  static Call call("cuModuleLoadDataEx");
  if (const int result = call.Begin()) return result;
  *module = KernelOf(static_cast<const char*>(text));
  if (!*module) return kInvalidValue;
  modules++;
  return 0;
}

EXPORTED int cuModuleGetFunction(const char* const** function, const char* const* module,
                                 const char* name) {
  static Call call("cuModuleGetFunction");
  if (const int result = call.Begin()) return result;
  if (std::strcmp(name, *module) != 0) return kNotFound;
  *function = module;
  return 0;
}

EXPORTED int cuModuleUnload(const char* const*) {
  static Call call("cuModuleUnload");
  const int result = call.Begin();
  if (Ends(result)) modules--;
  return result;
}

EXPORTED int cuLaunchKernel(const char* const* function, unsigned blocks, unsigned slices, unsigned,
                            unsigned threads, unsigned, unsigned, unsigned, Stream* stream,
                            void** arguments, void**) {
  static Call call("cuLaunchKernel");
  if (const int result = call.Begin()) return result;
  CheckContext("cuLaunchKernel", stream);
  if (std::strcmp(*function, "add_one") == 0) return AddOne(blocks, threads, stream, arguments);
  uint64_t table = 0;
  std::memcpy(&table, arguments[0], sizeof(table));
  if (blocks == 0 || slices == 0 || threads == 0) return kInvalidValue;
  stream->PutTouching(Kind::kKernel, [=] {
    Gather(reinterpret_cast<const Piece*>(Reachable(table, blocks * sizeof(Piece))), blocks);
  });
  return 0;
}

// For tests: the number of loaded modules.
EXPORTED int fakeCudaModules() {
  return modules;
}
