// Shared by tests of the response cache: a version with a cache around it, and single entries.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/cache/cache_layer.h"
#include "ensemble_fixture.h"

namespace tritonts::test {

// A version with one float per row, whose responses are cached.
class CachedVersion {
 public:
  explicit CachedVersion(Script script, uint64_t size = 1 << 20, bool coalesce = true,
                         uint64_t ttl_ns = 0, VersionConfig config = ConfigOf(FloatIo(), 1))
      : cache(std::make_shared<LocalCache>(size, ttl_ns)), bench_(std::move(script)) {
    bench_.version().AddLayer(std::make_unique<CacheLayer>(
        cache, 7, "m",
        CacheLayer::Options{.coalesce = coalesce, .in_order = config.preserve_ordering}));
    CHECK(bench_.version().Start(std::move(config)).ok());
  }
  ~CachedVersion() {
    CHECK(Eventually([this] { return bench_.version().drained(); }));
  }

  VersionBench& bench() { return bench_; }
  RecordingSink& sink() { return bench_.sink; }
  Statistics statistics() { return bench_.version().statistics(); }

  const std::shared_ptr<LocalCache> cache;

 private:
  VersionBench bench_;
};

// Looks entries of one input of bytes up, and inserts them.
class CacheKeys {
 public:
  explicit CacheKeys(LocalCache* cache) : cache_(cache) {}

  // The first byte of the output that is stored for a request; -1: none is.
  int Find(const Request& request, uint64_t now_ns, uint64_t scope = 1) {
    KeyHead head(scope, cache_->seed());
    head.Set(*request.header);
    const uint64_t sample = head.SampleOf(request);
    CacheEntryRef entry;
    if (sample != 0) entry = cache_->FindCandidate(head, request, sample, now_ns);
    sampled = static_cast<bool>(entry);
    if (!entry) entry = cache_->Find(head, request, head.HashOf(request), now_ns);
    return entry ? static_cast<const unsigned char*>(entry->outputs()[0].data)[0] : -1;
  }
  LocalCache::Inserted Insert(const Request& request, const std::string& output, uint64_t now_ns,
                              uint64_t scope = 1) {
    return cache_->Insert(Make(request, output, scope), now_ns);
  }
  CacheEntryRef Make(const Request& request, const std::string& output, uint64_t scope = 1) {
    KeyHead head(scope, cache_->seed());
    head.Set(*request.header);
    CacheEntryRef entry = CacheEntry::Make(&cache_->pool(), scope, head.HashOf(request),
                                           head.SampleOf(request), head, request);
    OutputTensor tensor;
    const int64_t dims[] = {static_cast<int64_t>(output.size())};
    tensor.datatype = DataType::kUint8;
    tensor.tail = dims;
    tensor.data = output.data();
    tensor.size = output.size();
    CHECK(entry->Fill({&tensor, 1}));
    return entry;
  }

  // Whether the last Find found the candidate of the key's sample.
  bool sampled = false;

 private:
  LocalCache* const cache_;
};

}  // namespace tritonts::test
