#include "types.h"

#include <algorithm>

namespace tritonts::tensorflow {

namespace {

struct Row {
  int number;
  DataType type;
  const char* name;
};

constexpr Row kRows[] = {
    {1, DataType::kFp32, "DT_FLOAT"},           {2, DataType::kFp64, "DT_DOUBLE"},
    {3, DataType::kInt32, "DT_INT32"},          {4, DataType::kUint8, "DT_UINT8"},
    {5, DataType::kInt16, "DT_INT16"},          {6, DataType::kInt8, "DT_INT8"},
    {kTfString, DataType::kBytes, "DT_STRING"}, {8, DataType::kInvalid, "DT_COMPLEX64"},
    {9, DataType::kInt64, "DT_INT64"},          {10, DataType::kBool, "DT_BOOL"},
    {14, DataType::kBf16, "DT_BFLOAT16"},       {17, DataType::kUint16, "DT_UINT16"},
    {18, DataType::kInvalid, "DT_COMPLEX128"},  {19, DataType::kFp16, "DT_HALF"},
    {20, DataType::kInvalid, "DT_RESOURCE"},    {21, DataType::kInvalid, "DT_VARIANT"},
    {22, DataType::kUint32, "DT_UINT32"},       {23, DataType::kUint64, "DT_UINT64"},
};

// Null: TensorFlow has no such type, or a newer one.
const Row* Find(int number) {
  const Row* const row = std::find_if(std::begin(kRows), std::end(kRows),
                                      [=](const Row& one) { return one.number == number; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

DataType TypeOf(int number) {
  const Row* const row = Find(number);
  return row ? row->type : DataType::kInvalid;
}

std::string TypeName(int number) {
  const Row* const row = Find(number);
  return row ? row->name : "type " + std::to_string(number) + " of TensorFlow";
}

}  // namespace tritonts::tensorflow
