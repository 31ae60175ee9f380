// The owner of a server's response cache (engine/cache/remote_cache.h) that is a plug-in of Triton.
//
// A plug-in may wait in any call, so it has threads of its own:
//
//   keeper     opens the plug-in, watches the others, and ends the plug-in
//   finders    take look-ups, and answer them
//   storer     takes entries, and stores them
//
//   up --a look-up fails, or takes too long--> down --one succeeds in time--> up
//
// After a look-up that took too long, the engine asks nothing for a while, and then once to try. So
// a plug-in that hangs delays few requests.
//
// Ownership: the environment that creates the server owns it, and its threads share it. A thread
// that does not return keeps it, with the plug-in and the cache. Any thread may call any function.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/cache/remote_cache.h"
#include "platform/thread.h"
#include "plugins/cache_plugin.h"

namespace tritonts::plugins {

class CacheOwner : public std::enable_shared_from_this<CacheOwner> {
 public:
  struct Options {
    std::string path;         // of the plug-in
    std::string own_library;  // see OpenPlugin
    std::string config;       // JSON
  };
  struct State {
    bool opened = false;  // or it has failed to
    Status fault;         // why it could not be opened
    bool ended = false;   // all threads have ended, and the plug-in's cache with them
    bool up = true;       // whether look-ups are answered
    // What happened since the last call, for the log.
    std::vector<std::string> notes;
  };

  // Opens the plug-in on a thread. `changed` is called on any thread when there is another state,
  // until Silence; it must only signal. Null: the system has no thread for it. Throws
  // std::bad_alloc.
  static std::shared_ptr<CacheOwner> Create(Options options, std::function<void()> changed);
  ~CacheOwner();

  // Takes what was noted. Throws std::bad_alloc.
  State TakeState();
  // Serves a cache from now on. Called once, when the plug-in was opened. False: the system has no
  // threads for it.
  bool Attach(const std::shared_ptr<RemoteCache>& cache);
  // Stores what is left, and ends the plug-in's cache. The state tells when that is done.
  void Close();
  // After Close: requests that wait for a look-up go on, and threads that do not return are left
  // alone.
  void Abandon();
  // Calls nobody any more.
  void Silence();

 private:
  // Look-ups that a finder takes together at most. Others may have the next ones.
  static constexpr size_t kTogether = 32;
  static constexpr size_t kFinders = 4;
  // A thread, and what it does.
  struct Worker {
    platform::Thread thread;
    uint64_t since_ns = 0;  // when its present call of the plug-in began; 0: none is under way
    bool is_late = false;   // it was told of
    bool abandoned = false;
    bool has_batch = false;  // a finder's
  };

  CacheOwner(Options options, std::function<void()> changed);
  void Keep();
  void Find(Worker* self);
  // False: there is no memory for look-ups that were taken. They had their answer, which is none.
  bool FindBatch(Worker* self);
  // Looks for keys, one after the other, while none takes too long and nobody closes. The result
  // has what was found by then. Throws std::bad_alloc.
  std::vector<CachePlugin::Value> LookUp(Worker* self, const std::vector<std::string>& keys);
  // How many of the look-ups that wait a finder takes, so that idle ones share them.
  size_t Share(Worker* self);
  void Store(Worker* self);
  void StoreAll(Worker* self);
  // Marks the time of a worker's call of the plug-in. The lock is held.
  void Begin(Worker* self, uint64_t now_ns);
  void BeginLookup(Worker* self, uint64_t now_ns);
  void End(Worker* self);
  // These are called with the lock held.
  void Watch();
  void NoteFault(std::string_view text, uint64_t now_ns) noexcept;
  void NoteSuccess();
  void Rest(uint64_t now_ns);
  void Note(std::initializer_list<std::string_view> parts) noexcept;
  void Changed();

  const Options options_;
  std::unique_ptr<CachePlugin> plugin_;  // the keeper's; the others use it while it waits for them
  std::shared_ptr<RemoteCache> cache_;   // set before the finders start

  // Held while look-ups are copied, so that they stay what they are. Taken before `mutex_`.
  std::mutex taking_;
  bool detached_ = false;  // guarded by taking_

  std::mutex mutex_;  // guards all below
  std::condition_variable keep_;
  std::condition_variable find_;
  std::condition_variable store_;
  std::function<void()> changed_;
  State state_;
  Worker keeper_;
  Worker storer_;
  std::array<Worker, kFinders> finders_;
  bool attached_ = false;
  bool stop_ = false;
  uint64_t stop_ns_ = 0;
  bool asked_ = false;
  bool offered_ = false;
  uint64_t watch_ns_ = UINT64_MAX;  // when the keeper looks again
  bool resting_ = false;
  uint64_t rest_until_ns_ = 0;
  uint64_t rest_ns_ = 0;   // how long the next rest is
  uint64_t usual_ns_ = 0;  // what a look-up took lately, on average
  uint64_t told_ns_ = 0;   // when a fault was noted; 0: none was
  bool fault_told_ = false;
  bool storing_fails_ = false;
};

}  // namespace tritonts::plugins
