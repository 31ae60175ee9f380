#include "runtime.h"

#include "platform/dynamic_library.h"

namespace tritonts::onnxruntime::bare {

namespace {

struct ApiBase {
  const Table::Function* (*get_api)(uint32_t version);
  const char* (*get_version_string)();
};

// An environment without global thread pools, as most programs have it.
constexpr Entry<3, OrtStatus*(int32_t level, const char* id, OrtEnv**)> kCreateEnv;

}  // namespace

StatusOr<Runtime> Runtime::Open(const std::string& library) {
  std::string fault;
  const auto opened = platform::DynamicLibrary::Open(library, &fault);
  if (!opened) return Status::Unavailable(Reason::kMissing, std::move(fault));
  using GetApiBase = const ApiBase* (*)();
  const auto get_base = reinterpret_cast<GetApiBase>(opened->Symbol("OrtGetApiBase"));
  const Table::Function* functions = get_base ? get_base()->get_api(kOldestApi) : nullptr;
  if (!functions)
    return Status::Unavailable(Reason::kMissing,
                               "'" + library + "' is no ONNX Runtime that serves");
  Runtime runtime;
  runtime.table = Table(functions, kOldestApi);
  const Table& api = runtime.table;
  Status status = runtime.Take(api.Call(kCreateEnv, kLogFatal, "bare", &runtime.env));
  if (status.ok()) {
    status = runtime.Take(
        api.Call(kCreateCpuMemoryInfo, kDeviceAllocator, kDefaultMemory, &runtime.memory));
  }
  if (status.ok()) status = runtime.Take(api.Call(kGetDefaultAllocator, &runtime.allocator));
  if (!status.ok()) return status;
  return runtime;
}

Status Runtime::Take(OrtStatus* status) const {
  if (!status) return Status::Ok();
  std::string message = table.Call(kGetErrorMessage, status);
  table.Call(kReleaseStatus, status);
  return Status::Internal(std::move(message));
}

size_t ElementSize(ElementType type) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kUint8:
    case ElementType::kInt8:
      return 1;
    case ElementType::kUint16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kUint32:
    case ElementType::kInt32:
    case ElementType::kFloat:
      return 4;
    case ElementType::kUint64:
    case ElementType::kInt64:
    case ElementType::kDouble:
      return 8;
    case ElementType::kString:
    case ElementType::kUndefined:
      return 0;
  }
  return 0;
}

size_t CountElements(std::span<const int64_t> shape) {
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  return count;
}

}  // namespace tritonts::onnxruntime::bare
