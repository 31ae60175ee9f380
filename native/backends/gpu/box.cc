#include "box.h"

#include <algorithm>
#include <cstring>

namespace tritonts {

namespace {

size_t BytesBehind(std::span<const int64_t> shape, size_t element) {
  for (const int64_t dim : shape) element *= static_cast<size_t>(dim);
  return element;
}

}  // namespace

void CopyBox(const void* from, std::span<const int64_t> from_shape, void* to,
             std::span<const int64_t> to_shape, size_t element) {
  if (std::equal(from_shape.begin(), from_shape.end(), to_shape.begin(), to_shape.end())) {
    if (const size_t bytes = BytesBehind(from_shape, element)) std::memcpy(to, from, bytes);
    return;
  }
  const size_t from_step = BytesBehind(from_shape.subspan(1), element);
  const size_t to_step = BytesBehind(to_shape.subspan(1), element);
  const auto rows = static_cast<size_t>(std::min(from_shape[0], to_shape[0]));
  for (size_t row = 0; row < rows; row++) {
    CopyBox(static_cast<const char*>(from) + row * from_step, from_shape.subspan(1),
            static_cast<char*>(to) + row * to_step, to_shape.subspan(1), element);
  }
}

bool DiffersInRowsOnly(std::span<const int64_t> one, std::span<const int64_t> other) {
  if (one.size() != other.size() || one.empty()) return one.size() == other.size();
  return std::equal(one.begin() + 1, one.end(), other.begin() + 1);
}

}  // namespace tritonts
