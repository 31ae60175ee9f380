// A fake TensorRT 10 for a small plan format, with the tables of functions that version 10.0 has.
// It computes on the fake CUDA driver. What the real library makes undefined ends the process, with
// the reason. A plan is text:
//
//   fake-plan 10
//   op add                      the output is the sum of the inputs plus one; or `fail`, `data`
//   input x 0 0 0 -1 16         name, type, location (1: host), format, dims
//   output y 0 0 0 -1 16
//   profile x 1 16 4 16 8 16    name; smallest, best and largest dims
//
// With `op fail`, a batch cannot be enqueued. With `op data`, shapes of outputs depend on data.
//
//   TRITONTS_FAKE_NVINFER_VERSION   what getInferLibVersion returns; default 100001
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "fake TensorRT: %s\n", why.c_str());
  std::abort();
}

struct Dims {
  int32_t count = -1;
  int64_t d[8] = {};
};

template <typename Function>
Function* Driver(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const symbol = driver ? dlsym(driver, name) : nullptr;
  if (driver) dlclose(driver);
  return reinterpret_cast<Function*>(symbol);
}

std::atomic<int> live{0};  // runtimes, engines and contexts

// Objects as the headers have them: a table of their own for the destructor, and what does the
// work.
struct Object {
  void* const* own;
  struct Impl* impl;
};

struct Tensor {
  std::string name;
  bool input = false;
  int32_t type = 0;
  int32_t location = 0;
  int32_t format = 0;
  Dims dims;
  Dims profile[3];
};

struct Plan {
  std::string op;
  std::vector<Tensor> tensors;
  const Tensor& Find(const char* name) const {
    for (const Tensor& tensor : tensors)
      if (tensor.name == name) return tensor;
    Die(std::string("no tensor ") + name);
  }
};

struct Impl {
  void* const* table = nullptr;
  void* logger = nullptr;
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<int> uses;  // shared by an engine and its contexts
  bool is_engine = false;
  std::map<std::string, Dims> shapes;
  std::map<std::string, uint64_t> addresses;
};

void Log(void* logger, int severity, const char* text) {
  using Function = void (*)(void*, int, const char*);
  reinterpret_cast<Function>((*static_cast<void***>(logger))[0])(logger, severity, text);
}

template <size_t Slot>
void Trap() {
  Die("the function of slot " + std::to_string(Slot) + " was called");
}
template <size_t... Slots>
std::array<void*, sizeof...(Slots)> Traps(std::index_sequence<Slots...>) {
  return {reinterpret_cast<void*>(&Trap<Slots>)...};
}
using Table = std::array<void*, 64>;
Table MakeTable(std::initializer_list<std::pair<int, void*>> functions) {
  Table table = Traps(std::make_index_sequence<64>());
  for (const auto& [slot, function] : functions) table[static_cast<size_t>(slot)] = function;
  return table;
}
template <typename Function>
void* At(Function* function) {
  return reinterpret_cast<void*>(function);
}

void Delete(Object* object) {
  const Impl& impl = *object->impl;
  if (impl.is_engine && impl.uses.use_count() > 1) Die("an engine was deleted before its contexts");
  delete object->impl;
  delete object;
  live--;
}

Object* Make(const Table& table, Impl made) {
  static const Table own = MakeTable({{1, At(Delete)}});
  made.table = table.data();
  live++;
  return new Object{own.data(), new Impl(std::move(made))};
}

// --- Execution contexts

bool SetInputShape(Impl* self, const char* name, const Dims* dims) {
  const Tensor& tensor = self->plan->Find(name);
  if (dims->count != tensor.dims.count) return false;
  for (int i = 0; i < dims->count; i++) {
    if (dims->d[i] < tensor.profile[0].d[i] || dims->d[i] > tensor.profile[2].d[i]) {
      Log(self->logger, 1, "the shape is outside of the profile");
      return false;
    }
  }
  self->shapes[name] = *dims;
  return true;
}

Dims ContextShape(Impl* self, const char* name) {
  const Tensor& tensor = self->plan->Find(name);
  if (tensor.input) return self->shapes[name];
  Dims dims = tensor.dims;
  const Dims& first = self->shapes[self->plan->tensors.front().name];
  for (int i = 0; i < dims.count && self->plan->op != "data"; i++)
    if (dims.d[i] < 0) dims.d[i] = first.d[i];
  return dims;
}

bool SetTensorAddress(Impl* self, const char* name, uint64_t address) {
  (void)self->plan->Find(name);
  self->addresses[name] = address;
  return true;
}

int32_t InferShapes(Impl* self, int32_t, const char**) {
  int32_t missing = 0;
  for (const Tensor& tensor : self->plan->tensors)
    if (tensor.input && !self->shapes.count(tensor.name)) missing++;
  return missing;
}

bool Enqueue(Impl* self, void* stream) {
  if (self->plan->op == "fail") {
    Log(self->logger, 1, "this plan always fails");
    return false;
  }
  size_t count = 1;
  std::vector<const float*> inputs;
  float* output = nullptr;
  const auto shadow = Driver<void*(uint64_t, size_t)>("fakeCudaShadow");
  for (const Tensor& tensor : self->plan->tensors) {
    const Dims dims = ContextShape(self, tensor.name.c_str());
    if (!self->addresses.count(tensor.name)) Die("no address for " + tensor.name);
    count = 1;
    for (int i = 0; i < dims.count; i++) count *= static_cast<size_t>(dims.d[i]);
    void* const memory = shadow(self->addresses[tensor.name], count * sizeof(float));
    if (tensor.input) {
      inputs.push_back(static_cast<const float*>(memory));
    } else {
      output = static_cast<float*>(memory);
    }
  }
  const std::function<void()> kernel = [=] {
    for (size_t i = 0; i < count; i++) {
      float sum = 1;
      for (const float* input : inputs) sum += input[i];
      output[i] = sum;
    }
  };
  return Driver<int(void*, const std::function<void()>*)>("fakeCudaLaunch")(stream, &kernel) == 0;
}

const Table& ContextTable() {
  static const Table table = MakeTable({{21, At(SetInputShape)},
                                        {22, At(ContextShape)},
                                        {24, At(SetTensorAddress)},
                                        {28, At(InferShapes)},
                                        {37, At(Enqueue)}});
  return table;
}

// --- Engines

Object* CreateContext(Impl* self, int32_t) {
  Impl context;
  context.logger = self->logger;
  context.plan = self->plan;
  context.uses = self->uses;
  return Make(ContextTable(), context);
}
int32_t Profiles(Impl*) {
  return 1;
}
Dims EngineShape(Impl* self, const char* name) {
  return self->plan->Find(name).dims;
}
int32_t Type(Impl* self, const char* name) {
  return self->plan->Find(name).type;
}
int32_t Location(Impl* self, const char* name) {
  return self->plan->Find(name).location;
}
bool IsShape(Impl* self, const char* name) {
  return self->plan->Find(name).location == 1;
}
int32_t Mode(Impl* self, const char* name) {
  return self->plan->Find(name).input ? 1 : 2;
}
int32_t Format(Impl* self, const char* name) {
  return self->plan->Find(name).format;
}
Dims ProfileShape(Impl* self, const char* name, int32_t, int32_t which) {
  return self->plan->Find(name).profile[which];
}
int32_t Count(Impl* self) {
  return static_cast<int32_t>(self->plan->tensors.size());
}
const char* NameOf(Impl* self, int32_t index) {
  return self->plan->tensors[static_cast<size_t>(index)].name.c_str();
}

const Table& EngineTable() {
  static const Table table = MakeTable({{5, At(CreateContext)},
                                        {10, At(Profiles)},
                                        {19, At(EngineShape)},
                                        {20, At(Type)},
                                        {21, At(Location)},
                                        {22, At(IsShape)},
                                        {23, At(Mode)},
                                        {26, At(Format)},
                                        {29, At(ProfileShape)},
                                        {30, At(Count)},
                                        {31, At(NameOf)}});
  return table;
}

// --- Runtimes

Dims ReadDims(std::istream& line, int count) {
  Dims dims;
  dims.count = 0;
  while (dims.count < (count < 0 ? 8 : count) && line >> dims.d[dims.count]) dims.count++;
  return dims;
}

Object* Deserialize(Impl* self, const void* bytes, size_t size) {
  std::istringstream text(std::string(static_cast<const char*>(bytes), size));
  auto plan = std::make_shared<Plan>();
  std::string line;
  if (!std::getline(text, line) || line != "fake-plan 10") {
    Log(self->logger, 1, "Serialization assertion magicTag failed");
    return nullptr;
  }
  while (std::getline(text, line)) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind >> name;
    if (kind == "op") plan->op = name;
    if (kind == "input" || kind == "output") {
      Tensor tensor;
      tensor.name = name;
      tensor.input = kind == "input";
      words >> tensor.type >> tensor.location >> tensor.format;
      tensor.dims = ReadDims(words, -1);
      for (Dims& dims : tensor.profile) dims = tensor.dims;
      plan->tensors.push_back(tensor);
    }
    if (kind != "profile") continue;
    for (Tensor& tensor : plan->tensors) {
      if (tensor.name != name) continue;
      for (Dims& dims : tensor.profile) dims = ReadDims(words, tensor.dims.count);
    }
  }
  Impl engine;
  engine.logger = self->logger;
  engine.plan = plan;
  engine.is_engine = true;
  engine.uses = std::make_shared<int>(0);
  return Make(EngineTable(), engine);
}

const Table& RuntimeTable() {
  static const Table table = MakeTable({{3, At(Deserialize)}});
  return table;
}

}  // namespace

EXPORTED int32_t getInferLibVersion() {
  const char* text = std::getenv("TRITONTS_FAKE_NVINFER_VERSION");
  return text ? std::atoi(text) : 100001;
}

EXPORTED Object* createInferRuntime_INTERNAL(void* logger, int32_t version) {
  if (version != getInferLibVersion()) Die("another version was named");
  const auto initialized = Driver<bool()>("fakeCudaInitialized");
  if (!initialized || !initialized()) {
    // As the real one.
    Log(logger, 1, "CUDA initialization failure with error: 35");
    return reinterpret_cast<Object*>(0x228);
  }
  Impl runtime;
  runtime.logger = logger;
  return Make(RuntimeTable(), runtime);
}

// For tests: how many runtimes, engines and contexts there are.
EXPORTED int fakeInferLive() {
  return live;
}
