// Triton's tensor datatypes. The numbers are those of Triton's config enum and of
// src/tensor/datatype.ts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tritonts {

// The most bytes of one tensor of a request or a response. src/tensor/max-bytes.ts has the same
// number.
constexpr size_t kMostTensorBytes = size_t{1} << 32;

enum class DataType : uint8_t {
  kInvalid = 0,
  kBool = 1,
  kUint8 = 2,
  kUint16 = 3,
  kUint32 = 4,
  kUint64 = 5,
  kInt8 = 6,
  kInt16 = 7,
  kInt32 = 8,
  kInt64 = 9,
  kFp16 = 10,
  kFp32 = 11,
  kFp64 = 12,
  kBytes = 13,  // each element: its length in 4 bytes, little endian, then its bytes
  kBf16 = 14,
};

// Bytes of one element; 0 for kBytes and kInvalid.
constexpr size_t ByteSize(DataType type) {
  switch (type) {
    case DataType::kBool:
    case DataType::kUint8:
    case DataType::kInt8:
      return 1;
    case DataType::kUint16:
    case DataType::kInt16:
    case DataType::kFp16:
    case DataType::kBf16:
      return 2;
    case DataType::kUint32:
    case DataType::kInt32:
    case DataType::kFp32:
      return 4;
    case DataType::kUint64:
    case DataType::kInt64:
    case DataType::kFp64:
      return 8;
    case DataType::kInvalid:
    case DataType::kBytes:
      return 0;
  }
  return 0;
}

// The name that the KServe protocol uses, such as "FP32".
constexpr const char* Name(DataType type) {
  constexpr const char* names[] = {"INVALID", "BOOL", "UINT8", "UINT16", "UINT32",
                                   "UINT64",  "INT8", "INT16", "INT32",  "INT64",
                                   "FP16",    "FP32", "FP64",  "BYTES",  "BF16"};
  const auto index = static_cast<size_t>(type);
  return index < sizeof(names) / sizeof(names[0]) ? names[index] : "INVALID";
}

}  // namespace tritonts
