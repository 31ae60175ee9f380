// How TensorRT's objects are called without its headers.
//
// The library exports little. All else are virtual functions. An object has two pointers: to a
// table of its own, which has its destructor, and to what does the work. The headers' functions
// call the virtual functions of the latter, by places that are fixed for a major version.
//
// The structures and places are those of the x86-64 and arm64 ABI of Linux.
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

// The places of the functions of one major version, named as TensorRT names them.
struct Table {
  struct {
    size_t deserializeCudaEngine;
  } runtime;
  struct {
    size_t createExecutionContext, getNbOptimizationProfiles, getTensorShape, getTensorDataType,
        getTensorLocation, isShapeInferenceIO, getTensorIOMode, getTensorFormat, getProfileShape,
        getNbIOTensors, getIOTensorName;
  } engine;
  struct {
    size_t setInputShape, getTensorShape, setTensorAddress, inferShapes, enqueueV3;
  } context;
};

inline constexpr Table kTable10 = {
    {3}, {5, 10, 19, 20, 21, 22, 23, 26, 29, 30, 31}, {21, 22, 24, 28, 37}};

// Calls the function in a place of an object's table.
template <typename Result, typename... Args>
Result Call(const Object* object, size_t place, Args... args) {
  using Function = Result (*)(void*, Args...);
  return reinterpret_cast<Function>((*static_cast<void***>(object->impl))[place])(object->impl,
                                                                                  args...);
}

// Deletes an object: the second of a table's functions is the destructor that does so.
inline void Delete(Object* object) {
  using Function = void (*)(Object*);
  if (object) reinterpret_cast<Function>(object->own[1])(object);
}

inline constexpr int32_t kInput = 1;                    // getTensorIOMode
inline constexpr int32_t kOnHost = 1;                   // getTensorLocation
inline constexpr int32_t kLinear = 0;                   // getTensorFormat
inline constexpr int32_t kStaticMemory = 0;             // createExecutionContext: memory of its own
enum Bound : int32_t { kMin = 0, kOpt = 1, kMax = 2 };  // getProfileShape

// The type of TensorRT's number; kInvalid: Triton has no name for it.
constexpr DataType TypeOf(int32_t number) {
  constexpr DataType types[] = {DataType::kFp32,    DataType::kFp16, DataType::kInt8,
                                DataType::kInt32,   DataType::kBool, DataType::kUint8,
                                DataType::kInvalid, DataType::kBf16, DataType::kInt64};
  return number >= 0 && number <= 8 ? types[number] : DataType::kInvalid;
}

// TensorRT's name for it, for messages.
constexpr const char* TypeName(int32_t number) {
  constexpr const char* names[] = {"float32", "float16",  "int8",  "int32", "bool", "uint8",
                                   "fp8",     "bfloat16", "int64", "int4",  "fp4",  "e8m0"};
  return number >= 0 && number <= 11 ? names[number] : "a type that this version does not know";
}

}  // namespace tritonts::tensorrt
