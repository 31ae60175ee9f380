// The owner of a response cache outside of the engine, for the program of scarce memory.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/cache/remote_cache.h"
#include "scarce_calls.h"

namespace tritonts::test {

// Plays the owner of a cache outside of the engine, on a thread of its own.
class CacheOwner {
 public:
  CacheOwner()
      : cache(std::make_shared<RemoteCache>(RemoteCache::Options{
            .timeout_ns = 20'000'000, .most_bytes = 4096, .most_queued = 1 << 16})) {
    cache->Attach([] {});
    thread_ = std::thread([this] {
      while (!ends_) {
        Once();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  ~CacheOwner() {
    ends_ = true;
    thread_.join();
    cache->Detach();
  }

  const std::shared_ptr<RemoteCache> cache;

 private:
  void Once() {
    try {
      uint32_t batch = 0;
      std::span<const RemoteCache::Lookup> lookups;
      {
        InEngine engine;
        lookups = cache->TakeLookups(&batch);
      }
      std::vector<std::span<const char>> values;
      {
        InTest test;
        for (const RemoteCache::Lookup& lookup : lookups) {
          const auto found = stored_.find(lookup.key);
          values.emplace_back();
          if (found != stored_.end()) values.back() = found->second;
        }
      }
      InEngine engine;
      if (batch != 0) cache->Answer(batch, values);
      std::vector<RemoteCache::Entry> entries = cache->TakeEntries();
      InTest test;
      for (RemoteCache::Entry& entry : entries) stored_[entry.key] = std::move(entry.value);
    } catch (const std::bad_alloc&) {
      // The look-ups wait for the next time.
    }
  }

  std::map<std::string, std::string> stored_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace tritonts::test
