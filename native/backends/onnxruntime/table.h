// The part of ONNX Runtime's C interface that the backend uses. The interface is a table of
// functions, each with an index that never changes: new versions append. It is declared by hand, so
// that neither a header nor linking to the library is needed.
//
// An entry couples an index with the function's type, and with the API version (the MINOR of a
// 1.MINOR library) that introduced the function. A result of type OrtStatus* is null for success.
// Otherwise the caller must release it (Library::Take).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <type_traits>

namespace tritonts::onnxruntime {

// The oldest API version that is supported, and the newest that the entries below were written for.
constexpr int kOldestApi = 17;
constexpr int kNewestApi = 24;

struct OrtStatus;
struct OrtEnv;
struct OrtThreadingOptions;
struct OrtSessionOptions;
struct OrtSession;
struct OrtRunOptions;
struct OrtValue;
struct OrtTypeInfo;
struct OrtTensorInfo;  // OrtTensorTypeAndShapeInfo
struct OrtMemoryInfo;
struct OrtAllocator;
struct OrtKeyValuePairs;
struct OrtCudaProviderOptions;      // OrtCUDAProviderOptionsV2
struct OrtTensorRtProviderOptions;  // OrtTensorRTProviderOptionsV2
struct OrtIoBinding;

// char, or wchar_t on Windows.
using PathChar = std::filesystem::path::value_type;

// The numbers of ONNXTensorElementDataType.
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat16 = 16,
};

// The numbers of ONNXType.
enum class ValueKind : int32_t { kUnknown, kTensor, kSequence, kMap, kOpaque, kSparse, kOptional };

// The numbers of OrtLoggingLevel, OrtAllocatorType and OrtMemType.
constexpr int32_t kLogFatal = 4;
constexpr int32_t kDeviceAllocator = 0;
constexpr int32_t kDefaultMemory = 0;
// A number of OrtMemoryInfoDeviceType.
constexpr int32_t kOnGpu = 1;

template <size_t kIndex, typename Function, int kSince = kOldestApi>
struct Entry {
  // 275 is the last function of API version 17.
  static_assert(kIndex <= 275 || kSince > kOldestApi, "say which API version has this function");
};

// Status
inline constexpr Entry<2, const char*(const OrtStatus*)> kGetErrorMessage;
inline constexpr Entry<93, void(OrtStatus*)> kReleaseStatus;

// Environment
inline constexpr Entry<119, OrtStatus*(int32_t level, const char* id, const OrtThreadingOptions*,
                                       OrtEnv**)>
    kCreateEnvWithGlobalThreadPools;
inline constexpr Entry<6, OrtStatus*(const OrtEnv*)> kDisableTelemetryEvents;
inline constexpr Entry<121, OrtStatus*(OrtThreadingOptions**)> kCreateThreadingOptions;
inline constexpr Entry<122, void(OrtThreadingOptions*)> kReleaseThreadingOptions;
inline constexpr Entry<147, OrtStatus*(OrtThreadingOptions*, int)> kSetGlobalIntraOpNumThreads;
inline constexpr Entry<148, OrtStatus*(OrtThreadingOptions*, int)> kSetGlobalInterOpNumThreads;
inline constexpr Entry<149, OrtStatus*(OrtThreadingOptions*, int)> kSetGlobalSpinControl;
inline constexpr Entry<69, OrtStatus*(int32_t allocator, int32_t memory, OrtMemoryInfo**)>
    kCreateCpuMemoryInfo;
inline constexpr Entry<78, OrtStatus*(OrtAllocator**)> kGetDefaultAllocator;
inline constexpr Entry<76, OrtStatus*(OrtAllocator*, void*)> kAllocatorFree;
inline constexpr Entry<68, OrtStatus*(const char* name, int32_t allocator, int id, int32_t memory,
                                      OrtMemoryInfo**)>
    kCreateMemoryInfo;
inline constexpr Entry<94, void(OrtMemoryInfo*)> kReleaseMemoryInfo;
// The allocator of a session.
inline constexpr Entry<131, OrtStatus*(const OrtSession*, const OrtMemoryInfo*, OrtAllocator**)>
    kCreateAllocator;
inline constexpr Entry<132, void(OrtAllocator*)> kReleaseAllocator;
inline constexpr Entry<319, OrtStatus*(const OrtAllocator*, OrtKeyValuePairs**), 23>
    kAllocatorGetStats;
inline constexpr Entry<297, const char*(const OrtKeyValuePairs*, const char* key), 22> kGetKeyValue;
inline constexpr Entry<300, void(OrtKeyValuePairs*), 22> kReleaseKeyValuePairs;

// Session options
inline constexpr Entry<10, OrtStatus*(OrtSessionOptions**)> kCreateSessionOptions;
inline constexpr Entry<100, void(OrtSessionOptions*)> kReleaseSessionOptions;
inline constexpr Entry<13, OrtStatus*(OrtSessionOptions*, int32_t)> kSetSessionExecutionMode;
inline constexpr Entry<14, OrtStatus*(OrtSessionOptions*, const PathChar*)> kEnableProfiling;
inline constexpr Entry<16, OrtStatus*(OrtSessionOptions*)> kEnableMemPattern;
inline constexpr Entry<17, OrtStatus*(OrtSessionOptions*)> kDisableMemPattern;
inline constexpr Entry<18, OrtStatus*(OrtSessionOptions*)> kEnableCpuMemArena;
inline constexpr Entry<19, OrtStatus*(OrtSessionOptions*)> kDisableCpuMemArena;
inline constexpr Entry<22, OrtStatus*(OrtSessionOptions*, int)> kSetSessionLogSeverityLevel;
inline constexpr Entry<23, OrtStatus*(OrtSessionOptions*, int32_t)> kSetGraphOptimizationLevel;
inline constexpr Entry<24, OrtStatus*(OrtSessionOptions*, int)> kSetIntraOpNumThreads;
inline constexpr Entry<25, OrtStatus*(OrtSessionOptions*, int)> kSetInterOpNumThreads;
inline constexpr Entry<120, OrtStatus*(OrtSessionOptions*)> kDisablePerSessionThreads;
inline constexpr Entry<130, OrtStatus*(OrtSessionOptions*, const char* key, const char* value)>
    kAddSessionConfigEntry;
inline constexpr Entry<228, OrtStatus*(OrtSessionOptions*, const PathChar*)>
    kRegisterCustomOpsLibrary;

// The CUDA provider's options
inline constexpr Entry<205, OrtStatus*(OrtCudaProviderOptions**)> kCreateCudaProviderOptions;
inline constexpr Entry<206, OrtStatus*(OrtCudaProviderOptions*, const char* const* keys,
                                       const char* const* values, size_t count)>
    kUpdateCudaProviderOptions;
inline constexpr Entry<208, void(OrtCudaProviderOptions*)> kReleaseCudaProviderOptions;
inline constexpr Entry<204, OrtStatus*(OrtSessionOptions*, const OrtCudaProviderOptions*)>
    kAppendCudaProvider;
// For values that are not text: `user_compute_stream`.
inline constexpr Entry<263, OrtStatus*(OrtCudaProviderOptions*, const char* key, void* value)>
    kUpdateCudaProviderPointer;

// The TensorRT provider's options
inline constexpr Entry<171, OrtStatus*(OrtTensorRtProviderOptions**)>
    kCreateTensorRtProviderOptions;
inline constexpr Entry<172, OrtStatus*(OrtTensorRtProviderOptions*, const char* const* keys,
                                       const char* const* values, size_t count)>
    kUpdateTensorRtProviderOptions;
inline constexpr Entry<174, void(OrtTensorRtProviderOptions*)> kReleaseTensorRtProviderOptions;
inline constexpr Entry<170, OrtStatus*(OrtSessionOptions*, const OrtTensorRtProviderOptions*)>
    kAppendTensorRtProvider;
inline constexpr Entry<261, OrtStatus*(OrtTensorRtProviderOptions*, const char* key, void* value)>
    kUpdateTensorRtProviderPointer;

// Sessions
inline constexpr Entry<7, OrtStatus*(const OrtEnv*, const PathChar*, const OrtSessionOptions*,
                                     OrtSession**)>
    kCreateSession;
inline constexpr Entry<8, OrtStatus*(const OrtEnv*, const void* model, size_t size,
                                     const OrtSessionOptions*, OrtSession**)>
    kCreateSessionFromArray;
inline constexpr Entry<279,
                       OrtStatus*(OrtSessionOptions*, const PathChar* const* names,
                                  char* const* contents, const size_t* sizes, size_t count),
                       18>
    kAddExternalFilesInMemory;
inline constexpr Entry<95, void(OrtSession*)> kReleaseSession;
using CountFunction = OrtStatus*(const OrtSession*, size_t*);
using TypeFunction = OrtStatus*(const OrtSession*, size_t index, OrtTypeInfo**);
using NameFunction = OrtStatus*(const OrtSession*, size_t index, OrtAllocator*, char**);
inline constexpr Entry<30, CountFunction> kSessionGetInputCount;
inline constexpr Entry<31, CountFunction> kSessionGetOutputCount;
inline constexpr Entry<32, CountFunction> kSessionGetInitializerCount;  // the overridable ones
inline constexpr Entry<33, TypeFunction> kSessionGetInputType;
inline constexpr Entry<34, TypeFunction> kSessionGetOutputType;
inline constexpr Entry<35, TypeFunction> kSessionGetInitializerType;
inline constexpr Entry<36, NameFunction> kSessionGetInputName;
inline constexpr Entry<37, NameFunction> kSessionGetOutputName;
inline constexpr Entry<38, NameFunction> kSessionGetInitializerName;

// The memory in which a session expects its inputs and returns its outputs, in the order of their
// names. The results are borrowed from the session.
using PlacesFunction = OrtStatus*(const OrtSession*, const OrtMemoryInfo**, size_t count);
inline constexpr Entry<380, PlacesFunction, 23> kSessionGetInputPlaces;
inline constexpr Entry<381, PlacesFunction, 23> kSessionGetOutputPlaces;
inline constexpr Entry<225, void(const OrtMemoryInfo*, int32_t* device)> kMemoryDevice;

// Types
inline constexpr Entry<56, OrtStatus*(const OrtTypeInfo*, ValueKind*)> kGetValueKind;
inline constexpr Entry<55, OrtStatus*(const OrtTypeInfo*, const OrtTensorInfo**)> kCastToTensorInfo;
inline constexpr Entry<98, void(OrtTypeInfo*)> kReleaseTypeInfo;
inline constexpr Entry<60, OrtStatus*(const OrtTensorInfo*, ElementType*)> kGetElementType;
inline constexpr Entry<61, OrtStatus*(const OrtTensorInfo*, size_t*)> kGetDimensionsCount;
inline constexpr Entry<62, OrtStatus*(const OrtTensorInfo*, int64_t*, size_t)> kGetDimensions;
inline constexpr Entry<63, OrtStatus*(const OrtTensorInfo*, const char** names, size_t)>
    kGetSymbolicDimensions;
inline constexpr Entry<99, void(OrtTensorInfo*)> kReleaseTensorInfo;
// Whether the rank is known. A tensor without a shape reports 0 dims, like a scalar.
inline constexpr Entry<390, bool(const OrtTensorInfo*), 24> kHasShape;

// Running
inline constexpr Entry<9, OrtStatus*(OrtSession*, const OrtRunOptions*,
                                     const char* const* input_names, const OrtValue* const* inputs,
                                     size_t input_count, const char* const* output_names,
                                     size_t output_count, OrtValue** outputs)>
    kRun;
inline constexpr Entry<39, OrtStatus*(OrtRunOptions**)> kCreateRunOptions;
inline constexpr Entry<41, OrtStatus*(OrtRunOptions*, int)> kSetRunLogSeverityLevel;
inline constexpr Entry<46, OrtStatus*(OrtRunOptions*)> kSetTerminate;
inline constexpr Entry<97, void(OrtRunOptions*)> kReleaseRunOptions;
inline constexpr Entry<165, OrtStatus*(OrtRunOptions*, const char* key, const char* value)>
    kAddRunConfigEntry;

// Running with bound tensors. A binding shares ownership of bound tensors until it is cleared.
inline constexpr Entry<134, OrtStatus*(OrtSession*, OrtIoBinding**)> kCreateIoBinding;
inline constexpr Entry<135, void(OrtIoBinding*)> kReleaseIoBinding;
inline constexpr Entry<136, OrtStatus*(OrtIoBinding*, const char* name, const OrtValue*)>
    kBindInput;
inline constexpr Entry<137, OrtStatus*(OrtIoBinding*, const char* name, const OrtValue*)>
    kBindOutput;
// The runtime allocates the output in this memory.
inline constexpr Entry<138, OrtStatus*(OrtIoBinding*, const char* name, const OrtMemoryInfo*)>
    kBindOutputToDevice;
// In the order of binding. The allocator owns the array; the caller owns the values.
inline constexpr Entry<140, OrtStatus*(const OrtIoBinding*, OrtAllocator*, OrtValue***, size_t*)>
    kGetBoundOutputs;
inline constexpr Entry<141, void(OrtIoBinding*)> kClearBoundInputs;
inline constexpr Entry<142, void(OrtIoBinding*)> kClearBoundOutputs;
inline constexpr Entry<133, OrtStatus*(OrtSession*, const OrtRunOptions*, const OrtIoBinding*)>
    kRunWithBinding;

// Values
inline constexpr Entry<48, OrtStatus*(OrtAllocator*, const int64_t* shape, size_t rank, ElementType,
                                      OrtValue**)>
    kCreateTensor;
inline constexpr Entry<49, OrtStatus*(const OrtMemoryInfo*, void* data, size_t size,
                                      const int64_t* shape, size_t rank, ElementType, OrtValue**)>
    kCreateTensorOver;
inline constexpr Entry<51, OrtStatus*(OrtValue*, void**)> kGetTensorData;
inline constexpr Entry<194, OrtStatus*(const OrtValue*, const OrtMemoryInfo**)> kGetTensorMemory;
inline constexpr Entry<53, OrtStatus*(const OrtValue*, size_t*)> kGetStringsLength;
inline constexpr Entry<54, OrtStatus*(const OrtValue*, void* text, size_t size, size_t* offsets,
                                      size_t count)>
    kGetStrings;
inline constexpr Entry<65, OrtStatus*(const OrtValue*, OrtTensorInfo**)> kGetTensorInfo;
inline constexpr Entry<96, void(OrtValue*)> kReleaseValue;
inline constexpr Entry<252, OrtStatus*(OrtValue*, size_t index, size_t size, char**)>
    kResizeStringElement;

// Type and shape of a tensor, without an object to release. The value owns the shape.
inline constexpr Entry<414, OrtStatus*(const OrtValue*, ElementType*, const int64_t**, size_t*), 24>
    kGetTensorShape;

// The function table of a library.
class Table {
 public:
  using Function = void (*)();

  Table() = default;
  Table(const Function* functions, int api) : functions_(functions), api_(api) {}

  template <size_t kIndex, typename Result, typename... Parameters, int kSince>
  Result Call(Entry<kIndex, Result(Parameters...), kSince>,
              std::type_identity_t<Parameters>... arguments) const {
    return reinterpret_cast<Result (*)(Parameters...)>(functions_[kIndex])(arguments...);
  }

  // Whether the library is new enough for the function. Must be checked for entries with a kSince.
  template <size_t kIndex, typename Function, int kSince>
  bool Has(Entry<kIndex, Function, kSince>) const {
    return api_ >= kSince;
  }

 private:
  const Function* functions_ = nullptr;
  int api_ = 0;
};

// Owns one of the library's objects.
template <typename Object, auto kRelease>
class Handle {
 public:
  explicit Handle(const Table& table) : table_(table) {}
  ~Handle() {
    if (object_) table_.Call(kRelease, object_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  Object* get() const { return object_; }
  // For functions that store a new object there. The handle must be empty.
  Object** out() { return &object_; }

 private:
  const Table table_;
  Object* object_ = nullptr;
};

}  // namespace tritonts::onnxruntime
