#include "server.h"

#include <system_error>

#include "../platform/cores.h"
#include "../platform/memory.h"
#include "../platform/thread.h"
#include "exit.h"
#include "guard.h"

namespace tritonts {

namespace {

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
    : options_(options),
      loaders_({.most_threads = options.load_concurrency, .cores = platform::AvailableCores()},
               [this] { WakeReaper(); }) {}

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

}  // namespace tritonts
