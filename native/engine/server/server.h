// The engine of one server: what is loaded, what is published, the ports of the environments that
// use it, and how versions, and finally the server, end.
//
// It belongs to the process and is shared by every environment; TypeScript in the environment that
// created it (the owner) decides what is loaded and published. All public methods may be called on
// any thread; callbacks run on loader or reaper threads. Nothing is called with a lock held. Where
// there is no memory, Publish, Read, ModelNames, Retire and Close throw std::bad_alloc, and may be
// called again.
//
// Its parts, each in a file of its own: loaders, the table of versions, the models as published,
// the ports, the reaper with its retirements, the destroyer, and the timer.
//
// A server keeps itself until Join, so that none of its threads can be the one that frees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/base/status.h"
#include "engine/base/timer.h"
#include "engine/port/budget.h"
#include "engine/port/port.h"
#include "engine/running/model_version.h"
#include "engine/server/destroyer.h"
#include "engine/server/loaders.h"
#include "engine/server/model_folder.h"
#include "engine/server/port_list.h"
#include "engine/server/published_models.h"
#include "engine/server/reaper.h"
#include "engine/server/version_table.h"

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
  // Null where the system has no threads for it.
  static std::shared_ptr<Server> Create(const ServerOptions& options);
  // A server by its id, as long as it is up.
  static std::shared_ptr<Server> Find(uint32_t id);
  // The process exits: of all servers, ends what waits with UNAVAILABLE, asks running batches to
  // end, and starts no more.
  static void TerminateAll();

  ~Server();
  uint32_t id() const { return id_; }

  // --- Loading. Queued for a loader thread, but for StartAtOnce; every callback comes exactly
  // once, with UNAVAILABLE where there is no memory. One that throws std::bad_alloc, and has told
  // nothing, is called again.

  // As ReadModelFolder; the status is not ok where that was refused or abandoned.
  void ReadFolder(std::string model, std::string path, uint64_t most_config_bytes,
                  std::string known_stamp, std::function<void(Status, ModelFolder)> done);
  // Files that the spec holds in memory are let go of when the model is loaded.
  void Open(Backend* backend, ModelSpec spec, std::function<void(OpenResult)> done);
  void Start(uint32_t uid, VersionConfig config, std::function<void(Status)> done);
  // Starts a version on this thread, a JS thread, where that takes next to no time. Otherwise
  // nothing, and `config` is left as it is.
  std::optional<Status> StartAtOnce(uint32_t uid, VersionConfig* config);
  // Gives back to the system what loading has left free in the allocator, behind what is queued.
  void ReturnMemory(std::function<void()> done);
  // Answers queued loads, and folders that are being read, with CANCELLED; running loads go on.
  void CancelLoads();

  // --- The models as every environment sees them: one JSON text a model, written by the owner,
  // which names the versions' uids.
  using Snapshot = PublishedModels::Snapshot;
  void Publish(const std::string& name, std::string json);
  void Withdraw(const std::string& name);
  // The text and its revision, if the model is known and the revision is not `known_revision`.
  Snapshot Read(const std::string& name, uint64_t known_revision) const;
  std::vector<std::string> ModelNames() const;

  // --- Ending versions. `done` comes when the version is destroyed, or abandoned, and says which.
  // Requests that environments submitted before they saw the last Publish are served.
  void Retire(uint32_t uid, std::function<void(bool abandoned)> done);
  // Ends everything: refuses new work, serves accepted requests for `timeout_ms`, cancels the rest,
  // abandons runs, loads and destructors that do not return within 2 s more. `done` gets the names
  // of models that were abandoned.
  void Close(uint64_t timeout_ms, std::function<void(std::vector<std::string>)> done);
  // Waits until Close is through, for at most `wait_ms`. False: not through.
  bool WaitClosed(uint64_t wait_ms);
  // Joins all threads, and lets go of the server. After Close is through; not on one of the
  // server's threads.
  void Join();

  // --- Environments. Null without memory.
  std::shared_ptr<Port> Attach(std::function<void()> wake);
  // What somebody may wait for to end a version has changed: a port, a load or the version itself.
  void WakeReaper();

  std::shared_ptr<ModelVersion> FindVersion(uint32_t uid) const;

  // --- Used by ports.
  // Who takes the requests for `uid`; null where nobody serves it.
  std::shared_ptr<Executor> FindExecutor(uint32_t uid) const;
  bool Serves(uint32_t uid) const;
  // Whether there ever was such a version.
  bool Knew(uint32_t uid) const;
  // Bytes in flight, of all ports.
  Budget& budget() { return budget_; }
  uint32_t spin_cores() const { return options_.spin_cores; }
  uint64_t in_flight_bytes() const { return budget_.used(); }

 private:
  explicit Server(const ServerOptions& options);
  // Queues the task that `make` returns for the loaders, or refuses it where there is no memory.
  template <typename Refuse, typename Make>
  void Queue(const Refuse& refuse, const Make& make);
  // Ends the reading of folders that was asked for so far, at the next entry of each.
  void CancelReading();
  // Starts the threads that a server cannot do without.
  bool StartThreads();
  void Terminate();
  void AddVersion(uint32_t uid, Backend* backend, const std::string& name, int64_t number,
                  std::unique_ptr<Model> model);

  const ServerOptions options_;
  // How often. Shared with threads that may be left behind.
  const std::shared_ptr<std::atomic<uint32_t>> readings_cancelled_ =
      std::make_shared<std::atomic<uint32_t>>(0);
  uint32_t id_ = 0;
  // Those that come later use those before them.
  Timer timer_;
  Loaders loaders_;
  Budget budget_{options_.max_in_flight_bytes};
  PublishedModels published_;
  PortList ports_;
  VersionTable versions_;
  Destroyer destroyer_;
  Reaper reaper_;

  std::mutex mutex_;  // guards self_
  std::shared_ptr<Server> self_;
};

}  // namespace tritonts
