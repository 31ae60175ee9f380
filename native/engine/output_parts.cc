#include "output_parts.h"

#include <cstring>

namespace tritonts {

namespace {

// Where so many strings end, each with its length in front, of which the first begins at `at`; past
// `size` where they are cut.
size_t EndOfStrings(const char* data, size_t size, size_t at, size_t count) {
  for (; count > 0; count--) {
    uint32_t length = 0;
    if (size - at < sizeof(length)) return size + 1;
    std::memcpy(&length, data + at, sizeof(length));
    at += sizeof(length);
    if (size - at < length) return size + 1;
    at += length;
  }
  return at;
}

}  // namespace

bool CutPart(uint32_t rows_of_part, uint32_t parts, uint32_t part, OutputTensor* tensor) {
  const auto* data = static_cast<const char*>(tensor->data);
  size_t begin = tensor->size / parts * part;
  size_t end = tensor->size / parts * (part + 1);
  if (tensor->datatype == DataType::kBytes) {
    size_t each = rows_of_part;
    for (const int64_t dim : tensor->tail.subspan(1)) each *= static_cast<size_t>(dim);
    begin = EndOfStrings(data, tensor->size, 0, each * part);
    if (begin > tensor->size) return false;
    end = EndOfStrings(data, tensor->size, begin, each);
    if (end > tensor->size) return false;
  }
  tensor->batch = rows_of_part;
  tensor->tail = tensor->tail.subspan(1);
  tensor->data = data + begin;
  tensor->size = end - begin;
  return true;
}

}  // namespace tritonts
