#include "wire_reader.h"

#include <algorithm>

namespace tritonts {

namespace {

// Wire types.
constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kLength = 2;
constexpr uint32_t kFixed32 = 5;

}  // namespace

WireReader::WireReader(std::string_view bytes) : chunk_(bytes), size_(bytes.size()) {}

WireReader::WireReader(const std::filesystem::path& file) {
  // The stream needs no buffer, because the reader has one.
  file_.rdbuf()->pubsetbuf(nullptr, 0);
  file_.open(file, std::ios::binary | std::ios::ate);
  const auto end = file_.is_open() ? static_cast<std::streamoff>(file_.tellg()) : -1;
  if (end < 0) {
    Fail();
  } else {
    size_ = static_cast<uint64_t>(end);
  }
}

bool WireReader::SeesAt(size_t offset, std::string_view bytes) {
  if (next_ == chunk_.size() && !Fill()) return false;
  const std::string_view seen = chunk_.substr(next_);
  return seen.size() > offset && seen.substr(offset).starts_with(bytes);
}

bool WireReader::Next(uint64_t end, WireField* field) {
  if (failed_) return false;
  // The previous field extends beyond its message.
  if (position() > end || end > size_) return Fail();
  if (position() == end) return false;
  uint64_t tag = 0;
  if (!Varint(&tag)) return false;
  const uint64_t number = tag >> 3;
  if (number == 0 || number > UINT32_MAX >> 3) return Fail();
  *field = {static_cast<uint32_t>(number), false, 0, 0};
  switch (tag & 7) {
    case kVarint:
      return Varint(&field->value) && (position() <= end || Fail());
    case kFixed64:
      return end - std::min(position(), end) >= 8 ? Skip(8) : Fail();
    case kFixed32:
      return end - std::min(position(), end) >= 4 ? Skip(4) : Fail();
    case kLength:
      field->has_length = true;
      if (!Varint(&field->length)) return false;
      return position() <= end && field->length <= end - position() ? true : Fail();
    default:
      return Fail();  // groups, which no format here has
  }
}

bool WireReader::Text(const WireField& field, size_t most, std::string* text) {
  const auto kept = static_cast<size_t>(std::min<uint64_t>(field.length, most));
  text->clear();
  while (text->size() < kept) {
    if (next_ == chunk_.size() && !Fill()) return Fail();
    const std::string_view more = chunk_.substr(next_, kept - text->size());
    text->append(more);
    next_ += more.size();
  }
  return Skip(field.length - kept);
}

bool WireReader::Skip(uint64_t count) {
  if (failed_ || count > size_ - position()) return Fail();
  const size_t here = chunk_.size() - next_;
  if (count <= here) {
    next_ += static_cast<size_t>(count);
    return true;
  }
  chunk_at_ = position() + count;
  chunk_ = {};
  next_ = 0;
  return true;
}

bool WireReader::Fail() {
  failed_ = true;
  return false;
}

bool WireReader::Byte(uint8_t* byte) {
  if (next_ == chunk_.size() && !Fill()) return Fail();
  *byte = static_cast<uint8_t>(chunk_[next_++]);
  return true;
}

bool WireReader::Varint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    uint8_t byte = 0;
    if (!Byte(&byte)) return false;
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return Fail();
}

bool WireReader::Fill() {
  const uint64_t at = position();
  if (failed_ || !file_.is_open() || at >= size_) return false;
  const auto count = static_cast<std::streamsize>(std::min<uint64_t>(kChunk, size_ - at));
  file_.seekg(static_cast<std::streamoff>(at));
  file_.read(buffer_.data(), count);
  // The file may have been truncated meanwhile.
  if (file_.gcount() != count) return false;
  chunk_at_ = at;
  chunk_ = {buffer_.data(), static_cast<size_t>(count)};
  next_ = 0;
  return true;
}

}  // namespace tritonts
