// A fake TensorRT for a small plan format (nvinfer_plan.cc), with the function tables of its
// version. It computes on the fake CUDA driver.
//
//   TRITONTS_FAKE_NVINFER_VERSION   result of getInferLibVersion, instead of its own version
#include "nvinfer.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

namespace tritonts::fakes::infer {

std::atomic<int> live{0};

namespace {

std::mutex plugins_mutex;  // guards plugins
std::set<std::string> plugins;

// Reads a plan. Errors are logged with these texts.
Object* Deserialize(Runtime* self, const void* bytes, size_t size) {
  const auto refuse = [self](const char* why) {
    Log(self->logger, 1, why);
    return static_cast<Object*>(nullptr);
  };
  auto plan = ReadPlan(std::string(static_cast<const char*>(bytes), size));
  if (!plan) return refuse("Serialization assertion magicTag failed");
  if (plan->without_lean && self->lean == 0)
    return refuse("the plan has no lean runtime, and none was loaded");
  if (self->lean != 0 && plan->major != self->lean / 10000)
    return refuse("the plan was built with another version than the lean runtime");
  if (plan->compatible && !plan->without_lean && !self->host_code)
    return refuse("a version-compatible plan needs IRuntime::setEngineHostCodeAllowed");
  if ((kKind == "lean" || kKind == "dispatch") && !plan->compatible)
    return refuse("this runtime reads version-compatible plans only");
  if (!plan->compatible && plan->major != (kKind == "rtx" ? 1 : kLayout))
    return refuse("the engine plan file is not compatible with this version of TensorRT");
  if (!plan->plugin.empty() && !HasPlugin(plan->plugin))
    return refuse(("could not find plugin " + plan->plugin).c_str());
  Engine* const engine = MakeEngine(self->logger, std::move(plan));
  engine->runtime_uses = self->uses;
  return Make(engine);
}

void SetHostCodeAllowed(Runtime* self, bool allowed) {
  if (self->lean != 0) Die("setEngineHostCodeAllowed of a lean runtime");
  self->host_code = allowed;
}

// Loads a lean runtime, and returns an object with this runtime's interface.
Object* LoadRuntime(Runtime* self, const char* path) {
  if (self->lean != 0) Die("a lean runtime was to load another one");
  const auto refuse = [&](const std::string& why) {
    Log(self->logger, 1, (why + ": " + path).c_str());
    return static_cast<Object*>(nullptr);
  };
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return refuse("Unable to load library");
  const auto version = reinterpret_cast<int32_t (*)()>(dlsym(library, "getInferLibVersion"));
  const bool builds = dlsym(library, "createInferBuilder_INTERNAL") != nullptr;
  const int32_t number = version ? version() : 0;
  dlclose(library);
  if (number == 0 || builds) return refuse("Not a lean runtime");
  Runtime* const lean = MakeRuntime(self->logger);
  lean->lean = number;
  lean->parent_uses = self->uses;
  return Make(lean);
}

void DestroyRuntime(Impl* self) {
  auto* const runtime = static_cast<Runtime*>(self);
  if (runtime->uses.use_count() > 1)
    Die("a runtime was deleted before its engines, or a runtime that it loaded");
  delete runtime;
}

template <size_t Slot>
void Trap() {
  Die("the function of slot " + std::to_string(Slot) + " was called");
}
constexpr size_t kSlots = 72;
template <size_t... Slots>
void FillTraps(void** table, std::index_sequence<Slots...>) {
  ((table[Slots] = At(&Trap<Slots>)), ...);
}

// The destructor in an object's own table.
void Delete(Object* object) {
  object->impl->destroy(object->impl);
  delete object;
  live--;
}

}  // namespace

void Die(const std::string& why) {
  std::fprintf(stderr, "fake TensorRT: %s\n", why.c_str());
  std::abort();
}

void* const* TableOf(std::initializer_list<Place> places) {
  auto** const table = new void*[kSlots];
  FillTraps(table, std::make_index_sequence<kSlots>());
  for (const Place& place : places) {
    const int slot = kLayout == 11 ? place.in11 : kMinor >= place.since ? place.in10 : -1;
    if (slot >= 0) table[slot] = place.function;
  }
  return table;
}

Object* Make(Impl* impl) {
  static void* const* const own = TableOf({{"delete", 1, 1, 0, At(Delete)}});
  live++;
  return new Object{own, impl};
}

Runtime* MakeRuntime(void* logger) {
  static void* const* const table =
      TableOf({{"deserializeCudaEngine", 3, 3, 0, At(Deserialize)},
               {"loadRuntime", 20, 19, 0, At(LoadRuntime)},
               {"setEngineHostCodeAllowed", 21, 20, 0, At(SetHostCodeAllowed)}});
  auto* const runtime = new Runtime();
  runtime->table = table;
  runtime->destroy = DestroyRuntime;
  runtime->logger = logger;
  return runtime;
}

void Log(void* logger, int severity, const char* text) {
  void** const table = *static_cast<void***>(logger);
  if (kLayout == 11) {
    const auto language = reinterpret_cast<int (*)(void*)>(table[0])(logger);
    struct Info {
      const char* kind;
      int32_t major;
      int32_t minor;
    };
    const Info info = reinterpret_cast<Info (*)(void*)>(table[1])(logger);
    if (language != 0 || info.kind != std::string("ILogger") || info.major != 1)
      Die("the logger is none of C++");
  }
  using Function = void (*)(void*, int, const char*);
  reinterpret_cast<Function>(table[kLayout == 11 ? 4 : 0])(logger, severity, text);
}

void* OfDriver(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const symbol = driver ? dlsym(driver, name) : nullptr;
  if (driver) dlclose(driver);
  return symbol;
}

void CheckDevice(const void* device, const char* what) {
  if (Driver<const void*()>("fakeCudaCurrent")() != device)
    Die(std::string(what) + " is used without the context of its device");
}

bool HasPlugin(const std::string& name) {
  const std::lock_guard lock(plugins_mutex);
  return plugins.contains(name);
}

}  // namespace tritonts::fakes::infer

using namespace tritonts::fakes::infer;

EXPORTED int32_t getInferLibVersion() {
  const char* text = std::getenv("TRITONTS_FAKE_NVINFER_VERSION");
  return text ? std::atoi(text) : FAKE_NVINFER_VERSION;
}

#if FAKE_NVINFER_VERSION != 100001
// Old versions lack this function.
EXPORTED int32_t getInferLibMajorVersion() {
  return FAKE_NVINFER_VERSION / 10000;
}
#endif

EXPORTED Object* createInferRuntime_INTERNAL(void* logger, int32_t version) {
  if (version != getInferLibVersion()) Die("another version was named");
  const auto initialized = Driver<bool()>("fakeCudaInitialized");
  if (!initialized || !initialized()) {
    // Like the real library.
    Log(logger, 1, "CUDA initialization failure with error: 35");
    return reinterpret_cast<Object*>(0x228);
  }
  return Make(MakeRuntime(logger));
}

// Callers only test whether this function exists.
#if defined(FAKE_NVINFER_BUILDS)
EXPORTED Object* createInferBuilder_INTERNAL(void*, int32_t) {
  Die("a builder was asked for");
}
#endif

// For plugin libraries.
EXPORTED void fakeInferRegister(const char* name) {
  const std::lock_guard lock(plugins_mutex);
  plugins.insert(name);
}

// For tests: the number of runtimes, engines and contexts.
EXPORTED int fakeInferLive() {
  return live;
}
