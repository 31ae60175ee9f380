// Calls TensorRT's objects without its headers.
//
// The library exports few functions; all others are virtual functions. An object has two pointers:
// to its own table, which contains its destructor, and to its implementation. The headers' inline
// functions call the implementation's virtual functions, whose indexes are fixed for a major
// version.
//
// The structures and indexes are those of the x86-64 and arm64 ABI of Linux.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/datatype.h"

namespace tritonts::tensorrt {

// Dimensions, as TensorRT passes them.
struct Dims {
  static constexpr int32_t kMost = 8;
  int32_t count = 0;
  int64_t d[kMost] = {};
};
static_assert(sizeof(Dims) == 72);

struct Object {
  void* const* own;
  void* impl;
};

// The index of a function that a version lacks.
inline constexpr size_t kAbsent = ~size_t{0};

// The function indexes of a version, with TensorRT's names. New versions append functions; a new
// major version changes the indexes.
struct Table {
  struct {
    size_t deserializeCudaEngine;
    size_t setEngineHostCodeAllowed;
    size_t loadRuntime;
  } runtime;
  struct {
    size_t createExecutionContext;
    size_t getNbOptimizationProfiles;
    size_t getTensorShape;
    size_t getTensorDataType;
    size_t getTensorLocation;
    size_t isShapeInferenceIO;
    size_t getTensorIOMode;
    size_t getTensorFormat;
    size_t getProfileShape;
    size_t getNbIOTensors;
    size_t getIOTensorName;
    // A version has one function of each pair below: 11 lacks the first.
    size_t getProfileTensorValues;
    size_t getProfileTensorValuesV2;
    size_t getDeviceMemorySize;
    size_t getDeviceMemorySizeForProfileV2;
  } engine;
  struct {
    size_t setOptimizationProfileAsync;
    size_t setInputShape;
    size_t getTensorShape;
    size_t setTensorAddress;
    size_t inferShapes;
    size_t setOutputAllocator;
    size_t enqueueV3;
    size_t setDeviceMemory;
    size_t setDeviceMemoryV2;
  } context;
};

inline constexpr Table kTable10 = {
    .runtime = {.deserializeCudaEngine = 3, .setEngineHostCodeAllowed = 21, .loadRuntime = 20},
    .engine = {.createExecutionContext = 5,
               .getNbOptimizationProfiles = 10,
               .getTensorShape = 19,
               .getTensorDataType = 20,
               .getTensorLocation = 21,
               .isShapeInferenceIO = 22,
               .getTensorIOMode = 23,
               .getTensorFormat = 26,
               .getProfileShape = 29,
               .getNbIOTensors = 30,
               .getIOTensorName = 31,
               .getProfileTensorValues = 11,
               .getProfileTensorValuesV2 = 54,
               .getDeviceMemorySize = 7,
               .getDeviceMemorySizeForProfileV2 = 53},
    .context = {.setOptimizationProfileAsync = 17,
                .setInputShape = 21,
                .getTensorShape = 22,
                .setTensorAddress = 24,
                .inferShapes = 28,
                .setOutputAllocator = 32,
                .enqueueV3 = 37,
                .setDeviceMemory = 10,
                .setDeviceMemoryV2 = 49},
};

inline constexpr Table kTable11 = {
    .runtime = {.deserializeCudaEngine = 3, .setEngineHostCodeAllowed = 20, .loadRuntime = 19},
    .engine = {.createExecutionContext = 5,
               .getNbOptimizationProfiles = 8,
               .getTensorShape = 15,
               .getTensorDataType = 16,
               .getTensorLocation = 17,
               .isShapeInferenceIO = 18,
               .getTensorIOMode = 19,
               .getTensorFormat = 22,
               .getProfileShape = 25,
               .getNbIOTensors = 26,
               .getIOTensorName = 27,
               .getProfileTensorValues = kAbsent,
               .getProfileTensorValuesV2 = 46,
               .getDeviceMemorySize = kAbsent,
               .getDeviceMemorySizeForProfileV2 = 45},
    .context = {.setOptimizationProfileAsync = 16,
                .setInputShape = 20,
                .getTensorShape = 21,
                .setTensorAddress = 23,
                .inferShapes = 27,
                .setOutputAllocator = 31,
                .enqueueV3 = 36,
                .setDeviceMemory = kAbsent,
                .setDeviceMemoryV2 = 48},
};

// The table of a minor version of 10. Early ones lack the newest functions.
constexpr Table Table10(int32_t minor) {
  Table table = kTable10;
  if (minor < 13) table.engine.getProfileTensorValuesV2 = kAbsent;
  if (minor < 9) table.engine.getDeviceMemorySizeForProfileV2 = kAbsent;
  if (minor < 9) table.context.setDeviceMemoryV2 = kAbsent;
  return table;
}

// Calls the function at an index of the implementation's table.
template <typename Result, typename... Args>
Result Call(const Object* object, size_t place, Args... args) {
  using Function = Result (*)(void*, Args...);
  return reinterpret_cast<Function>((*static_cast<void***>(object->impl))[place])(object->impl,
                                                                                  args...);
}

// Deletes an object: the second function of its own table is the deleting destructor.
inline void Delete(Object* object) {
  using Function = void (*)(Object*);
  if (object) reinterpret_cast<Function>(object->own[1])(object);
}

inline constexpr int32_t kInput = 1;                    // getTensorIOMode
inline constexpr int32_t kOnHost = 1;                   // getTensorLocation
inline constexpr int32_t kLinear = 0;                   // getTensorFormat
inline constexpr int32_t kMemoryOfOurs = 2;             // createExecutionContext: user managed
enum Bound : int32_t { kMin = 0, kOpt = 1, kMax = 2 };  // getProfileShape

// The datatype for TensorRT's number; kInvalid if Triton has none.
constexpr DataType TypeOf(int32_t number) {
  constexpr DataType types[] = {DataType::kFp32,    DataType::kFp16, DataType::kInt8,
                                DataType::kInt32,   DataType::kBool, DataType::kUint8,
                                DataType::kInvalid, DataType::kBf16, DataType::kInt64};
  return number >= 0 && number <= 8 ? types[number] : DataType::kInvalid;
}

// The names of TensorRT's formats, for messages.
constexpr const char* FormatName(int32_t number) {
  constexpr const char* names[] = {"LINEAR",   "CHW2",  "HWC8",   "CHW4", "CHW16",
                                   "CHW32",    "DHWC8", "CDHW32", "HWC",  "DLA_LINEAR",
                                   "DLA_HWC4", "HWC16", "DHWC"};
  return number >= 0 && number <= 12 ? names[number] : "a format that this version does not know";
}

// TensorRT's name of a type, for messages.
constexpr const char* TypeName(int32_t number) {
  constexpr const char* names[] = {"float32", "float16",  "int8",  "int32", "bool", "uint8",
                                   "fp8",     "bfloat16", "int64", "int4",  "fp4",  "e8m0"};
  return number >= 0 && number <= 11 ? names[number] : "a type that this version does not know";
}

}  // namespace tritonts::tensorrt
