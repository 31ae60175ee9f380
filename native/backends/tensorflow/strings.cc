#include "strings.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "../common/faults.h"
#include "../common/serialised.h"
#include "types.h"

namespace tritonts::tensorflow {

namespace {

// The elements of a tensor. The library drops them when nothing refers to the tensor any more.
class Elements {
 public:
  // Throws std::bad_alloc.
  Elements(const Table& table, size_t count)
      : table_(table),
        count_(count),
        // Without elements, the tensor needs an address nevertheless.
        strings_(static_cast<TfString*>(
            ::operator new(std::max<size_t>(count, 1) * sizeof(TfString), kAlignment))) {
    for (TfString& string : all()) table_.StringInit(&string);
  }
  ~Elements() {
    for (TfString& string : all()) table_.StringDealloc(&string);
    ::operator delete(strings_, kAlignment);
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  std::span<TfString> all() { return {strings_, count_}; }

 private:
  // The library ends the process if a tensor of one element is at another address.
  static constexpr std::align_val_t kAlignment{64};

  const Table& table_;
  const size_t count_;
  TfString* const strings_;
};

void DropElements(void*, size_t, void* elements) {
  delete static_cast<Elements*>(elements);
}

}  // namespace

StatusOr<TensorObject> ReadStrings(const Library& library, std::span<const char> bytes,
                                   std::span<const int64_t> shape) {
  const Table& table = library.table();
  auto count = CountSerialised(bytes, shape);
  if (!count.ok()) return count.status();
  auto elements = std::make_unique<Elements>(table, count.value());
  const std::span<TfString> strings = elements->all();
  const Status status =
      ReadSerialised(bytes, count.value(), [&](size_t i, std::span<const char> text) {
        table.StringCopy(&strings[i], text.data(), text.size());
        return Status::Ok();
      });
  if (!status.ok()) return status;
  TfTensor* const tensor =
      table.NewTensor(kTfString, shape.data(), static_cast<int>(shape.size()), strings.data(),
                      strings.size_bytes(), DropElements, elements.release());
  if (tensor) return TensorObject(table, tensor);
  // The library has dropped the elements.
  return Status::Internal("TensorFlow makes no tensor of strings of this shape");
}

Status WriteStrings(const Library& library, Run& run, std::span<const TfString> strings,
                    size_t rows, SerialisedStrings* out) {
  const Table& table = library.table();
  out->size = 0;
  for (size_t i = 0; i < strings.size(); i++) {
    const size_t length = table.StringGetSize(&strings[i]);
    if (length > std::numeric_limits<uint32_t>::max()) {
      return Status::Internal("element " + std::to_string(i) + " has " + std::to_string(length) +
                              " bytes, more than a BYTES element can have");
    }
    out->size += kLengthBytes + length;
  }
  out->block = run.pool().Acquire(out->size);
  if (!out->block) return NoMemoryFor(out->size);
  char* const start = static_cast<char*>(out->block->data());
  char* target = start;
  out->row_offsets.clear();
  const size_t row_elements = rows > 0 ? strings.size() / rows : 0;
  for (size_t row = 0; row < rows; row++) {
    out->row_offsets.push_back(static_cast<size_t>(target - start));
    for (const TfString& string : strings.subspan(row * row_elements, row_elements)) {
      const size_t length = table.StringGetSize(&string);
      WriteLength(target, static_cast<uint32_t>(length));
      if (length > 0)
        std::memcpy(target + kLengthBytes, table.StringGetDataPointer(&string), length);
      target += kLengthBytes + length;
    }
  }
  out->row_offsets.push_back(static_cast<size_t>(target - start));
  return Status::Ok();
}

}  // namespace tritonts::tensorflow
