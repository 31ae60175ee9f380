// Regions: ranges of memory that somebody registered with a server, so that requests can name them
// as sources of inputs and as targets of outputs. The memory may be the host's, such as a mapped
// file that other processes write to, or a device's.
//
// A region never changes. The table and the requests that use it share its memory, which is freed
// with the last reference, on the thread that drops it. So a region that is unregistered stays
// valid until the last request that reads or writes it has ended.
//
// Any thread may call any function.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "platform/mapped_file.h"

namespace tritonts {

class Region {
 public:
  Region(std::string name, BlockRef memory, platform::FileRange bytes = {})
      : name_(std::move(name)), memory_(std::move(memory)), bytes_(bytes) {}

  const std::string& name() const { return name_; }
  // The `size` bytes from `offset` on, which keep the memory alive. INVALID_ARG: the region has no
  // such range. Throws std::bad_alloc.
  StatusOr<Buffer> Range(uint64_t offset, uint64_t size) const;
  // Whether another region shows some of the same bytes of a file at other addresses.
  bool aliased() const { return aliased_.load(std::memory_order_relaxed); }

 private:
  friend class RegionTable;

  const std::string name_;
  const BlockRef memory_;
  const platform::FileRange bytes_;  // its size is 0: the memory is no file
  mutable std::atomic<bool> aliased_{false};
};

// The registered regions of a server, which all environments of the server share.
class RegionTable {
 public:
  // Registers memory, and returns the region's id, which no later region gets. The name is for
  // messages, `bytes` is the part of a file that the memory shows. ALREADY_EXISTS: the name is
  // taken. INVALID_ARG: the memory has no bytes. UNAVAILABLE: the table is closed. Throws
  // std::bad_alloc.
  StatusOr<uint32_t> Add(std::string name, BlockRef memory, platform::FileRange bytes = {});
  // Unregisters a region. False: there is no such region.
  bool Remove(uint32_t id);
  // Null: there is no such region.
  std::shared_ptr<const Region> Find(uint32_t id) const;
  // Unregisters all regions, and refuses others from now on.
  void Close();

 private:
  mutable std::mutex mutex_;  // guards all below
  std::unordered_map<uint32_t, std::shared_ptr<const Region>> regions_;
  uint32_t last_ = 0;
  bool closed_ = false;
};

}  // namespace tritonts
