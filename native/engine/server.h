// The engine of one server: loader threads, the table of models and versions, the ports of the
// environments that use it, and the reaper that ends what is no longer served.
//
// It belongs to the process and is shared by every environment; TypeScript in the environment that
// created it (the owner) decides what is loaded and published. All public methods may be called on
// any thread; callbacks run on loader or reaper threads with no lock held.
//
// A server keeps itself until Join, so that none of its threads can be the one that frees it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "backend.h"
#include "loaders.h"
#include "model_folder.h"
#include "model_version.h"
#include "port.h"
#include "status.h"
#include "timer.h"

namespace tritonts {

struct ServerOptions {
  uint32_t load_concurrency = 4;
  uint64_t max_in_flight_bytes = uint64_t{1} << 30;
  // Cores that instance threads with nothing to do may spin on, less those that run; 0: neither
  // they nor JS threads do.
  uint32_t spin_cores = 0;
};

struct OpenResult {
  Status status;
  uint32_t uid = 0;
  ModelDescription description;
};

class Server : public std::enable_shared_from_this<Server> {
 public:
  // The one state of the process besides runtimes: ids of servers that are up. Null where the
  // system has no thread for it.
  static std::shared_ptr<Server> Create(const ServerOptions& options);
  static std::shared_ptr<Server> Find(uint32_t id);
  // Asks the running batches of all servers to end, and starts no more.
  static void TerminateAll();

  ~Server();
  uint32_t id() const { return id_; }

  // --- Loading. Queued for a loader thread, but for StartAtOnce; every callback comes exactly
  // once.

  // As ReadModelFolder; the status is not ok where that was refused or given up.
  void ReadFolder(std::string model, std::string path, uint64_t most_config_bytes,
                  std::string known_stamp, std::function<void(Status, ModelFolder)> done);
  void Open(Backend* backend, ModelSpec spec, std::function<void(OpenResult)> done);
  void Start(uint32_t uid, VersionConfig config, std::function<void(Status)> done);
  // Starts a version on this thread, a JS thread, where that takes next to no time. Otherwise
  // nothing, and `config` is left as it is.
  std::optional<Status> StartAtOnce(uint32_t uid, VersionConfig* config);
  // Gives back to the system what loading has left free in the allocator, behind what is queued.
  void ReturnMemory(std::function<void()> done);
  // Answers queued loads with CANCELLED; running ones go on.
  void CancelLoads();

  // --- The table of models, as every environment sees it: one JSON text a model, written by the
  // owner, which names the versions' uids.
  void Publish(const std::string& name, std::string json);
  void Withdraw(const std::string& name);
  // The text and its revision, if the model is known and the revision is not `known_revision`.
  struct Snapshot {
    bool found = false;
    bool changed = false;
    uint64_t revision = 0;
    std::string json;
  };
  Snapshot Read(const std::string& name, uint64_t known_revision) const;
  std::vector<std::string> ModelNames() const;

  // --- Ending versions. `done` comes when the version is destroyed, and says whether it had to be
  // given up. Requests that environments submitted before they saw the last Publish are served.
  void Retire(uint32_t uid, std::function<void(bool given_up)> done);
  // Ends everything: refuses new work, serves accepted requests for `timeout_ms`, cancels the rest,
  // gives up runs and loads that do not return within 2 s more. `done` gets the names of models
  // given up.
  void Close(uint64_t timeout_ms, std::function<void(std::vector<std::string>)> done);
  // Waits until Close is through, for at most `wait_ms`. False: not through.
  bool WaitClosed(uint64_t wait_ms);
  // Joins all threads, and lets go of the server. After Close is through; not on one of the
  // server's threads.
  void Join();

  // --- Environments.
  std::shared_ptr<Port> Attach(std::function<void()> wake);
  // What somebody may wait for to end a version has changed: a port, a load or the version itself.
  void WakeReaper();

  // --- Used by ports.
  std::shared_ptr<ModelVersion> FindVersion(uint32_t uid) const;
  bool Serves(uint32_t uid) const;
  // Whether there ever was such a version.
  bool Knew(uint32_t uid) const;
  // Counts bytes as in flight; false where that is more than may be.
  bool Reserve(uint64_t bytes);
  void Unreserve(uint64_t bytes);
  uint64_t max_in_flight_bytes() const { return options_.max_in_flight_bytes; }
  uint32_t spin_cores() const { return options_.spin_cores; }
  uint64_t in_flight_bytes() const { return in_flight_bytes_.load(std::memory_order_relaxed); }

 private:
  struct Retirement {
    enum class Phase { kAwaitingPorts, kDraining, kAborting };
    std::shared_ptr<ModelVersion> version;
    uint32_t epoch = 0;
    uint64_t ports_deadline_ns = 0;
    uint64_t deadline_ns = UINT64_MAX;
    Phase phase = Phase::kAwaitingPorts;
    std::vector<std::function<void(bool)>> done;
  };
  struct Published {
    std::string json;
    uint64_t revision = 0;
  };

  explicit Server(const ServerOptions& options);
  void Terminate();
  void RunReaper();
  // Gives up loads that did not return, with their versions.
  void GiveUpLoads(std::unique_lock<std::mutex>* lock);
  void ShowEpochLocked();
  // Has every port acknowledge the epoch.
  void AskPortsLocked();
  void RetireLocked(const std::shared_ptr<ModelVersion>& version, uint64_t deadline_ns,
                    std::function<void(bool)> done);
  bool PortsHaveSeenLocked(uint32_t epoch);
  // One round of the reaper; returns when to look again.
  uint64_t Reap(std::unique_lock<std::mutex>* lock);

  const ServerOptions options_;
  uint32_t id_ = 0;
  Timer timer_;
  Loaders loaders_;
  std::atomic<uint64_t> in_flight_bytes_{0};

  mutable std::mutex mutex_;  // guards all below
  std::shared_ptr<Server> self_;
  std::condition_variable reap_wanted_;
  std::condition_variable closed_changed_;
  std::thread reaper_;
  std::unordered_map<uint32_t, std::shared_ptr<ModelVersion>> versions_;
  std::map<std::string, Published> published_;
  std::vector<std::weak_ptr<Port>> ports_;
  std::vector<Retirement> retirements_;
  uint32_t next_uid_ = 1;
  uint32_t epoch_ = 0;
  uint64_t revision_ = 0;
  bool reap_again_ = false;
  uint64_t loads_deadline_ns_ = UINT64_MAX;  // loads that are not through then are given up
  bool closing_ = false;
  bool closed_ = false;
  std::vector<std::string> given_up_;
  std::vector<std::function<void(std::vector<std::string>)>> close_done_;
};

}  // namespace tritonts
