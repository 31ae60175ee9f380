// Reads protobuf's wire format forward, from memory or from a file of any size: what is skipped is
// not read. Whatever the bytes are, it ends: each call moves on, or fails for good.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tritonts::onnxruntime {

// A field's head. Of a field with a length, that many bytes follow, to be read or skipped; the
// values of others are passed over.
struct WireField {
  uint32_t number = 0;
  bool has_length = false;
  uint64_t length = 0;
};

// One thread at a time.
class WireReader {
 public:
  // The bytes must outlive it.
  explicit WireReader(std::string_view bytes);
  explicit WireReader(const std::filesystem::path& file);
  WireReader(const WireReader&) = delete;
  WireReader& operator=(const WireReader&) = delete;

  // Something was not as the format wants it, or could not be read; then every call fails.
  bool failed() const { return failed_; }
  uint64_t position() const { return chunk_at_ + next_; }
  uint64_t size() const { return size_; }
  // Whether these bytes lie within the next few; does not move on.
  bool SeesAt(size_t offset, std::string_view bytes);

  // The next field of the message that ends at `end`. False: there is none, or this failed.
  bool Next(uint64_t end, WireField* field);
  // The rest of the field; of more than `most` bytes only the first ones are kept.
  bool Text(const WireField& field, size_t most, std::string* text);
  bool Skip(uint64_t count);

 private:
  static constexpr size_t kChunk = 16 << 10;

  bool Fail();
  bool Byte(uint8_t* byte);
  bool Varint(uint64_t* value);
  // Reads what follows from the file. False at its end.
  bool Fill();

  std::ifstream file_;
  std::array<char, kChunk> buffer_;
  std::string_view chunk_;  // in `buffer_`, or all of the memory
  uint64_t chunk_at_ = 0;   // its position
  size_t next_ = 0;         // in it
  uint64_t size_ = 0;
  bool failed_ = false;
};

}  // namespace tritonts::onnxruntime
