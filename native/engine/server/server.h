// The engine of one server: the loaded versions, the published models, the ports of the
// environments that use it, and how versions, and finally the server, end.
//
// A server belongs to the process, and all environments share it. The environment that created it
// is its owner. The owner's TypeScript decides which models are loaded and published. Any thread
// may call any public function. Callbacks are called on a loader thread, the reaper's thread or the
// calling thread, with no lock held. If there is no memory, Publish, Read, ResolveModel, ModelKeys,
// Retire and Close throw std::bad_alloc, and may be called again.
//
// It owns these parts, each in its own file: loaders, the table of versions, the published models,
// the list of ports, the reaper with its retirements, the destroyer, and the timer.
//
// A server owns itself until Join, so that none of its own threads can free it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend.h"
#include "engine/base/status.h"
#include "engine/base/timer.h"
#include "engine/cache/local_cache.h"
#include "engine/cache/remote_cache.h"
#include "engine/ensemble/plan.h"
#include "engine/memory/region.h"
#include "engine/port/port.h"
#include "engine/request/budget.h"
#include "engine/scheduling/rate_limiter.h"
#include "engine/server/destroyer.h"
#include "engine/server/loaders.h"
#include "engine/server/model_folder.h"
#include "engine/server/model_key.h"
#include "engine/server/port_list.h"
#include "engine/server/published_models.h"
#include "engine/server/reaper.h"
#include "engine/server/version_table.h"
#include "engine/trace/tracer.h"
#include "engine/version/model_version.h"

namespace tritonts {

struct ServerOptions {
  uint32_t load_concurrency = 4;
  uint64_t max_in_flight_bytes = uint64_t{1} << 30;
  // The number of cores that idle threads may spin on, minus the cores that runs use; 0: neither
  // instances' threads nor JS threads spin.
  uint32_t spin_cores = 0;
  // The gate of all versions; null: instances share no resources.
  std::shared_ptr<RateLimiter> rate_limiter = {};
  // The response cache; null: there is none.
  std::shared_ptr<LocalCache> cache = {};
  // The cache outside of the engine, in place of `cache`; null: there is none.
  std::shared_ptr<RemoteCache> remote = {};
  // Whether equal requests in flight to a cached model share one run.
  bool coalesce = true;
  // Whether several models may have the same name, in different namespaces.
  bool namespaces = false;
};

struct OpenResult {
  Status status;
  uint32_t uid = 0;
  ModelDescription description;
};

class Server : public std::enable_shared_from_this<Server>, public PortHost {
 public:
  // Null: the system has no threads or no memory for it.
  static std::shared_ptr<Server> Create(const ServerOptions& options);
  // The server with this id; null: it does not exist or was destroyed.
  static std::shared_ptr<Server> Find(uint32_t id);
  // For the exit of the process: in all servers, ends waiting requests as UNAVAILABLE, asks runs to
  // end, and begins no further runs.
  static void TerminateAll();

  ~Server() override;
  uint32_t id() const { return id_; }
  // The resources that instances share; empty without a rate limiter. Throws std::bad_alloc.
  std::vector<RateLimiter::Usage> Resources() const {
    return options_.rate_limiter ? options_.rate_limiter->Resources()
                                 : std::vector<RateLimiter::Usage>();
  }

  // Which requests are traced.
  Tracer& tracer() { return *tracer_; }
  // The response cache; null: there is none.
  const LocalCache* cache() const { return options_.cache.get(); }
  // The cache outside of the engine; null: there is none.
  const std::shared_ptr<RemoteCache>& remote_cache() const { return options_.remote; }

  // --- Loading. All but StartAtOnce queue a task for a loader thread. Every callback is called
  // exactly once, with UNAVAILABLE if there is no memory. A callback that throws std::bad_alloc
  // must have had no effect, and is called again.

  // Calls ReadModelFolder. The status is not ok if the task was refused or abandoned.
  void ReadFolder(std::string model, std::string path, FolderLimits limits,
                  std::function<void(Status, ModelFolder)> done);
  // Opens a model, and adds a version for it. Files that the spec holds in memory are freed when
  // the model is loaded.
  void Open(Backend* backend, ModelSpec spec, std::function<void(OpenResult)> done);
  void Start(uint32_t uid, VersionConfig config, std::function<void(Status)> done);
  // Changes the instances of a version (ModelVersion::ChangeInstances). Of `added` it uses the
  // instances and claims. `done` gets the numbers of the new ones.
  void ChangeInstances(uint32_t uid, std::vector<uint32_t> removed, VersionConfig added,
                       std::function<void(Status, std::vector<uint32_t>)> done);
  // Starts a version on the calling JS thread, if that takes only microseconds and there is no
  // warm-up. Otherwise returns nothing and leaves `config` unchanged.
  std::optional<Status> StartAtOnce(uint32_t uid, VersionConfig* config);
  // Adds an ensemble, which serves once it is bound to the versions of its steps. Returns its uid.
  // Throws std::bad_alloc.
  uint32_t AddEnsemble(std::string name, int64_t number, EnsemblePlan plan);
  // Binds an ensemble to the versions of its steps, by their order in the plan; nothing changes
  // unless it returns ok, but that no answers are kept. Earlier requests keep the versions that
  // they began with. `identity` stands for the ensemble with these versions (Layer::Identify).
  Status BindEnsemble(uint32_t uid, std::span<const uint32_t> steps, const std::string& identity);
  // Returns memory that loading has freed to the system, after the queued tasks.
  void ReturnMemory(std::function<void()> done);
  // Does work on a loader thread that waits for something other than a model. `what` names it in
  // messages.
  void Do(std::string what, std::function<void()> work, std::function<void(Status)> done);
  // Ends queued loads, the reading of folders, and warm-ups (after their present run) with
  // CANCELLED. Other running loads continue.
  void CancelLoads();

  // --- The models as every environment sees them: one JSON text a model, which the owner writes,
  // and which names the versions' uids.
  using Snapshot = PublishedModels::Snapshot;
  void Publish(const ModelKey& model, std::string json);
  void Withdraw(const ModelKey& model);
  // The text and its revision, if the model is published and the revision is not `known_revision`.
  Snapshot Read(const ModelKey& model, uint64_t known_revision) const;
  // See the functions of PublishedModels.
  StatusOr<std::optional<ModelKey>> ResolveModel(std::string_view name) const;
  bool IsCurrent(std::string_view name, uint64_t revision) const;
  std::vector<ModelKey> ModelKeys() const;
  // For senders that have no port: a number that moves with every change of the published models,
  // and whether the server closes. A closing server shows that before the number moves. Neither
  // takes a lock.
  uint32_t epoch() const { return ports_.epoch(); }
  bool closing() const { return ports_.closed(); }

  // --- Ending versions. `done` is called when the version is destroyed or abandoned, with which of
  // the two. Requests that environments prepared before they saw the last Publish are served.
  void Retire(uint32_t uid, std::function<void(bool abandoned)> done);
  // Ends all versions: refuses new requests, serves accepted requests for `timeout_ms`, cancels the
  // rest, and abandons runs, loads and destructors that do not return within 2 s more. `done` gets
  // the names of models that were abandoned.
  void Close(uint64_t timeout_ms, std::function<void(std::vector<std::string>)> done);
  // Waits until everything has ended after Close, for at most `wait_ms`. False: not everything has
  // ended.
  bool WaitClosed(uint64_t wait_ms);
  // Joins all threads, and ends the server's ownership of itself. Called when everything has ended
  // after Close, not on one of the server's threads.
  void Join();

  // Shares ownership of an object until Join. False: that was called, and nothing is shared.
  bool AddCompanion(std::shared_ptr<const void> companion);

  // --- Environments. Makes a port; null: out of memory.
  std::shared_ptr<Port> Attach(std::function<void()> wake);
  // See PortHost.
  void WakeReaper() override;

  // The version of a model with instances; null: no such version, or it is an ensemble.
  std::shared_ptr<ModelVersion> FindVersion(uint32_t uid) const;
  // The version or ensemble with this uid; null: none.
  std::shared_ptr<Served> FindServed(uint32_t uid) const;

  // --- For ports (port_host.h).
  std::shared_ptr<Executor> FindExecutor(uint32_t uid) const override;
  bool Serves(uint32_t uid) const override;
  bool WasGiven(uint32_t uid) const override;
  Budget& budget() override { return budget_; }
  RegionTable& regions() override { return regions_; }
  uint32_t spin_cores() const override { return options_.spin_cores; }
  uint64_t in_flight_bytes() const { return budget_.used(); }

 private:
  explicit Server(const ServerOptions& options);
  // Queues the task that `make` returns for the loaders. Calls `refuse` if there is no memory.
  template <typename Refuse, typename Make>
  void Queue(const Refuse& refuse, const Make& make);
  // Cancels every warm-up, and every running or queued read of a folder.
  void CancelLong();
  // A function that tells whether CancelLong was called since. Any thread may call it.
  std::function<bool()> CancelledFromNow() const;
  // Starts the threads that a server needs from the beginning.
  bool StartThreads();
  // Puts the cache around a version that does not serve yet, if the server has one. `in_order`: its
  // responses leave in the order of their requests. Throws std::bad_alloc.
  void AddCacheTo(Served* version, const ModelIo& io, bool in_order);
  void Terminate();
  // Queues the destruction of removed instances. False: there is no memory.
  bool QueueRemoval(uint32_t uid);
  void AddVersion(uint32_t uid, Backend* backend, const std::string& name, int64_t number,
                  std::unique_ptr<Model> model);

  const ServerOptions options_;
  const std::shared_ptr<Tracer> tracer_ = std::make_shared<Tracer>();
  // Of the layers that let equal requests share a look-up in the remote cache. It keeps nothing.
  const std::shared_ptr<LocalCache> sharing_ =
      options_.remote ? std::make_shared<LocalCache>(0) : nullptr;
  // The number of calls of CancelLong. Shared with threads that may be abandoned.
  const std::shared_ptr<std::atomic<uint32_t>> loads_cancelled_ =
      std::make_shared<std::atomic<uint32_t>>(0);
  uint32_t id_ = 0;
  // A part may use the parts before it, so they are destroyed in reverse order.
  Timer timer_;
  Loaders loaders_;
  Budget budget_{options_.max_in_flight_bytes};
  RegionTable regions_;
  PublishedModels published_{options_.namespaces};
  PortList ports_;
  VersionTable versions_;
  Destroyer destroyer_;
  Reaper reaper_;

  std::mutex mutex_;  // guards all below
  std::shared_ptr<Server> self_;
  std::vector<std::shared_ptr<const void>> companions_;
  bool joined_ = false;
};

}  // namespace tritonts
