#include "engine/server/server.h"

#include <map>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "engine/base/guard.h"
#include "engine/base/insist.h"
#include "platform/cores.h"
#include "platform/memory.h"

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
  std::map<uint32_t, std::weak_ptr<Server>> servers;
};
ServerTable& Table() {
  static auto* const table = new ServerTable();
  return *table;
}

}  // namespace

std::shared_ptr<Server> Server::Create(const ServerOptions& options) {
  try {
    std::shared_ptr<Server> server(new Server(options));
    if (!server->StartThreads()) return nullptr;
    ServerTable& table = Table();
    std::lock_guard lock(table.mutex);
    table.servers.emplace(table.next, server);
    server->id_ = table.next++;
    server->self_ = server;
    return server;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::shared_ptr<Server> Server::Find(uint32_t id) {
  ServerTable& table = Table();
  std::lock_guard lock(table.mutex);
  const auto known = table.servers.find(id);
  return known == table.servers.end() ? nullptr : known->second.lock();
}

void Server::TerminateAll() {
  ServerTable& table = Table();
  for (uint32_t id = 0;;) {
    std::shared_ptr<Server> server;
    {
      std::lock_guard lock(table.mutex);
      const auto next = table.servers.upper_bound(id);
      if (next == table.servers.end()) return;
      id = next->first;
      server = next->second.lock();
    }
    if (server) server->Terminate();
  }
}

Server::Server(const ServerOptions& options)
    : options_(options),
      loaders_({.most_threads = options.load_concurrency, .cores = platform::AvailableCores()},
               [this] { WakeReaper(); }),
      destroyer_([this] { WakeReaper(); }),
      reaper_({&versions_, &ports_, &loaders_, &destroyer_,
               [this]() -> std::shared_ptr<const void> { return shared_from_this(); }}) {}

Server::~Server() {
  ServerTable& table = Table();
  std::lock_guard lock(table.mutex);
  table.servers.erase(id_);
}

bool Server::StartThreads() {
  return timer_.Start() && loaders_.Start() && reaper_.Start();
}

void Server::CancelLoads() {
  CancelReading();
  loaders_.CancelQueued();
}

void Server::CancelReading() {
  readings_cancelled_->fetch_add(1, std::memory_order_relaxed);
}

template <typename Refuse, typename Make>
void Server::Queue(const Refuse& refuse, const Make& make) {
  try {
    loaders_.Add(make());
    return;
  } catch (const std::bad_alloc&) {
    // Nothing was queued.
  }
  refuse(Status::NoMemory());
}

void Server::ReadFolder(std::string model, std::string path, uint64_t most_config_bytes,
                        std::string known_stamp, std::function<void(Status, ModelFolder)> done) {
  const auto refuse = [done](const Status& status) { done(status, {}); };
  Queue(refuse, [&] {
    Loaders::Task task;
    task.model = std::move(model);
    task.refuse = refuse;
    task.discard = [] {};
    // The thread may outlast this object.
    const auto cancelled = [count = readings_cancelled_, before = readings_cancelled_->load()] {
      return count->load(std::memory_order_relaxed) != before;
    };
    task.run = [name = task.model, path = std::move(path), most_config_bytes,
                known_stamp = std::move(known_stamp), cancelled, done]() -> std::function<void()> {
      FolderLimits limits;
      limits.config_bytes = most_config_bytes;
      Status status;
      ModelFolder folder = ReadModelFolder(path, known_stamp, limits, cancelled);
      if (folder.cancelled) {
        status = Status::Cancelled("model '" + name + "': loading was cancelled");
      }
      return [done, status, folder = std::move(folder)] { done(status, folder); };
    };
    return task;
  });
}

void Server::Open(Backend* backend, ModelSpec spec, std::function<void(OpenResult)> done) {
  const auto refuse = [done](const Status& status) { done({status, 0, {}}); };
  Queue(refuse, [&] {
    Loaders::Task task;
    task.model = spec.name;
    task.refuse = refuse;
    task.discard = [] {};
    // Shared, because functions are copied.
    auto shared = std::make_shared<ModelSpec>(std::move(spec));
    task.run = [this, backend, shared, done]() -> std::function<void()> {
      const ModelSpec spec = std::move(*shared);
      OpenResult result;
      auto model = std::make_shared<std::unique_ptr<Model>>();
      auto loaded = Guarded(spec.name, "to load", [&] {
        auto opened = backend->Load(spec);
        if (opened.ok()) result.description = opened.value()->Describe();
        return opened;
      });
      result.status = loaded.status();
      if (loaded.ok()) *model = loaded.take();
      return
          [this, backend, name = spec.name, number = spec.version, done, result, model]() mutable {
            if (*model) {
              const uint32_t uid = versions_.Reserve();
              AddVersion(uid, backend, name, number, std::move(*model));
              result.uid = uid;
            }
            // It is there now, and its owner must know.
            Insist([&] { done(result); });
          };
    };
    return task;
  });
}

void Server::AddVersion(uint32_t uid, Backend* backend, const std::string& name, int64_t number,
                        std::unique_ptr<Model> model) {
  // A run that comes back after it was abandoned may outlive the server.
  auto drained = [weak = weak_from_this()] {
    if (const auto server = weak.lock()) server->WakeReaper();
  };
  versions_.Add(uid, std::make_shared<ModelVersion>(uid, name, number, backend, std::move(model),
                                                    &timer_, std::move(drained)));
}

void Server::Start(uint32_t uid, VersionConfig config, std::function<void(Status)> done) {
  std::shared_ptr<ModelVersion> version = FindVersion(uid);
  if (!version) {
    done(MakeStatus([] { return Status::Cancelled("loading was cancelled"); }));
    return;
  }
  Queue(done, [&] {
    Loaders::Task task;
    task.model = version->name();
    task.refuse = done;
    // It keeps the server, whose timer the version knows.
    task.discard = [version, self = shared_from_this()] { version->Destroy(); };
    task.run = [version, config = std::move(config), cores = spin_cores(), done] {
      return [done, status = version->Start(config, cores)] { done(status); };
    };
    return task;
  });
}

std::optional<Status> Server::StartAtOnce(uint32_t uid, VersionConfig* config) {
  const std::shared_ptr<ModelVersion> version = FindVersion(uid);
  if (!version || !version->starts_at_once()) return std::nullopt;
  // What a start does, it does for each instance and tensor.
  const size_t tensors = config->io.inputs.size() + config->io.outputs.size();
  if (config->instances.size() > kFewInstances || tensors > kFewTensors) return std::nullopt;
  // As loaders refuse what they begin.
  Status status = MakeStatus([&] {
    return Status::Cancelled("model '" + version->name() + "': loading was cancelled");
  });
  if (reaper_.closing()) return status;
  {
    RuntimeCall call;
    if (call.allowed()) status = version->Start(std::move(*config), spin_cores());
  }
  // Whoever ends it meanwhile waits for that.
  WakeReaper();
  return status;
}

void Server::ReturnMemory(std::function<void()> done) {
  const auto refuse = [done](const Status&) { done(); };
  Queue(refuse, [&] {
    Loaders::Task task;
    task.refuse = refuse;
    task.discard = [] {};
    task.run = [done]() -> std::function<void()> {
      platform::ReturnFreePages();
      return done;
    };
    return task;
  });
}

void Server::Publish(const std::string& name, std::string json) {
  published_.Set(name, std::move(json));
  ports_.ShowChange();
}

void Server::Withdraw(const std::string& name) {
  if (published_.Remove(name)) ports_.ShowChange();
}

Server::Snapshot Server::Read(const std::string& name, uint64_t known_revision) const {
  return published_.Read(name, known_revision);
}

std::vector<std::string> Server::ModelNames() const {
  return published_.Names();
}

void Server::Retire(uint32_t uid, std::function<void(bool)> done) {
  if (const auto version = FindVersion(uid)) {
    reaper_.Retire(version, std::move(done));
    ports_.Ask(ports_.epoch());
  } else {
    done(false);
  }
}

void Server::Close(uint64_t timeout_ms, std::function<void(std::vector<std::string>)> done) {
  constexpr uint64_t kMs = 1'000'000;
  // A time limit of centuries is no limit: the system's own times must not overflow.
  const bool limited = timeout_ms <= UINT64_MAX / kMs / 4;
  const uint64_t limit_ns = limited ? NowNs() + timeout_ms * kMs : Retirement::kNoLimit;
  loaders_.Close();
  CancelReading();
  ports_.ShowClosed();
  ports_.ShowChange();
  reaper_.Close(limit_ns, std::move(done));
  ports_.Ask(ports_.epoch());
}

bool Server::WaitClosed(uint64_t wait_ms) {
  return reaper_.WaitClosed(wait_ms);
}

void Server::Join() {
  loaders_.Close();
  loaders_.Join();
  reaper_.Join();
  destroyer_.Join();
  timer_.Stop();
  std::shared_ptr<Server> self;  // its caller holds another reference
  std::lock_guard lock(mutex_);
  self.swap(self_);
}

std::shared_ptr<Port> Server::Attach(std::function<void()> wake) {
  try {
    auto port = std::make_shared<Port>(shared_from_this(), std::move(wake));
    if (!port->ready()) return nullptr;
    ports_.Add(port);
    return port;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void Server::WakeReaper() {
  reaper_.Wake();
}

std::shared_ptr<ModelVersion> Server::FindVersion(uint32_t uid) const {
  return versions_.Find(uid);
}

bool Server::Serves(uint32_t uid) const {
  return versions_.Has(uid);
}

bool Server::Knew(uint32_t uid) const {
  return versions_.Knew(uid);
}

void Server::Terminate() {
  CancelReading();
  for (auto version = versions_.After(0); version; version = versions_.After(version->uid())) {
    const auto abort = [version, self = shared_from_this()] {
      version->Abort(MakeStatus([&] {
        return Status::Unavailable("model '" + version->name() + "': the process is exiting");
      }));
    };
    // Not here: a backend that is asked to end a run may never return, and the process is to exit.
    try {
      destroyer_.Add(abort);
    } catch (const std::bad_alloc&) {
      abort();
    }
  }
}

}  // namespace tritonts
