#include "value_shapes.h"

#include <cstdint>
#include <limits>
#include <optional>

namespace tritonts::onnxruntime {

namespace {

// Field numbers of onnx.proto.
constexpr uint64_t kGraphOfModel = 7;
constexpr uint64_t kGraphInput = 11;
constexpr uint64_t kGraphOutput = 12;
constexpr uint64_t kValueName = 1;
constexpr uint64_t kValueType = 2;
constexpr uint64_t kTypeTensor = 1;
constexpr uint64_t kTensorShape = 2;

// Longer names are malformed.
constexpr uint64_t kMostNameBytes = 1 << 16;
// Longer fields are skipped by seeking. Shorter ones are read, which is cheaper with a buffered
// file.
constexpr uint64_t kJump = 1 << 16;

// A position in a protobuf message. When the bytes are malformed, it moves to the end.
class Cursor {
 public:
  explicit Cursor(std::istream& bytes) : bytes_(bytes) {}

  uint64_t position() const { return position_; }
  bool ok() const { return ok_; }

  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; ok_ && shift < 64; shift += 7) {
      const int byte = bytes_.get();
      ok_ = byte >= 0;
      position_++;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }

  void Skip(uint64_t count) {
    if (!ok_ || count == 0) return;
    ok_ = count <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) - position_;
    if (!ok_) return;
    const auto length = static_cast<std::streamoff>(count);
    if (count > kJump) {
      bytes_.seekg(length, std::ios::cur);
    } else {
      bytes_.ignore(length);
    }
    position_ += count;
    ok_ = bytes_.good();
  }

  std::string Text(uint64_t count) {
    std::string text(static_cast<size_t>(count), '\0');
    bytes_.read(text.data(), static_cast<std::streamsize>(count));
    position_ += count;
    ok_ = ok_ && bytes_.good();
    return text;
  }

 private:
  std::istream& bytes_;
  uint64_t position_ = 0;
  bool ok_ = true;
};

// Calls `visit(number, length)` for each length-delimited field in the message that ends at `end`.
// The rest of the field that `visit` leaves unread is skipped.
template <typename Visit>
void ForFields(Cursor* at, uint64_t end, Visit visit) {
  while (at->ok() && at->position() < end) {
    const uint64_t tag = at->Varint();
    if (!at->ok()) return;
    switch (tag & 7) {
      case 0:
        at->Varint();
        break;
      case 1:
        at->Skip(8);
        break;
      case 5:
        at->Skip(4);
        break;
      case 2: {
        const uint64_t length = at->Varint();
        if (!at->ok() || length > end - at->position()) return;
        const uint64_t after = at->position() + length;
        visit(tag >> 3, length);
        if (at->position() > after) return;
        at->Skip(after - at->position());
        break;
      }
      default:
        return;
    }
  }
}

// The name of the value that ends at `end` if it is a tensor without a shape.
std::optional<std::string> UnshapedName(Cursor* at, uint64_t end) {
  std::string name;
  bool is_tensor = false;
  bool has_shape = false;
  ForFields(at, end, [&](uint64_t field, uint64_t length) {
    if (field == kValueName && length <= kMostNameBytes) name = at->Text(length);
    if (field != kValueType) return;
    ForFields(at, at->position() + length, [&](uint64_t kind, uint64_t bytes) {
      if (kind != kTypeTensor) return;
      is_tensor = true;
      ForFields(at, at->position() + bytes,
                [&](uint64_t part, uint64_t) { has_shape = has_shape || part == kTensorShape; });
    });
  });
  if (!at->ok() || !is_tensor || has_shape) return std::nullopt;
  return name;
}

}  // namespace

std::set<std::string> UnshapedValues(std::istream& model) {
  std::set<std::string> names;
  Cursor at(model);
  // The file size is unknown here; reading fails at the end.
  ForFields(&at, std::numeric_limits<int64_t>::max(), [&](uint64_t field, uint64_t length) {
    if (field != kGraphOfModel) return;
    ForFields(&at, at.position() + length, [&](uint64_t part, uint64_t bytes) {
      if (part != kGraphInput && part != kGraphOutput) return;
      if (auto name = UnshapedName(&at, at.position() + bytes)) names.insert(*std::move(name));
    });
  });
  return names;
}

}  // namespace tritonts::onnxruntime
