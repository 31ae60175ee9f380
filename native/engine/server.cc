#include "server.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "../platform/memory.h"
#include "../platform/thread.h"
#include "clock.h"
#include "exit.h"
#include "guard.h"
#include "leak.h"

namespace tritonts {

namespace {

constexpr uint64_t kMs = 1'000'000;
// How long a retired version goes on accepting for the sake of an environment that does not answer.
constexpr uint64_t kPortsWaitNs = 1000 * kMs;
// How long a run may go on after it was asked to end.
constexpr uint64_t kAbortWaitNs = 2000 * kMs;
// So many instances and tensors a version may have to be started on a JS thread.
constexpr size_t kFewInstances = 16;
constexpr size_t kFewTensors = 64;

// Ids of servers that are up; with the runtimes' libraries, all the state there is in file scope.
// Never destroyed: threads may outlive static destructors.
struct ServerTable {
  std::mutex mutex;
  uint32_t next = 1;
  std::unordered_map<uint32_t, std::weak_ptr<Server>> servers;
};
ServerTable& Table() {
  static auto* const table = new ServerTable();
  return *table;
}

}  // namespace

std::shared_ptr<Server> Server::Create(const ServerOptions& options) {
  std::shared_ptr<Server> server(new Server(options));
  try {
    server->reaper_ = std::thread([raw = server.get()] { raw->RunReaper(); });
  } catch (const std::system_error&) {
    return nullptr;
  }
  ServerTable& table = Table();
  std::lock_guard lock(table.mutex);
  server->id_ = table.next++;
  server->self_ = server;
  table.servers.emplace(server->id_, server);
  return server;
}

std::shared_ptr<Server> Server::Find(uint32_t id) {
  ServerTable& table = Table();
  std::lock_guard lock(table.mutex);
  const auto known = table.servers.find(id);
  return known == table.servers.end() ? nullptr : known->second.lock();
}

void Server::TerminateAll() {
  std::vector<std::shared_ptr<Server>> servers;
  {
    ServerTable& table = Table();
    std::lock_guard lock(table.mutex);
    for (const auto& [id, weak] : table.servers) {
      if (auto server = weak.lock()) servers.push_back(std::move(server));
    }
  }
  for (const auto& server : servers) server->Terminate();
}

Server::Server(const ServerOptions& options)
    : options_(options), loaders_(options.load_concurrency, [this] { WakeReaper(); }) {}

Server::~Server() {
  {
    ServerTable& table = Table();
    std::lock_guard lock(table.mutex);
    table.servers.erase(id_);
  }
}

void Server::CancelLoads() {
  loaders_.CancelQueued();
}

void Server::ReadFolder(std::string model, std::string path, uint64_t most_config_bytes,
                        std::string known_stamp, std::function<void(Status, ModelFolder)> done) {
  Loaders::Task task;
  task.model = std::move(model);
  task.give_up = [done](const Status& status) { done(status, {}); };
  task.discard = [] {};
  task.run = [path = std::move(path), most_config_bytes, known_stamp = std::move(known_stamp),
              done](const Status& refused) -> std::function<void()> {
    ModelFolder folder;
    if (refused.ok()) folder = ReadModelFolder(path, most_config_bytes, known_stamp);
    return [done, refused, folder = std::move(folder)] { done(refused, folder); };
  };
  loaders_.Add(std::move(task));
}

void Server::Open(Backend* backend, ModelSpec spec, std::function<void(OpenResult)> done) {
  Loaders::Task task;
  task.model = spec.name;
  task.give_up = [done](const Status& status) { done({status, 0, {}}); };
  task.discard = [] {};
  task.run = [this, backend, spec = std::move(spec),
              done](const Status& refused) -> std::function<void()> {
    OpenResult result;
    result.status = refused;
    // Shared, because functions are copied.
    auto model = std::make_shared<std::unique_ptr<Model>>();
    if (refused.ok()) {
      auto loaded = Guarded(spec.name, "to load", [&] {
        auto opened = backend->Load(spec);
        if (opened.ok()) result.description = opened.value()->Describe();
        return opened;
      });
      result.status = loaded.status();
      if (loaded.ok()) *model = loaded.take();
    }
    return [this, backend, spec, done, result, model]() mutable {
      if (*model) {
        std::lock_guard lock(mutex_);
        result.uid = next_uid_++;
        versions_.emplace(result.uid, std::make_shared<ModelVersion>(
                                          result.uid, spec.name, spec.version, backend,
                                          std::move(*model), &timer_, [this] { WakeReaper(); }));
      }
      done(std::move(result));
    };
  };
  loaders_.Add(std::move(task));
}

void Server::Start(uint32_t uid, VersionConfig config, std::function<void(Status)> done) {
  std::shared_ptr<ModelVersion> version = FindVersion(uid);
  if (!version) {
    done(Status::Cancelled("loading was given up"));
    return;
  }
  Loaders::Task task;
  task.model = version->name();
  task.give_up = done;
  task.discard = [version] { version->Destroy(); };
  task.run = [version, config = std::move(config), cores = spin_cores(),
              done](const Status& refused) {
    Status status = refused;
    if (status.ok()) status = version->Start(config, cores);
    return [done, status] { done(status); };
  };
  loaders_.Add(std::move(task));
}

std::optional<Status> Server::StartAtOnce(uint32_t uid, VersionConfig* config) {
  const std::shared_ptr<ModelVersion> version = FindVersion(uid);
  if (!version || !version->starts_at_once()) return std::nullopt;
  // What a start does, it does for each instance and tensor.
  const size_t tensors = config->io.inputs.size() + config->io.outputs.size();
  if (config->instances.size() > kFewInstances || tensors > kFewTensors) return std::nullopt;
  // As loaders refuse what they begin.
  Status status = Status::Cancelled("model '" + version->name() + "': loading was given up");
  {
    std::lock_guard lock(mutex_);
    if (closing_) return status;
  }
  {
    RuntimeCall call;
    if (call.allowed()) status = version->Start(std::move(*config), spin_cores());
  }
  // Whoever ends it meanwhile waits for that.
  WakeReaper();
  return status;
}

void Server::ReturnMemory(std::function<void()> done) {
  Loaders::Task task;
  task.give_up = [done](const Status&) { done(); };
  task.discard = [] {};
  task.run = [done](const Status& refused) -> std::function<void()> {
    if (refused.ok()) platform::ReturnFreePages();
    return done;
  };
  loaders_.Add(std::move(task));
}

void Server::Publish(const std::string& name, std::string json) {
  std::lock_guard lock(mutex_);
  published_[name] = {std::move(json), ++revision_};
  ShowEpochLocked();
}

void Server::Withdraw(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (published_.erase(name) > 0) ShowEpochLocked();
}

Server::Snapshot Server::Read(const std::string& name, uint64_t known_revision) const {
  std::lock_guard lock(mutex_);
  Snapshot snapshot;
  const auto known = published_.find(name);
  if (known == published_.end()) return snapshot;
  snapshot.found = true;
  snapshot.revision = known->second.revision;
  snapshot.changed = known->second.revision != known_revision;
  if (snapshot.changed) snapshot.json = known->second.json;
  return snapshot;
}

std::vector<std::string> Server::ModelNames() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, published] : published_) names.push_back(name);
  return names;
}

void Server::ShowEpochLocked() {
  epoch_++;
  for (const auto& weak : ports_) {
    if (auto port = weak.lock()) port->ShowEpoch(epoch_);
  }
}

void Server::AskPortsLocked() {
  for (const auto& weak : ports_) {
    if (auto port = weak.lock()) port->AskEpoch();
  }
}

std::shared_ptr<Port> Server::Attach(std::function<void()> wake) {
  auto port = std::make_shared<Port>(shared_from_this(), std::move(wake));
  if (!port->header() || !port->submission()) return nullptr;
  std::lock_guard lock(mutex_);
  std::erase_if(ports_, [](const auto& weak) { return weak.expired(); });
  ports_.push_back(port);
  if (closing_) port->ShowClosed();
  port->ShowEpoch(epoch_);
  if (!retirements_.empty()) port->AskEpoch();
  return port;
}

// Ports and loads are waited for only to end what they hold up.
void Server::WakeReaper() {
  std::lock_guard lock(mutex_);
  if (!closing_ && retirements_.empty()) return;
  reap_again_ = true;
  reap_wanted_.notify_one();
}

std::shared_ptr<ModelVersion> Server::FindVersion(uint32_t uid) const {
  std::lock_guard lock(mutex_);
  const auto known = versions_.find(uid);
  return known == versions_.end() ? nullptr : known->second;
}

bool Server::Serves(uint32_t uid) const {
  std::lock_guard lock(mutex_);
  return versions_.contains(uid);
}

bool Server::Knew(uint32_t uid) const {
  std::lock_guard lock(mutex_);
  return uid > 0 && uid < next_uid_;
}

bool Server::Reserve(uint64_t bytes) {
  const uint64_t limit = options_.max_in_flight_bytes;
  uint64_t before = in_flight_bytes_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit || before > limit - bytes) return false;
  } while (
      !in_flight_bytes_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  return true;
}

void Server::Unreserve(uint64_t bytes) {
  if (bytes > 0) in_flight_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

void Server::Terminate() {
  std::vector<std::shared_ptr<ModelVersion>> versions;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [uid, version] : versions_) versions.push_back(version);
  }
  for (const auto& version : versions) version->Terminate();
}

void Server::RetireLocked(const std::shared_ptr<ModelVersion>& version, uint64_t deadline_ns,
                          std::function<void(bool)> done) {
  for (Retirement& known : retirements_) {
    if (known.version != version) continue;
    // Running batches that were asked to end have their time whoever is in a hurry.
    if (known.phase != Retirement::Phase::kAborting) {
      known.deadline_ns = std::min(known.deadline_ns, deadline_ns);
    }
    if (done) known.done.push_back(std::move(done));
    return;
  }
  Retirement retirement;
  retirement.version = version;
  retirement.epoch = epoch_;
  retirement.ports_deadline_ns = NowNs() + kPortsWaitNs;
  retirement.deadline_ns = deadline_ns;
  if (done) retirement.done.push_back(std::move(done));
  retirements_.push_back(std::move(retirement));
  AskPortsLocked();
}

void Server::Retire(uint32_t uid, std::function<void(bool)> done) {
  {
    std::lock_guard lock(mutex_);
    const auto known = versions_.find(uid);
    if (known != versions_.end()) {
      RetireLocked(known->second, UINT64_MAX, std::move(done));
      reap_again_ = true;
      reap_wanted_.notify_one();
      return;
    }
  }
  done(false);
}

void Server::Close(uint64_t timeout_ms, std::function<void(std::vector<std::string>)> done) {
  std::vector<std::string> given_up;
  {
    std::lock_guard lock(mutex_);
    if (!closed_) {
      closing_ = true;
      loaders_.Close();
      const uint64_t now = NowNs();
      // A time limit of centuries is no limit: the system's own times must not overflow.
      const uint64_t deadline =
          timeout_ms > UINT64_MAX / kMs / 4 ? UINT64_MAX : now + timeout_ms * kMs;
      for (const auto& weak : ports_) {
        if (auto port = weak.lock()) port->ShowClosed();
      }
      ShowEpochLocked();
      for (const auto& [uid, version] : versions_) RetireLocked(version, deadline, {});
      if (deadline != UINT64_MAX) {
        loads_deadline_ns_ = std::min(loads_deadline_ns_, deadline + kAbortWaitNs);
      }
      close_done_.push_back(std::move(done));
      reap_again_ = true;
      reap_wanted_.notify_one();
      return;
    }
    given_up = given_up_;
  }
  done(std::move(given_up));
}

bool Server::WaitClosed(uint64_t wait_ms) {
  std::unique_lock lock(mutex_);
  return closed_changed_.wait_for(lock, std::chrono::milliseconds(wait_ms),
                                  [&] { return closed_; });
}

void Server::Join() {
  std::thread reaper;
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    closed_ = true;
    reaper.swap(reaper_);
    reap_again_ = true;
    reap_wanted_.notify_one();
  }
  loaders_.Close();
  loaders_.Join();
  if (reaper.joinable()) reaper.join();
  timer_.Stop();
  std::shared_ptr<Server> self;
  std::lock_guard lock(mutex_);
  self.swap(self_);  // its caller holds another reference
}

bool Server::PortsHaveSeenLocked(uint32_t epoch) {
  return std::all_of(ports_.begin(), ports_.end(), [&](const auto& weak) {
    const auto port = weak.lock();
    return !port || port->detached() || static_cast<int32_t>(port->acknowledged() - epoch) >= 0;
  });
}

uint64_t Server::Reap(std::unique_lock<std::mutex>* lock) {
  uint64_t next = UINT64_MAX;
  for (size_t i = 0; i < retirements_.size();) {
    const std::shared_ptr<ModelVersion> version = retirements_[i].version;
    const uint64_t now = NowNs();
    const auto phase = retirements_[i].phase;
    if (version->starting()) {  // its loader reports when that is over
      i++;
      continue;
    }
    if (phase == Retirement::Phase::kAwaitingPorts) {
      const uint64_t until =
          std::min(retirements_[i].ports_deadline_ns, retirements_[i].deadline_ns);
      if (!PortsHaveSeenLocked(retirements_[i].epoch) && now < until) {
        next = std::min(next, until);
        i++;
        continue;
      }
      retirements_[i].phase = Retirement::Phase::kDraining;
      lock->unlock();
      version->Close();
      lock->lock();
      continue;
    }
    lock->unlock();
    const bool drained = version->drained();
    lock->lock();
    if (!drained && now < retirements_[i].deadline_ns) {
      next = std::min(next, retirements_[i].deadline_ns);
      i++;
      continue;
    }
    if (!drained && phase == Retirement::Phase::kDraining) {
      retirements_[i].phase = Retirement::Phase::kAborting;
      retirements_[i].deadline_ns = NowNs() + kAbortWaitNs;
      lock->unlock();
      version->Abort(Status::Cancelled("model '" + version->name() +
                                       "': the server was closed before the request ran"));
      lock->lock();
      continue;
    }
    Retirement retirement = std::move(retirements_[i]);
    retirements_.erase(retirements_.begin() + static_cast<ptrdiff_t>(i));
    versions_.erase(version->uid());
    if (!drained) given_up_.push_back(version->name());
    lock->unlock();
    if (drained) {
      RuntimeCall call;
      version->Destroy();
    } else {
      KeepForever(version);
      version->Leak();
    }
    for (const auto& done : retirement.done) done(!drained);
    lock->lock();
  }
  return next;
}

void Server::GiveUpLoads(std::unique_lock<std::mutex>* lock) {
  KeepForever(shared_from_this());
  lock->unlock();
  const std::vector<std::string> names = loaders_.GiveUp();
  lock->lock();
  given_up_.insert(given_up_.end(), names.begin(), names.end());
  std::vector<Retirement> stuck;
  for (Retirement& retirement : retirements_) {
    if (retirement.version->starting()) stuck.push_back(std::move(retirement));
  }
  std::erase_if(retirements_, [](const Retirement& one) { return !one.version; });
  for (const Retirement& one : stuck) versions_.erase(one.version->uid());
  lock->unlock();
  for (const Retirement& one : stuck) {
    KeepForever(one.version);
    for (const auto& done : one.done) done(true);
  }
  lock->lock();
}

void Server::RunReaper() {
  platform::NameThread("tritonts-reap");
  std::unique_lock lock(mutex_);
  while (true) {
    reap_again_ = false;
    uint64_t next = Reap(&lock);
    if (closing_ && !loaders_.idle()) {
      if (NowNs() >= loads_deadline_ns_) {
        loads_deadline_ns_ = UINT64_MAX;
        GiveUpLoads(&lock);
        continue;
      }
      next = std::min(next, loads_deadline_ns_);
    }
    if (closing_ && loaders_.idle() && retirements_.empty() && !reap_again_) {
      if (!versions_.empty()) {
        // Opened while the server was closing: nobody will start these.
        const uint64_t now = NowNs();
        for (const auto& [uid, version] : versions_) RetireLocked(version, now, {});
        continue;
      }
      if (!closed_) {
        closed_ = true;
        closed_changed_.notify_all();
      }
      auto callbacks = std::move(close_done_);
      close_done_.clear();
      const auto given_up = given_up_;
      lock.unlock();
      for (const auto& done : callbacks) done(given_up);
      lock.lock();
      return;
    }
    if (reap_again_) continue;
    const auto changed = [&] { return reap_again_; };
    if (next == UINT64_MAX) {
      reap_wanted_.wait(lock, changed);
    } else {
      const uint64_t now = NowNs();
      const uint64_t wait = next > now ? next - now : 0;
      reap_wanted_.wait_for(lock, std::chrono::nanoseconds(wait), changed);
    }
  }
}

}  // namespace tritonts
