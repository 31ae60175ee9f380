// Ends the versions of a server, and with the last one the server: keeps their retirements
// (retirement.h), and does what each of these says, on a thread of its own that nothing holds up.
//
// Whatever may take long is on others' threads: what is destroyed or aborted on the destroyer's,
// what is loaded on the loaders'. So a version that is slow to end holds up no other one, and close
// keeps its limit.
//
// Any thread, but for Start, Join and the destructor. Callbacks come on the reaper's thread, with
// no lock held. Where memory is wanting, the reaper's thread waits for it; a callback that throws
// std::bad_alloc, and has told nothing, is called again.
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
class ModelVersion;
class PortList;
class VersionTable;

class Reaper {
 public:
  // What a server has; outlives the reaper.
  struct Parts {
    VersionTable* versions;
    PortList* ports;
    Loaders* loaders;
    Destroyer* destroyer;
    // The server itself, for calls that may outlast it when they are abandoned.
    std::function<std::shared_ptr<const void>()> server;
  };

  explicit Reaper(const Parts& parts);
  ~Reaper();  // joins
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Its owner. False: the system has no thread for it.
  [[nodiscard]] bool Start();
  // Ends a version; `done` comes when it has ended, and says whether it was abandoned. Throws
  // std::bad_alloc, and then did nothing.
  void Retire(const std::shared_ptr<ModelVersion>& version,
              std::function<void(bool abandoned)> done);
  // Ends all versions, by a limit as Retirement's. `done` gets the names of models that were
  // abandoned, 2 s after the limit at the latest. After the loaders and ports were closed. Throws
  // std::bad_alloc, and then did nothing.
  void Close(uint64_t limit_ns, std::function<void(std::vector<std::string>)> done);
  // Whether Close was called.
  bool closing() const;
  // Waits until Close is through, for at most `wait_ms`. False: not through.
  bool WaitClosed(uint64_t wait_ms);
  // What a retirement may wait for has changed: a port, a load, a version or a call.
  void Wake();
  // Joins the thread. Its owner, after Close is through.
  void Join();

 private:
  struct Ending {
    std::shared_ptr<ModelVersion> version;
    uint32_t epoch = 0;  // when it was published no more
    Retirement steps;
    std::shared_ptr<Destroyer::Call> call;  // that aborts or destroys it
    bool destroying = false;
    std::vector<std::function<void(bool)>> done;
  };
  struct Order {
    std::shared_ptr<ModelVersion> version;
    uint32_t epoch = 0;
    std::function<void(bool)> done;
  };

  void Run();
  // Takes new orders into `endings_`.
  void TakeOrders();
  // `done` may be empty. Throws std::bad_alloc, and may be called again then.
  void Begin(const std::shared_ptr<ModelVersion>& version, uint32_t epoch, uint64_t limit_ns,
             const std::function<void(bool)>& done);
  // Goes on with every ending; when to look again.
  uint64_t GoOn();
  // Has the destroyer make a call.
  template <typename Body>
  std::shared_ptr<Destroyer::Call> Call(const Body& body);
  // Goes on with one. True: it is over.
  bool GoOn(Ending* ending);
  Retirement::Facts FactsOf(const Ending& ending) const;
  // False: it has ended after all.
  bool AbandonVersion(const Ending& ending);
  // Abandons loads that did not return in time; when to look again.
  uint64_t WatchLoads();
  void NoteAbandoned(const std::string& name);
  std::vector<std::string> Abandoned() const;
  // Whether the server is closed, which is then told.
  bool Finish();

  const Parts parts_;
  platform::Thread thread_;  // its owner's

  // The thread's own.
  std::map<uint32_t, Ending> endings_;  // by uid
  bool loads_abandoned_ = false;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wanted_;
  std::condition_variable closed_changed_;
  std::vector<Order> orders_;
  bool busy_ = false;  // there are endings, or orders
  bool again_ = false;
  bool stop_ = false;
  bool closing_ = false;
  bool closed_ = false;
  uint64_t limit_ns_ = Retirement::kNoLimit;
  std::vector<std::string> abandoned_;
  std::vector<std::function<void(std::vector<std::string>)>> close_done_;
};

}  // namespace tritonts
