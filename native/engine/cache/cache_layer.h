// The layer that answers a version's requests from the response cache (request/layer.h).
//
//   Submit --- found in the cache --------------------------> answered at once
//      |------ an equal request is in flight: follow it ----> answered with its answer
//      '------ lead: run, and insert the answer ------------> answered by the version
//
// A request that cannot be cached passes, and so does one for which there is no memory. Errors are
// never stored. If a leader fails, its followers fail alike, because they would have been in that
// run. But if the leader was cancelled, one of them leads the others; and if it was refused or
// expired, each goes its own way.
//
// A request follows only what waits as it would: with a time limit in the queue, at another
// priority level, or as a call of a model that runs (call_graph.h), it runs itself.
//
// If responses must leave in the order of their requests (preserve_ordering), a request is answered
// from the cache only if no earlier one is under way, and none follows another one.
//
// Threads: any thread may call any function. The lock guards the waiting requests. It is not held
// while the cache, the chain or a sink is called.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/cache/answering_layer.h"
#include "engine/cache/local_cache.h"
#include "engine/cache/pending_answers.h"
#include "engine/memory/pool.h"

namespace tritonts {

class CacheLayer final : public AnsweringLayer {
 public:
  struct Options {
    bool coalesce = true;   // equal requests in flight share one run
    bool in_order = false;  // responses leave in the order of their requests
    // Nothing is stored: equal requests share a run, and a layer inside of this one has a cache.
    bool shares_only = false;
  };
  // `version` is the uid of the version, and `model` its name, for messages. Throws
  // std::bad_alloc.
  CacheLayer(std::shared_ptr<LocalCache> cache, uint32_t version, const std::string& model,
             const Options& options)
      : cache_(std::move(cache)),
        version_(version),
        coalesce_(options.coalesce && !options.in_order),
        in_order_(options.in_order),
        shares_only_(options.shares_only),
        cancelled_(Status::Cancelled("model '" + model + "': the request was cancelled")) {}
  // Removes the version's entries from the cache.
  ~CacheLayer() override;

  void Submit(std::span<Request* const> requests, uint64_t now_ns,
              InlineTime* inline_time) noexcept override;
  void Cancel(std::span<Request* const> requests) noexcept override;
  void See(std::span<const Response> responses) noexcept override;
  void Abort(const Status& status) noexcept override;
  void Retire() noexcept override;
  void Renew() noexcept override { generation_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  // A request that was looked up.
  struct Looked {
    Request* request = nullptr;
    // A hit: the entry with the answer. A miss: an entry with the key. Empty: it cannot be cached.
    CacheEntryRef entry;
    bool hit = false;
  };
  // A leader that has its answer.
  struct Led {
    PendingTicket* ticket = nullptr;
    const Response* response = nullptr;
  };

  // Looks the requests up. Throws std::bad_alloc.
  void Look(std::span<Request* const> requests, uint64_t now_ns, std::span<Looked> looked);
  // Answers those that were found, and registers the others. Returns those that go on, in `room`.
  std::span<Request* const> Divide(std::span<Looked> looked, uint64_t start_ns,
                                   std::span<Request*> room) noexcept;
  // Lets hits run that come after requests under way. Only for versions whose responses are in
  // order.
  void KeepOrder(std::span<Looked> looked);
  // Registers the misses. Returns those that go on, in `passed`.
  std::span<Request* const> Register(std::span<Looked> looked, uint64_t lookup_ns,
                                     std::span<Request*> passed);
  // Answers requests with the entries that were found.
  void AnswerHits(std::span<const Looked> looked, uint64_t found_ns, uint64_t lookup_ns);
  static void SetHit(const Looked& hit, const BatchTimings& timings, Response* response);
  // Answers adjacent hits of one header, whose entries are alike, with one delivery. False: there
  // is no memory for that.
  bool AnswerAlike(std::span<const Looked> hits, const BatchTimings& timings);
  // Answers with outputs of which some are large. Those are lent to a sink that takes memory which
  // is not its own, and copied for any other one.
  void AnswerLarge(Request* request, const CacheEntryRef& entry, const BatchTimings& timings);
  // Whether the answer of a leader does not fit in the cache, and nobody waits for it.
  bool IsInVain(const PendingTicket& ticket, const Response& response);
  // Inserts the answer of a leader, and answers its followers.
  void Settle(const Led& led);
  void AnswerFollowers(PendingTicket* first, const CacheEntryRef& entry, const Response& like);
  void PassFollowers(PendingTicket* first);
  // Takes a follower out of the waiting requests. False: the request does not follow.
  bool Leave(Request* request);
  void Free(PendingTicket* ticket);

  const std::shared_ptr<LocalCache> cache_;
  const uint32_t version_;
  const bool coalesce_;
  const bool in_order_;
  const bool shares_only_;
  const Status cancelled_;
  std::atomic<uint32_t> generation_{0};
  std::atomic<bool> retired_{false};

  std::mutex mutex_;  // guards all below
  PendingAnswers pending_;
};

}  // namespace tritonts
