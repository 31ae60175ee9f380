// Ends the versions of a server, and finally the server. It has a retirement (retirement.h) for
// each version that ends, and performs the retirement's steps on its own thread, which never blocks
// on a backend.
//
// Steps that may take long run on other threads: the destroyer aborts and destroys versions, and
// the loaders load them. So a version that is slow to end delays no other version, and Close keeps
// its limit.
//
// The server owns it. Any thread may call any function, but only the owner may call Start, Join and
// the destructor. Callbacks are called with no lock held, on the reaper's thread, or on the
// caller's if everything has already ended. If there is no memory, the reaper's thread waits for
// it. A callback that throws std::bad_alloc must have had no effect, and is called again.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/server/destroyer.h"
#include "engine/server/retirement.h"
#include "platform/thread.h"

namespace tritonts {

class Loaders;
class Served;
class PortList;
class VersionTable;

class Reaper {
 public:
  // The server's parts. They outlive the reaper.
  struct Parts {
    VersionTable* versions;
    PortList* ports;
    Loaders* loaders;
    Destroyer* destroyer;
    // Returns the server, to keep it alive for calls that may be abandoned.
    std::function<std::shared_ptr<const void>()> server;
  };

  explicit Reaper(const Parts& parts);
  ~Reaper();  // joins
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Starts the thread. False: the system could not start it.
  [[nodiscard]] bool Start();
  // Ends a version, within its own limit if it has one (Served::unload_wait_ns). `done` is called
  // when the version has ended, with whether it was abandoned. If
  // Retire throws std::bad_alloc, nothing was done.
  void Retire(const std::shared_ptr<Served>& version, std::function<void(bool abandoned)> done);
  // Ends all versions by the limit. `done` is called 2 s after the limit at the latest, with the
  // names of models that were abandoned. Called after the loaders and ports were closed. If Close
  // throws std::bad_alloc, nothing was done.
  void Close(uint64_t limit_ns, std::function<void(std::vector<std::string>)> done);
  // Whether Close was called.
  bool closing() const;
  // Waits until everything has ended after Close, for at most `wait_ms`. False: not everything has
  // ended.
  bool WaitClosed(uint64_t wait_ms);
  // Notes a change that a retirement may wait for: of a port, a load, a version or a call.
  void Wake();
  // Joins the thread. Called when everything has ended after Close.
  void Join();

 private:
  struct Ending {
    std::shared_ptr<Served> version;
    uint32_t epoch = 0;  // at which the version was withdrawn
    Retirement steps;
    std::shared_ptr<Destroyer::Call> call;  // the call that aborts or destroys the version
    bool destroying = false;
    std::vector<std::function<void(bool)>> done;
  };
  struct Order {
    std::shared_ptr<Served> version;
    uint32_t epoch = 0;
    std::function<void(bool)> done;
  };

  void Run();
  // Moves new orders into `endings_`.
  void TakeOrders();
  // Begins to end a version. `done` may be empty. If Begin throws std::bad_alloc, it may be called
  // again.
  void Begin(const std::shared_ptr<Served>& version, uint32_t epoch, uint64_t limit_ns,
             const std::function<void(bool)>& done);
  // Continues every ending. Returns when to look again.
  uint64_t GoOn();
  // Queues a call for the destroyer, and waits for memory if there is none.
  template <typename Body>
  std::shared_ptr<Destroyer::Call> Call(const Body& body);
  // Continues one ending. True: the version has ended or was abandoned.
  bool GoOn(Ending* ending);
  Retirement::Facts FactsOf(const Ending& ending) const;
  // False: the version has been destroyed meanwhile.
  bool AbandonVersion(const Ending& ending);
  // Abandons loads that did not return in time. Returns when to look again.
  uint64_t WatchLoads();
  void NoteAbandoned(const std::string& name);
  std::vector<std::string> Abandoned() const;
  // Whether everything has ended after Close. If so, calls the callbacks.
  bool Finish();

  const Parts parts_;
  platform::Thread thread_;  // only the owner touches it

  // Only the reaper's thread uses these.
  std::map<uint32_t, Ending> endings_;  // by uid
  bool loads_abandoned_ = false;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wanted_;
  std::condition_variable closed_changed_;
  std::vector<Order> orders_;
  bool busy_ = false;  // there are endings or orders
  bool again_ = false;
  bool stop_ = false;
  bool closing_ = false;
  bool closed_ = false;
  uint64_t limit_ns_ = Retirement::kNoLimit;
  std::vector<std::string> abandoned_;
  std::vector<std::function<void(std::vector<std::string>)>> close_done_;
};

}  // namespace tritonts
