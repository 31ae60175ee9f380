// Sessions on GPUs of the fake ONNX Runtime. The real library computes them on the CPU, in the
// stream's order, and the fake copies between its memory and the fake driver's.
//
// A session has its inputs and outputs on the device, except those whose names begin with "host_".
// If an output's memory is not bound, a run waits for the stream, like the real runtime when it
// needs the data. For an output with the name of an input it cannot report a place.
//
//   TRITONTS_FAKE_ORT_RUN_ERROR   runs on GPUs fail with this text
//
// Misuse that would cause a race or wrong numbers in the real library ends the process.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>

#include "cuda_driver.h"
#include "onnxruntime.h"

namespace tritonts::fakes::ort {

namespace {

// A tensor of a binding: its memory, or where the runtime shall allocate it.
struct Bound {
  std::string name;
  void* value = nullptr;
  bool on_device = false;  // of an output without a value
};

struct Binding {
  void* session;
  std::vector<Bound> inputs;
  std::vector<Bound> outputs;
};

struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  int32_t type = 0;
  size_t bytes = 0;
  void* data = nullptr;  // the address for the CPU
  bool on_device = false;
};

// Values that are bound or in the runtime's memory.
struct Value {
  int bound = 0;
  bool released = false;
  uint64_t address = 0;
};
std::map<void*, Value>& Values() {
  static auto* const values = new std::map<void*, Value>();
  return *values;
}
// The recorded work of graphs, by session and number.
std::map<std::pair<void*, int>, std::function<void()>>& Graphs() {
  static auto* const graphs = new std::map<std::pair<void*, int>, std::function<void()>>();
  return *graphs;
}
std::atomic<int> captured{0};

struct Gate {
  std::mutex mutex;  // guards all
  std::condition_variable changed;
  bool held = false;
  int waiting = 0;
};
Gate& TheGate() {
  static auto* const gate = new Gate();
  return *gate;
}

void Must(void* status) {
  if (!status) return;
  Die(std::string("the real one says: ") + Real<const char*>(2, status));
}

const Place* PlaceOf(const void* session) {
  const std::lock_guard lock(Here().mutex);
  const auto found = Here().sessions.find(session);
  return found == Here().sessions.end() ? nullptr : &found->second;
}

// The memory information object for a GPU.
const void* MemoryOf(int device) {
  static auto* const known = new std::map<int, void*>();
  const std::lock_guard lock(Here().mutex);
  void*& memory = (*known)[device];
  if (!memory) Must(Real(68, "Cuda", int32_t{0}, device, int32_t{0}, &memory));
  return memory;
}
const void* HostMemory() {
  static void* const memory = [] {
    void* made = nullptr;
    Must(Real(69, int32_t{0}, int32_t{0}, &made));
    return made;
  }();
  return memory;
}

// The id of a value's GPU; -1: on the host.
int DeviceOf(const void* value) {
  const void* memory = nullptr;
  int32_t kind = 0;
  int id = -1;
  Must(Real(194, value, &memory));
  Real<void>(225, memory, &kind);
  if (kind == 1) Must(Real(72, memory, &id));
  return id;
}

bool IsOnHost(const std::string& name) {
  return name.starts_with("host_");
}

Tensor Read(const Bound& bound) {
  Tensor tensor{bound.name, {}, 0, 0, nullptr, DeviceOf(bound.value) >= 0};
  void* info = nullptr;
  size_t rank = 0;
  Must(Real(65, bound.value, &info));
  Must(Real(60, info, &tensor.type));
  Must(Real(61, info, &rank));
  tensor.shape.resize(rank);
  Must(Real(62, info, tensor.shape.data(), rank));
  Real<void>(99, info);
  Must(Real(51, bound.value, &tensor.data));
  static const std::map<int32_t, size_t> sizes = {{1, 4},  {2, 1},  {3, 1},  {4, 2},
                                                  {5, 2},  {6, 4},  {7, 8},  {9, 1},
                                                  {10, 2}, {11, 8}, {12, 4}, {13, 8}};
  tensor.bytes = sizes.at(tensor.type);
  for (const int64_t dim : tensor.shape) tensor.bytes *= static_cast<size_t>(dim);
  if (tensor.on_device && tensor.bytes > 0) {
    tensor.data = Driver<void*(uint64_t, size_t)>("fakeCudaShadow")(
        reinterpret_cast<uint64_t>(tensor.data), tensor.bytes);
  }
  return tensor;
}

// Runs the real session. It allocates outputs without memory.
void* Compute(void* session, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs,
              std::vector<void*>* values) {
  static char nothing[64];
  std::vector<const char*> input_names;
  std::vector<void*> input_values;
  std::vector<const char*> output_names;
  const auto make = [](const Tensor& tensor) {
    void* value = nullptr;
    Must(Real(49, HostMemory(), tensor.data ? tensor.data : static_cast<void*>(nothing),
              tensor.bytes, tensor.shape.data(), tensor.shape.size(), tensor.type, &value));
    return value;
  };
  for (const Tensor& input : inputs) {
    input_names.push_back(input.name.c_str());
    input_values.push_back(make(input));
  }
  values->clear();
  for (const Tensor& output : outputs) {
    output_names.push_back(output.name.c_str());
    values->push_back(output.data ? make(output) : nullptr);
  }
  void* const status =
      Real(9, session, static_cast<void*>(nullptr), input_names.data(), input_values.data(),
           input_values.size(), output_names.data(), output_names.size(), values->data());
  for (void* const value : input_values) Real<void>(96, value);
  return status;
}

void Free(const std::vector<void*>& values) {
  for (void* const value : values) Real<void>(96, value);
}

// Validates shapes before the work is enqueued, with placeholder data for tensors on the device.
// (The real runtime reads host tensors at once.)
void* Check(void* session, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  std::vector<std::vector<char>> memory;
  const auto replace = [&](std::vector<Tensor> tensors, bool are_inputs) {
    for (Tensor& tensor : tensors) {
      if (are_inputs && !tensor.on_device) continue;
      memory.emplace_back(tensor.bytes + 64);
      tensor.data = memory.back().data();
    }
    return tensors;
  };
  std::vector<void*> values;
  const auto in = replace(inputs, true);
  const auto out = replace(outputs, false);
  void* const status = Compute(session, in, out, &values);
  Free(values);
  return status;
}

int Synchronize(void* stream) {
  return Driver<int(void*)>("cuStreamSynchronize")(stream);
}

void* Enqueue(void* stream, const std::function<void()>& work) {
  const int result =
      Driver<int(void*, const std::function<void()>*)>("fakeCudaLaunch")(stream, &work);
  return result == 0 ? nullptr : Fail(11, "CUDA failure " + std::to_string(result));
}

// Copies a tensor of the real library to device memory owned by the runtime.
void* OnDevice(void* value, int device) {
  const Tensor tensor = Read({"", value, false});
  uint64_t address = 0;
  if (Driver<int(uint64_t*, size_t)>("cuMemAlloc_v2")(&address, std::max<size_t>(1, tensor.bytes)))
    return nullptr;
  if (tensor.bytes > 0) {
    std::memcpy(Driver<void*(uint64_t, size_t)>("fakeCudaShadow")(address, tensor.bytes),
                tensor.data, tensor.bytes);
  }
  void* made = nullptr;
  Must(Real(49, MemoryOf(device), reinterpret_cast<void*>(address), tensor.bytes,
            tensor.shape.data(), tensor.shape.size(), tensor.type, &made));
  Real<void>(96, value);
  const std::lock_guard lock(Here().mutex);
  Values()[made].address = address;
  Here().live++;
  return made;
}

std::string RunOption(const void* options, const std::string& key) {
  const std::lock_guard lock(Here().mutex);
  const auto& entries = Here().runs[options];
  const auto found = entries.find(key);
  return found == entries.end() ? "" : found->second;
}

// Runs at once and allocates outputs that are not bound; that needs the data.
void* RunNow(Binding* binding, const Place& place, const std::vector<Tensor>& inputs,
             std::vector<Tensor> outputs) {
  if (Synchronize(place.stream) != 0) return Fail(11, "CUDA failure in the stream");
  std::vector<void*> values;
  if (void* const status = Compute(binding->session, inputs, outputs, &values)) {
    Free(values);
    return status;
  }
  for (size_t i = 0; i < values.size(); i++) {
    Bound& output = binding->outputs[i];
    if (output.value) {
      Real<void>(96, values[i]);
    } else {
      output.value = output.on_device ? OnDevice(values[i], place.device) : values[i];
      if (!output.value) return Fail(1, "out of memory on the device");
      const std::lock_guard lock(Here().mutex);
      Values()[output.value].bound++;
      Values()[output.value].released = true;  // now only the binding owns it
    }
  }
  return nullptr;
}

void* RunWithBinding(void* session, const void* options, Binding* binding) {
  const Place* const place = PlaceOf(session);
  if (!place) return Fail(1, "the session is not on a GPU");
  {
    Gate& gate = TheGate();
    std::unique_lock lock(gate.mutex);
    gate.waiting++;
    gate.changed.notify_all();
    const auto ended = [&] { return RunOption(options, "terminate") == "1"; };
    gate.changed.wait(lock, [&] { return !gate.held || ended(); });
    gate.waiting--;
    if (ended()) return Fail(1, "Exiting due to terminate flag being set to true.");
  }
  if (const char* const error = std::getenv("TRITONTS_FAKE_ORT_RUN_ERROR")) return Fail(11, error);
  std::vector<Tensor> inputs;
  for (const Bound& input : binding->inputs) inputs.push_back(Read(input));
  std::vector<Tensor> outputs;
  bool all_bound = true;
  bool all_on_device = true;
  for (const Bound& output : binding->outputs) {
    outputs.push_back(output.value ? Read(output) : Tensor{output.name, {}, 0, 0, nullptr, false});
    all_bound = all_bound && output.value;
    all_on_device = all_on_device && output.value && DeviceOf(output.value) >= 0;
  }
  for (const Bound& input : binding->inputs)
    all_on_device = all_on_device && DeviceOf(input.value) >= 0;
  const bool waits = RunOption(options, "disable_synchronize_execution_providers") != "1";
  const std::string graph = RunOption(options, "gpu_graph_id");
  const int number = graph.empty() ? 0 : std::atoi(graph.c_str());
  const bool with_graph = place->graphs && number != -1;
  std::function<void()> work;
  if (with_graph) {
    const std::lock_guard lock(Here().mutex);
    const auto found = Graphs().find({session, number});
    if (found != Graphs().end()) work = found->second;
  }
  if (!work) {
    if (!all_bound) {
      if (with_graph) Die("a graph is captured of outputs without memory");
      return RunNow(binding, *place, inputs, outputs);
    }
    if (void* const status = Check(session, inputs, outputs)) return status;
    work = [session, inputs, outputs] {
      std::vector<void*> values;
      Must(Compute(session, inputs, outputs, &values));
      Free(values);
    };
    if (with_graph) {
      if (!all_on_device) Die("a graph is captured of tensors on the host");
      captured++;
      // Captures in the global mode, which affects all threads.
      const auto capture = Driver<void(bool)>("fakeCudaCaptureEverywhere");
      capture(true);
      void* const failed = Check(session, inputs, outputs);
      capture(false);
      if (failed) return failed;
      const std::lock_guard lock(Here().mutex);
      Graphs()[{session, number}] = work;
    }
  }
  void* const status = Enqueue(place->stream, work);
  if (!status && waits && Synchronize(place->stream) != 0)
    return Fail(11, "CUDA failure in the stream");
  return status;
}

// --- Bindings and values.

void Bind(void* value) {
  if (!value) return;
  const std::lock_guard lock(Here().mutex);
  Values()[value].bound++;
}

// Releases a value without owners. Requires the lock. Returns the address of its memory, to be
// freed without the lock, or 0.
uint64_t Drop(void* value) {
  uint64_t address = 0;
  const auto found = Values().find(value);
  if (found != Values().end()) {
    if (found->second.bound > 0 || !found->second.released) return 0;
    address = found->second.address;
    if (address != 0) Here().live--;
    Values().erase(found);
  }
  Real<void>(96, value);
  return address;
}
void FreeMemory(uint64_t address) {
  if (address != 0) (void)Driver<int(uint64_t)>("cuMemFree_v2")(address);
}

void ReleaseValue(void* value) {
  if (!value) return;
  uint64_t address = 0;
  {
    const std::lock_guard lock(Here().mutex);
    const auto found = Values().find(value);
    if (found != Values().end()) found->second.released = true;
    address = Drop(value);
  }
  FreeMemory(address);
}

void Unbind(std::vector<Bound>* bound) {
  for (const Bound& one : *bound) {
    if (!one.value) continue;
    uint64_t address = 0;
    {
      const std::lock_guard lock(Here().mutex);
      Values()[one.value].bound--;
      address = Drop(one.value);
    }
    FreeMemory(address);
  }
  bound->clear();
}

void* CreateBinding(void* session, Binding** out) {
  if (!PlaceOf(session)) Die("a binding for a session on the CPU");
  *out = new Binding{session, {}, {}};
  const std::lock_guard lock(Here().mutex);
  Here().live++;
  return nullptr;
}
void ClearInputs(Binding* binding) {
  Unbind(&binding->inputs);
}
void ClearOutputs(Binding* binding) {
  Unbind(&binding->outputs);
}
void ReleaseBinding(Binding* binding) {
  if (!binding) return;
  if (!PlaceOf(binding->session)) Die("a binding outlived its session");
  ClearInputs(binding);
  ClearOutputs(binding);
  delete binding;
  const std::lock_guard lock(Here().mutex);
  Here().live--;
}

void CheckPlace(const Binding* binding, const std::string& name, const void* value) {
  const int device = DeviceOf(value);
  if (device >= 0 && IsOnHost(name)) Die(name + " is on the host, but is bound on the device");
  if (device >= 0 && device != PlaceOf(binding->session)->device)
    Die(name + " is bound on another device");
}
void* BindInput(Binding* binding, const char* name, void* value) {
  CheckPlace(binding, name, value);
  binding->inputs.push_back({name, value, false});
  Bind(value);
  return nullptr;
}
void* BindOutput(Binding* binding, const char* name, void* value) {
  CheckPlace(binding, name, value);
  binding->outputs.push_back({name, value, false});
  Bind(value);
  return nullptr;
}
void* BindOutputToDevice(Binding* binding, const char* name, const void* memory) {
  int32_t kind = 0;
  Real<void>(225, memory, &kind);
  binding->outputs.push_back({name, nullptr, kind == 1});
  return nullptr;
}
void* GetBoundOutputs(const Binding* binding, void* allocator, void*** out, size_t* count) {
  *count = binding->outputs.size();
  void* memory = nullptr;
  if (void* const status = Real(75, allocator, *count * sizeof(void*), &memory)) return status;
  *out = static_cast<void**>(memory);
  for (size_t i = 0; i < *count; i++) {
    // The caller and the binding share the value.
    void* const value = binding->outputs[i].value;
    const std::lock_guard lock(Here().mutex);
    Value& known = Values()[value];
    if (known.released) {
      known.released = false;
      (*out)[i] = value;
      continue;
    }
    // The caller bound this value itself and still owns it.
    Die("a bound output was not released by who bound it");
  }
  return nullptr;
}

// --- Sessions and run options.

// Makes the device's context current, like the runtime's own calls.
class OnDeviceOf {
 public:
  explicit OnDeviceOf(const Place& place) {
    void* context = nullptr;
    if (Driver<int(int*, int)>("cuDeviceGet")(&device_, place.device) != 0 ||
        Driver<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device_) != 0) {
      Die("a session is on no device");
    }
    (void)Driver<int(void*)>("cuCtxPushCurrent_v2")(context);
  }
  ~OnDeviceOf() {
    void* context = nullptr;
    (void)Driver<int(void**)>("cuCtxPopCurrent_v2")(&context);
    (void)Driver<int(int)>("cuDevicePrimaryCtxRelease_v2")(device_);
  }

 private:
  int device_ = 0;
};

// The weights of a session on a GPU are in device memory.
void* Made(void* status, const void* options, void** session) {
  if (status) return status;
  Place place;
  {
    const std::lock_guard lock(Here().mutex);
    const auto found = Here().options.find(options);
    if (found == Here().options.end()) return nullptr;
    place = found->second;
  }
  const OnDeviceOf device(place);
  if (const int result = Driver<int(uint64_t*, size_t)>("cuMemAlloc_v2")(&place.weights, 1)) {
    Real<void>(95, *session);
    *session = nullptr;
    return Fail(11, "CUDA failure " + std::to_string(result));
  }
  const std::lock_guard lock(Here().mutex);
  Here().sessions[*session] = place;
  return nullptr;
}
void* CreateSession(const void* env, const char* path, const void* options, void** session) {
  return Made(Real(7, env, path, options, session), options, session);
}
void* CreateSessionFromArray(const void* env, const void* bytes, size_t size, const void* options,
                             void** session) {
  return Made(Real(8, env, bytes, size, options, session), options, session);
}
void ReleaseSession(void* session) {
  if (const Place* const place = PlaceOf(session)) {
    const OnDeviceOf device(*place);
    const auto lost = Driver<bool(const void*)>("fakeCudaLost");
    if (lost(Driver<const void*()>("fakeCudaCurrent")()))
      Die("a session is released on a lost device: the real one throws in its destructors");
    // Like the real runtime, it ignores the result.
    (void)Driver<int(uint64_t)>("cuMemFree_v2")(place->weights);
  }
  {
    const std::lock_guard lock(Here().mutex);
    Here().sessions.erase(session);
    std::erase_if(Graphs(), [session](const auto& graph) { return graph.first.first == session; });
  }
  Real<void>(95, session);
}
void ReleaseSessionOptions(void* options) {
  {
    const std::lock_guard lock(Here().mutex);
    Here().options.erase(options);
  }
  Real<void>(100, options);
}

void* Places(void* session, const void** memory, size_t count, size_t of_name, size_t of_place) {
  const Place* const place = PlaceOf(session);
  if (!place) return Real(of_place, session, memory, count);
  void* allocator = nullptr;
  Must(Real(78, &allocator));
  for (size_t i = 0; i < count; i++) {
    char* name = nullptr;
    Must(Real(of_name, session, i, allocator, &name));
    memory[i] = IsOnHost(name) ? HostMemory() : MemoryOf(place->device);
    Must(Real(76, allocator, static_cast<void*>(name)));
  }
  return nullptr;
}
void* InputPlaces(void* session, const void** memory, size_t count) {
  return Places(session, memory, count, 36, 380);
}
void* OutputPlaces(void* session, const void** memory, size_t count) {
  void* allocator = nullptr;
  size_t inputs = 0;
  Must(Real(78, &allocator));
  Must(Real(30, session, &inputs));
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs + count; i++) {
    char* name = nullptr;
    Must(i < inputs ? Real(36, session, i, allocator, &name)
                    : Real(37, session, i - inputs, allocator, &name));
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    names.emplace_back(name);
    Must(Real(76, allocator, static_cast<void*>(name)));
    if (known) return Fail(1, "no operator has the output");
  }
  return Places(session, memory, count, 37, 381);
}

// Tensors are on the host, and the real runtime waits for the device.
void* Run(void* session, const void* options, const char* const* input_names,
          const void* const* inputs, size_t input_count, const char* const* output_names,
          size_t output_count, void** outputs) {
  const char* const error = std::getenv("TRITONTS_FAKE_ORT_RUN_ERROR");
  if (error && PlaceOf(session)) return Fail(11, error);
  return Real(9, session, options, input_names, inputs, input_count, output_names, output_count,
              outputs);
}

void* AddRunConfigEntry(void* options, const char* key, const char* value) {
  {
    const std::lock_guard lock(Here().mutex);
    Here().runs[options][key] = value;
  }
  return Real(165, options, key, value);
}
void* SetTerminate(void* options) {
  {
    const std::lock_guard lock(Here().mutex);
    Here().runs[options]["terminate"] = "1";
  }
  {
    const std::lock_guard lock(TheGate().mutex);
    TheGate().changed.notify_all();
  }
  return Real(46, options);
}
void ReleaseRunOptions(void* options) {
  {
    const std::lock_guard lock(Here().mutex);
    Here().runs.erase(options);
  }
  Real<void>(97, options);
}

}  // namespace

void ReplaceRuns(Function* table) {
  table[7] = At(CreateSession);
  table[9] = At(Run);
  table[46] = At(SetTerminate);
  table[8] = At(CreateSessionFromArray);
  table[95] = At(ReleaseSession);
  table[96] = At(ReleaseValue);
  table[97] = At(ReleaseRunOptions);
  table[100] = At(ReleaseSessionOptions);
  table[133] = At(RunWithBinding);
  table[134] = At(CreateBinding);
  table[135] = At(ReleaseBinding);
  table[136] = At(BindInput);
  table[137] = At(BindOutput);
  table[138] = At(BindOutputToDevice);
  table[140] = At(GetBoundOutputs);
  table[141] = At(ClearInputs);
  table[142] = At(ClearOutputs);
  table[165] = At(AddRunConfigEntry);
  table[380] = At(InputPlaces);
  table[381] = At(OutputPlaces);
}

}  // namespace tritonts::fakes::ort

// Holds back runs on GPUs at their beginning, on the calling thread, or releases them.
EXPORTED void fakeOrtHold(bool held) {
  auto& gate = tritonts::fakes::ort::TheGate();
  const std::lock_guard lock(gate.mutex);
  gate.held = held;
  gate.changed.notify_all();
}
// Waits until a run is held back.
EXPORTED void fakeOrtAwaitHeld() {
  auto& gate = tritonts::fakes::ort::TheGate();
  std::unique_lock lock(gate.mutex);
  gate.changed.wait(lock, [&] { return gate.waiting > 0; });
}
// Releases sessions that were leaked on lost devices, after the devices were reopened. Returns
// their number.
EXPORTED int fakeOrtReleaseLeft() {
  using namespace tritonts::fakes::ort;
  std::vector<void*> left;
  {
    const std::lock_guard lock(Here().mutex);
    for (const auto& [session, place] : Here().sessions) left.push_back(session);
  }
  for (void* const session : left) ReleaseSession(session);
  return static_cast<int>(left.size());
}
// The number of captured graphs.
EXPORTED int fakeOrtCaptured() {
  return tritonts::fakes::ort::captured;
}
