// Reads protobuf's wire format forward, from memory or from a file of any size. Skipped bytes are
// not read. It terminates on any input, because each call moves forward or fails permanently.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tritonts {

// The head of a field. If it has a length, that many bytes follow, to be read or skipped. Of the
// other fields, `value` is a varint's; the values of the rest are skipped.
struct WireField {
  uint32_t number = 0;
  bool has_length = false;
  uint64_t length = 0;
  uint64_t value = 0;
};

// Not thread-safe.
class WireReader {
 public:
  // The bytes must outlive the reader.
  explicit WireReader(std::string_view bytes);
  explicit WireReader(const std::filesystem::path& file);
  WireReader(const WireReader&) = delete;
  WireReader& operator=(const WireReader&) = delete;

  // Whether the bytes were malformed or could not be read. Every later call then fails.
  bool failed() const { return failed_; }
  uint64_t position() const { return chunk_at_ + next_; }
  uint64_t size() const { return size_; }
  // Whether these bytes are at `offset` from here. Does not move.
  bool SeesAt(size_t offset, std::string_view bytes);

  // The next field of the message that ends at `end`. Returns false at the end, or on failure.
  bool Next(uint64_t end, WireField* field);
  // Reads the rest of the field. Only the first `most` bytes are kept.
  bool Text(const WireField& field, size_t most, std::string* text);
  bool Skip(uint64_t count);

 private:
  static constexpr size_t kChunk = 16 << 10;

  bool Fail();
  bool Byte(uint8_t* byte);
  bool Varint(uint64_t* value);
  // Reads the next chunk from the file. Returns false at the end of the file.
  bool Fill();

  std::ifstream file_;
  std::array<char, kChunk> buffer_;
  std::string_view chunk_;  // in `buffer_`, or the whole memory
  uint64_t chunk_at_ = 0;   // its position in the input
  size_t next_ = 0;         // position in the chunk
  uint64_t size_ = 0;
  bool failed_ = false;
};

}  // namespace tritonts
