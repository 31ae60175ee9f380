// A library of custom operators for tests, in the domain "tritonts.test". The test compiles it; the
// runtime's functions are called by their index in its table, so no header of the runtime is
// needed.
//
//   y = Triple(x)         three times x, FP32 of any shape
//   lines = Report(x)     a kernel's report about its session, one string per line: the entries of
//                         the session's configuration as "config <key>=<value>", and the statistics
//                         of the arena, if there is one, as "arena <name>=<number>"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

constexpr int kApiVersion = 24;  // the first with KernelInfo_GetConfigEntries
constexpr int kFloat = 1;
constexpr int kString = 8;

using Function = void (*)();
const Function* functions = nullptr;

struct Object;  // any object of the runtime

// Calls function `kIndex` of the table. All functions used here return a status or void.
template <size_t kIndex, typename Result = Object*, typename... Arguments>
Result Call(Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(functions[kIndex])(arguments...);
}

struct ApiBase {
  const Function* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

// The struct that describes an operator, as of version 13.
struct Operator {
  uint32_t version = 13;
  void* (*create_kernel)(const Operator*, const Function*, const Object* info);
  const char* (*get_name)(const Operator*);
  const char* (*get_provider)(const Operator*);
  int (*get_input_type)(const Operator*, size_t);
  size_t (*get_input_count)(const Operator*);
  int (*get_output_type)(const Operator*, size_t);
  size_t (*get_output_count)(const Operator*);
  void (*compute)(void* kernel, Object* context);
  void (*destroy_kernel)(void* kernel);
  int (*get_input_characteristic)(const Operator*, size_t);
  int (*get_output_characteristic)(const Operator*, size_t);
  int (*get_input_memory)(const Operator*, size_t);
};

// Appends the pairs of `pairs` as lines.
void AppendPairs(const char* what, const Object* pairs, std::vector<std::string>* lines) {
  const char* const* keys = nullptr;
  const char* const* values = nullptr;
  size_t count = 0;
  Call<298, void>(pairs, &keys, &values, &count);  // GetKeyValuePairs
  for (size_t i = 0; i < count; i++) {
    lines->push_back(std::string(what) + ' ' + keys[i] + '=' + values[i]);
  }
}

const Object* Input(const Object* context) {
  const Object* value = nullptr;
  Call<90>(context, size_t{0}, &value);  // KernelContext_GetInput
  return value;
}

Object* Output(Object* context, const std::vector<int64_t>& shape) {
  Object* value = nullptr;
  Call<91>(context, size_t{0}, shape.data(), shape.size(), &value);  // KernelContext_GetOutput
  return value;
}

void Triple(void*, Object* context) {
  const Object* input = Input(context);
  Object* info = nullptr;
  Call<65>(input, &info);  // GetTensorTypeAndShape
  size_t rank = 0;
  Call<61>(info, &rank);  // GetDimensionsCount
  std::vector<int64_t> shape(rank);
  Call<62>(info, shape.data(), rank);  // GetDimensions
  size_t count = 0;
  Call<64>(info, &count);  // GetTensorShapeElementCount
  Call<99, void>(info);    // ReleaseTensorTypeAndShapeInfo
  const float* x = nullptr;
  Call<51>(input, &x);  // GetTensorMutableData
  float* y = nullptr;
  Call<51>(Output(context, shape), &y);
  for (size_t i = 0; i < count; i++) y[i] = 3 * x[i];
}

// The session's configuration at CreateKernel.
using Configuration = std::vector<std::string>;

void* CreateReport(const Operator*, const Function*, const Object* info) {
  auto* lines = new Configuration();
  Object* entries = nullptr;
  if (!Call<391>(info, &entries)) {  // KernelInfo_GetConfigEntries
    AppendPairs("config", entries, lines);
    Call<300, void>(entries);  // ReleaseKeyValuePairs
  }
  return lines;
}

void Report(void* kernel, Object* context) {
  std::vector<std::string> lines = *static_cast<Configuration*>(kernel);
  Object* memory = nullptr;
  Call<69>(0, 0, &memory);  // CreateCpuMemoryInfo
  Object* allocator = nullptr;
  Object* statistics = nullptr;
  if (!Call<253>(context, memory, &allocator) &&  // KernelContext_GetAllocator
      !Call<319>(allocator, &statistics)) {       // AllocatorGetStats
    AppendPairs("arena", statistics, &lines);
    Call<300, void>(statistics);
  }
  Call<132, void>(allocator);  // ReleaseAllocator
  Call<94, void>(memory);      // ReleaseMemoryInfo
  std::vector<const char*> texts;
  for (const std::string& line : lines) texts.push_back(line.c_str());
  Object* output = Output(context, {static_cast<int64_t>(texts.size())});
  Call<52>(output, texts.data(), texts.size());  // FillStringTensor
}

Operator Describe(const char* (*name)(const Operator*), int (*output_type)(const Operator*, size_t),
                  void (*compute)(void*, Object*)) {
  Operator description;
  description.create_kernel = [](const Operator*, const Function*, const Object*) -> void* {
    return new Configuration();
  };
  description.get_name = name;
  description.get_provider = [](const Operator*) -> const char* { return nullptr; };  // the CPU
  description.get_input_type = [](const Operator*, size_t) { return kFloat; };
  description.get_input_count = [](const Operator*) { return size_t{1}; };
  description.get_output_type = output_type;
  description.get_output_count = [](const Operator*) { return size_t{1}; };
  description.compute = compute;
  description.destroy_kernel = [](void* kernel) { delete static_cast<Configuration*>(kernel); };
  description.get_input_characteristic = [](const Operator*, size_t) { return 0; };
  description.get_output_characteristic = [](const Operator*, size_t) { return 0; };
  description.get_input_memory = [](const Operator*, size_t) { return 0; };
  return description;
}

}  // namespace

// Called by the runtime when a session names this library. Returns null on success.
extern "C" Object* RegisterCustomOps(Object* options, const ApiBase* base) {
  functions = base->get_api(kApiVersion);
  if (!functions) {
    functions = base->get_api(1);
    return Call<0>(1, "the operators for tests need ONNX Runtime 1.24 or later");  // CreateStatus
  }
  static const Operator triple = Describe([](const Operator*) { return "Triple"; },
                                          [](const Operator*, size_t) { return kFloat; }, Triple);
  static const Operator report = [] {
    Operator description = Describe([](const Operator*) { return "Report"; },
                                    [](const Operator*, size_t) { return kString; }, Report);
    description.create_kernel = CreateReport;
    return description;
  }();
  // Never freed: sessions use the domain until they end, and there is no notice of the last end.
  Object* domain = nullptr;
  Object* status = Call<26>("tritonts.test", &domain);  // CreateCustomOpDomain
  if (!status) status = Call<27>(domain, &triple);      // CustomOpDomain_Add
  if (!status) status = Call<27>(domain, &report);
  if (!status) status = Call<28>(options, domain);  // AddCustomOpDomain
  return status;
}
