// A block of memory that other processes map, too (platform/mapped_file.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "platform/mapped_file.h"

namespace tritonts {

class MappedBlock final : public Block {
 public:
  // Maps a range of an existing file. INVALID_ARG: not possible; the message says why. Throws
  // std::bad_alloc. Any thread may call it, and drop the last reference, which unmaps the range.
  // `bytes` gets what it maps; null: not wanted.
  static StatusOr<BlockRef> Map(const std::string& path, uint64_t offset, uint64_t size,
                                platform::FileRange* bytes = nullptr) {
    auto file = std::make_unique<platform::MappedFile>();
    std::string fault;
    if (!file->Map(path, offset, size, &fault)) return Status::InvalidArg(std::move(fault));
    if (bytes) *bytes = file->bytes();
    return BlockRef::Adopt(new MappedBlock(std::move(file)));
  }

 private:
  explicit MappedBlock(std::unique_ptr<platform::MappedFile> file)
      : Block(file->data(), file->size(), MemoryKind::kShared), file_(std::move(file)) {}
  void Dispose() override { delete this; }
  bool lost() const override { return file_->lost(); }

  const std::unique_ptr<platform::MappedFile> file_;
};

}  // namespace tritonts
