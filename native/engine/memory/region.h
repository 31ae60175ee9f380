// Regions: ranges of memory that somebody registered with a server, so that requests can name them
// as sources of inputs and as targets of outputs. The memory may be the host's, such as a mapped
// file that other processes write to, or a device's.
//
// A region never changes. The table and the requests that use it share it and its memory, which is
// freed with the last reference, on the thread that drops it. So a region that is unregistered
// stays valid until the last request that reads or writes it has ended. Until then it is listed,
// and its name stays taken, as in Triton.
//
// Any thread may call any function.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "platform/mapped_file.h"

namespace tritonts {

// What a region was registered with.
struct RegionOrigin {
  std::string key;      // the name of the shared memory
  uint64_t offset = 0;  // of the region in it
  bool own = false;     // the program made it itself: clients do not unregister it
  std::string file;     // removed when the region or the process ends; empty: none
};

// A region, as it is listed.
struct RegionEntry {
  uint32_t id = 0;  // 0: it is unregistered, and in use
  std::string name;
  uint64_t size = 0;
  RegionOrigin origin;
  int device = -1;  // whose memory it is; -1: the host's
};

class Region {
 public:
  // Throws std::bad_alloc.
  Region(std::string name, BlockRef memory, platform::FileRange bytes = {},
         RegionOrigin origin = {});
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region();

  const std::string& name() const { return name_; }
  const RegionOrigin& origin() const { return origin_; }
  uint64_t size() const { return memory_->size(); }
  // The device whose memory it is; -1: the host's.
  int device() const;
  // All its bytes.
  const BlockRef& memory() const { return memory_; }
  // The `size` bytes from `offset` on, which keep the memory alive. INVALID_ARG: the region has no
  // such range. Throws std::bad_alloc.
  StatusOr<Buffer> Range(uint64_t offset, uint64_t size) const;
  // INVALID_ARG: another process has made its memory shorter, and the lost part was accessed.
  Status CheckWhole() const;
  // Whether another region shows some of the same bytes of a file at other addresses.
  bool aliased() const { return aliased_.load(std::memory_order_relaxed); }

 private:
  friend class RegionTable;

  const std::string name_;
  const BlockRef memory_;
  const platform::FileRange bytes_;  // its size is 0: the memory is no file
  const RegionOrigin origin_;
  mutable std::atomic<bool> aliased_{false};
};

// The registered regions of a server, which all environments of the server share.
class RegionTable {
 public:
  // Registers memory, and returns the region's id, which no later region gets. The name is for
  // messages, `bytes` is the part of a file that the memory shows. ALREADY_EXISTS: the name is
  // taken. INVALID_ARG: the memory has no bytes. UNAVAILABLE: the table is closed. Throws
  // std::bad_alloc.
  StatusOr<uint32_t> Add(std::string name, BlockRef memory, platform::FileRange bytes = {},
                         RegionOrigin origin = {});
  // Whether a region of this name could be added: ALREADY_EXISTS as for Add. Throws std::bad_alloc.
  Status CheckName(const std::string& name);
  // Unregisters a region. False: there is no such region. Throws std::bad_alloc; then it stays.
  bool Remove(uint32_t id);
  // Null: there is no such region.
  std::shared_ptr<const Region> Find(uint32_t id) const;
  // The id of a registered region; 0: there is none of this name.
  uint32_t Named(std::string_view name) const;
  // All regions by id, then those that are unregistered and in use. Throws std::bad_alloc.
  std::vector<RegionEntry> All();
  // Unregisters all regions, and refuses others from now on.
  void Close();

 private:
  // All need the mutex. Ok, or ALREADY_EXISTS.
  Status CheckNameLocked(const std::string& name) const;
  // Forgets unregistered regions that no request uses any more.
  void ForgetUnused();
  uint32_t NamedLocked(std::string_view name) const;

  mutable std::mutex mutex_;                       // guards all below
  std::unordered_map<std::string, uint32_t> ids_;  // by name
  struct Leaving {
    RegionEntry entry;
    std::weak_ptr<const Region> region;
  };
  std::vector<Leaving> leaving_;  // unregistered, maybe in use
  std::unordered_map<uint32_t, std::shared_ptr<const Region>> regions_;
  uint32_t last_ = 0;
  bool closed_ = false;
};

}  // namespace tritonts
