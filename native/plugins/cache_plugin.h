// A cache of Triton's interface TRITONCACHE: a library, and a cache that it has made.
//
// Any thread may call any function, several at a time, as in Triton. They wait for the plug-in,
// which may take any time. Once the process exits, they return UNAVAILABLE without a call.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "engine/memory/pool.h"
#include "platform/dynamic_library.h"
#include "plugins/abi/types.h"

namespace tritonts::plugins {

class CachePlugin {
 public:
  // What was found.
  struct Value {
    BlockRef block;  // empty: nothing was
    size_t size = 0;
  };

  // Opens the library at `path`, and has it make a cache with `config`, a JSON object.
  // `own_library`: see OpenPlugin. INVALID_ARG: the library lacks a function of a cache; what the
  // plug-in returns. Throws std::bad_alloc.
  static StatusOr<std::unique_ptr<CachePlugin>> Open(const std::string& path,
                                                     const std::string& own_library,
                                                     const std::string& config);
  // Has the plug-in end the cache. No call may be under way.
  ~CachePlugin();
  CachePlugin(const CachePlugin&) = delete;
  CachePlugin& operator=(const CachePlugin&) = delete;

  // Copies what is stored under a key to a block of `pool`, of at most `most` bytes. A key that is
  // not found is no error. Throws std::bad_alloc.
  Status Lookup(const std::string& key, BlockPool* pool, size_t most, Value* found);
  // Stores bytes. A key that is stored already is no error. Throws std::bad_alloc.
  Status Insert(const std::string& key, std::span<const char> value);

 private:
  struct Calls;
  explicit CachePlugin(std::unique_ptr<const Calls> calls);

  const std::unique_ptr<const Calls> calls_;
  TRITONCACHE_Cache* cache_ = nullptr;  // the plug-in's; null: it has made none
};

}  // namespace tritonts::plugins
