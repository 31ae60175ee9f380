// A response cache outside of the engine, which its owner looks into on its own threads: the event
// loop of the environment that owns the server, for a cache in TypeScript such as one that asks
// Redis; or threads for a plug-in of Triton (plugins/cache_owner.h).
//
//   any thread                     the owner's thread
//   layers --Ask--> look-ups ----> TakeLookups ... Answer --> Asker::Found --> layers
//          --Offer-> entries ----> TakeEntries
//
// The owner is woken once for all that came since it last took something. So the look-ups of a tick
// are taken together. Nothing waits for the owner: its layers limit the time (remote_layer.h).
//
// A server owns it, and its versions' layers share it. Any thread may call any function. An owner
// with several threads keeps a batch on one of them, and none uses a batch while it detaches. The
// lock guards the queues. It is not held while the owner is woken, and an asker is called.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/memory/pool.h"

namespace tritonts {

class Request;

class RemoteCache {
 public:
  struct Options {
    uint64_t timeout_ns = 0;   // a request waits no longer for its look-up
    uint64_t most_bytes = 0;   // of a stored answer
    uint64_t most_queued = 0;  // bytes of entries that wait for the owner
    bool plugin = false;       // it is a plug-in of Triton, which has metrics of its own
  };
  struct Lookup {
    uint32_t asker = 0;
    // Names of the request and of its look-up. The request may have ended meanwhile.
    const Request* request = nullptr;
    uint64_t id = 0;
    std::string key;
  };
  struct Entry {
    std::string key;
    std::string value;
  };

  // Receives the results of look-ups.
  class Asker {
   public:
    // By position: what is stored, which nobody changes meanwhile; without data: nothing is. No
    // values at all: the look-up has failed. Called on a thread of the owner. The look-ups are
    // those of this asker.
    virtual void Found(std::span<const Lookup> lookups,
                       std::span<const std::span<const char>> values) noexcept = 0;

   protected:
    ~Asker() = default;
  };

  explicit RemoteCache(const Options& options) : options_(options), pool_(kIdleBytes) {}
  RemoteCache(const RemoteCache&) = delete;
  RemoteCache& operator=(const RemoteCache&) = delete;

  const Options& options() const { return options_; }
  BlockPool& pool() { return pool_; }

  // --- For layers. Returns the asker's number. Throws std::bad_alloc.
  uint32_t Join(Asker* asker);
  // Waits for calls of Found. No more follow.
  void Leave(uint32_t number);
  // Whether look-ups are answered at present. A hint.
  bool open() const { return Accepts(mode_.load(std::memory_order_relaxed)); }
  // Queues look-ups. False: they are not answered at present, too many wait or the first of them
  // for too long, or there is no memory.
  bool Ask(std::vector<Lookup> lookups) noexcept;
  // Queues an entry. It is dropped if too many wait.
  void Offer(Entry entry) noexcept;

  // --- For the owner. `wake` is called on any thread, never after Detach has returned. It must
  // only signal.
  void Attach(std::function<void()> wake);
  // No look-up is answered any more.
  void Detach();
  // A batch of at most so many look-ups, which has this number until Answer. Empty: there are none.
  // If there are more, the owner is woken again. The look-ups are valid until Answer or Detach.
  // Throws std::bad_alloc.
  std::span<const Lookup> TakeLookups(uint32_t* number, size_t most = kMostTogether);
  // How many look-ups have not been taken.
  size_t LookupsWaiting();
  std::vector<Entry> TakeEntries();
  // Whether entries wait. For an owner that takes them on another thread than look-ups: it is woken
  // once for both.
  bool HasEntries();
  // Gives a batch its results, as for Found. Nothing happens if it had its results before.
  void Answer(uint32_t number, std::span<const std::span<const char>> values);
  // What happens to look-ups from now on.
  enum class Mode : uint8_t {
    kClosed,  // the owner is not attached
    kOpen,
    kPaused,  // they are refused
    kProbe    // those of the next batch are accepted
  };
  void SetMode(Mode mode);

  struct Counts {
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t unusable = 0;  // part of the misses: what was stored is no answer to the request
    uint64_t failed = 0;    // look-ups without a result
    uint64_t dropped = 0;   // entries that were not passed on
    uint64_t lookup_ns = 0;
  };
  Counts counts() const noexcept;
  // For layers: adds to the counts, but for `dropped`.
  void Note(const Counts& counts) noexcept;

 private:
  static constexpr size_t kIdleBytes = size_t{32} << 20;
  // Look-ups that wait for the owner, and those of a batch.
  static constexpr size_t kMostAsked = size_t{1} << 16;
  static constexpr size_t kMostTogether = 1024;
  static bool Accepts(Mode mode) { return mode == Mode::kOpen || mode == Mode::kProbe; }
  struct Joined {
    Asker* asker = nullptr;
    uint32_t calls = 0;  // of Found, now
  };
  // Wakes the owner, unless that was done since it last took something. Releases the lock.
  void Wake(std::unique_lock<std::mutex>* lock);

  const Options options_;
  BlockPool pool_;
  std::atomic<Mode> mode_{Mode::kClosed};  // written with the lock held
  std::atomic<uint32_t> waking_{0};        // threads in `wake_`, for which Detach waits
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
  std::atomic<uint64_t> unusable_{0};
  std::atomic<uint64_t> failed_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> lookup_ns_{0};

  std::mutex mutex_;  // guards all below
  std::condition_variable left_;
  std::function<void()> wake_;
  bool woken_ = false;
  uint32_t last_asker_ = 0;
  std::map<uint32_t, Joined> askers_;
  std::vector<Lookup> asked_;
  uint64_t asked_since_ns_ = 0;  // the first of them
  std::vector<Entry> entries_;
  uint64_t entry_bytes_ = 0;
  uint32_t last_batch_ = 0;
  std::map<uint32_t, std::vector<Lookup>> batches_;
};

}  // namespace tritonts
