// The layer that answers a version's requests from a cache outside of the engine (remote_cache.h).
//
//   Submit --> held, while it is looked up --- found --------------------> answered
//                |                      '----- not found, no result -----> runs, and is stored
//                '-- its time is over, or the cache answers nothing -----> runs
//
// Requests that are equal are looked up each. A CacheLayer around this one lets those that are in
// flight share a run, and a look-up.
//
// A request waits for its look-up no longer than the cache's limit, nor than its own deadline: then
// it is queued, where the deadline counts. What is stored is an answer only if it has the whole key
// of the request (stored_answer.h).
//
// Threads: any thread may call any function. The lock guards what is held. It is not held while the
// cache, the chain or a sink is called.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/timer.h"
#include "engine/cache/answering_layer.h"
#include "engine/cache/cache_key.h"
#include "engine/cache/remote_cache.h"
#include "engine/cache/stored_answer.h"
#include "engine/request/model_io.h"

namespace tritonts {

class RemoteLayer final : public AnsweringLayer, private TimerClient, private RemoteCache::Asker {
 public:
  // `timer` outlives it. `io` is the version's, and `model` its name, for messages. Throws
  // std::bad_alloc.
  RemoteLayer(std::shared_ptr<RemoteCache> cache, Timer* timer, ModelIo io,
              const std::string& model);
  ~RemoteLayer() override;

  void Submit(std::span<Request* const> requests, uint64_t now_ns,
              InlineTime* inline_time) noexcept override;
  void Cancel(std::span<Request* const> requests) noexcept override;
  void See(std::span<const Response> responses) noexcept override;
  void Abort(const Status& status) noexcept override;
  // Forgets the identity. Answers of requests that are under way are not stored.
  void Renew() noexcept override;
  // From now on requests are looked up and stored under this identity; empty: they are not.
  void Identify(const std::string& identity) override;

 private:
  using Identity = std::shared_ptr<const std::string>;
  // A request that is looked up.
  struct Held {
    uint64_t id = 0;
    KeyHash hash;
    Identity identity;
    uint64_t start_ns = 0;
    uint64_t until_ns = 0;
  };
  // A request that runs, and whose answer is to be stored.
  struct Running {
    KeyHash hash;
    Identity identity;
    std::string stored;  // begun
    uint64_t lookup_ns = 0;
    uint32_t rows = 0;
  };
  // A request that was held.
  struct Taken {
    Request* request = nullptr;
    Held held;
    std::span<const char> value;
  };
  struct Hit;

  void OnTimer(uint64_t now_ns) override;
  void Found(std::span<const RemoteCache::Lookup> lookups,
             std::span<const std::span<const char>> values) noexcept override;
  Identity identity();
  // Holds a request. False: there is no memory.
  bool Hold(Request* request, const KeyHash& hash, const Identity& identity, uint64_t now_ns,
            std::vector<RemoteCache::Lookup>* lookups);
  // Takes a request that is still in this look-up. False: it is not.
  bool Take(const Request* request, uint64_t id, Held* held);
  // Answers hits. `passed` gets all others. Throws std::bad_alloc before anything was answered.
  void Settle(std::span<const Taken> taken, uint64_t now_ns, std::vector<Request*>* passed);
  void AnswerHits(std::span<Hit> hits, uint64_t now_ns);
  // Notes that the answer of a request is to be stored.
  void Lead(const Taken& taken, const KeyHead& head, uint64_t now_ns) noexcept;
  // Takes held requests that may wait until this time, as many as `taken` has room for. Fewer: they
  // were all of these, and the timer calls when the next one's time is over.
  size_t TakeHeld(uint64_t until_ns, std::span<Request*> taken);

  const std::shared_ptr<RemoteCache> cache_;
  Timer* const timer_;
  const ModelIo io_;
  const Status cancelled_;
  uint32_t number_ = 0;  // in the cache
  // Whether See may have something to do. A hint.
  std::atomic<uint64_t> running_count_{0};

  std::mutex mutex_;  // guards all below
  Identity identity_;
  uint64_t last_id_ = 0;
  uint64_t next_ns_ = UINT64_MAX;  // when the timer calls; UINT64_MAX: it does not
  std::unordered_map<const Request*, std::pair<Request*, Held>> held_;
  std::unordered_map<const Request*, Running> running_;
};

}  // namespace tritonts
