#include "engine/server/server.h"

#include <map>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/exit.h"
#include "engine/cache/cache_layer.h"
#include "engine/cache/remote_layer.h"
#include "engine/ensemble/ensemble.h"
#include "platform/cores.h"

namespace tritonts {

namespace {

// The servers of the process by id. It is never destroyed, because threads may outlive static
// destructors.
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
      loaders_({.most_threads = options.load_concurrency,
                // The JS thread keeps one busy meanwhile.
                .cores = std::max(2u, platform::AvailableCores()) - 1,
                .timer = &timer_},
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
  CancelLong();
  loaders_.CancelQueued();
}

void Server::CancelLong() {
  loads_cancelled_->fetch_add(1, std::memory_order_relaxed);
}

void Server::Publish(const ModelKey& model, std::string json) {
  published_.Set(model, std::move(json));
  ports_.ShowChange();
}

void Server::Withdraw(const ModelKey& model) {
  if (published_.Remove(model)) ports_.ShowChange();
}

Server::Snapshot Server::Read(const ModelKey& model, uint64_t known_revision) const {
  return published_.Read(model, known_revision);
}

StatusOr<std::optional<ModelKey>> Server::ResolveModel(std::string_view name) const {
  return published_.Resolve(name);
}

bool Server::IsCurrent(std::string_view name, uint64_t revision) const {
  return published_.IsCurrent(name, revision);
}

std::vector<ModelKey> Server::ModelKeys() const {
  return published_.Keys();
}

void Server::Retire(uint32_t uid, std::function<void(bool)> done) {
  if (const auto version = FindServed(uid)) {
    reaper_.Retire(version, std::move(done));
    ports_.Ask(ports_.epoch());
  } else {
    done(false);
  }
}

void Server::Close(uint64_t timeout_ms, std::function<void(std::vector<std::string>)> done) {
  constexpr uint64_t kMs = 1'000'000;
  // A limit of more than a century counts as none, so that times do not overflow.
  const bool limited = timeout_ms <= UINT64_MAX / kMs / 4;
  const uint64_t limit_ns = limited ? NowNs() + timeout_ms * kMs : Retirement::kNoLimit;
  loaders_.Close();
  regions_.Close();
  CancelLong();
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
  tracer_->Stop();
  std::shared_ptr<Server> self;  // not the last reference: the caller has one
  std::vector<std::shared_ptr<const void>> companions;
  std::lock_guard lock(mutex_);
  self.swap(self_);
  companions.swap(companions_);
  joined_ = true;
}

bool Server::AddCompanion(std::shared_ptr<const void> companion) {
  std::lock_guard lock(mutex_);
  if (joined_) return false;
  companions_.push_back(std::move(companion));
  return true;
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
  return std::dynamic_pointer_cast<ModelVersion>(versions_.Find(uid));
}

std::shared_ptr<Served> Server::FindServed(uint32_t uid) const {
  return versions_.Find(uid);
}

std::shared_ptr<Executor> Server::FindExecutor(uint32_t uid) const {
  std::shared_ptr<Served> served = FindServed(uid);
  return served && served->started() ? served : nullptr;
}

bool Server::Serves(uint32_t uid) const {
  return versions_.Has(uid);
}

bool Server::WasGiven(uint32_t uid) const {
  return versions_.WasGiven(uid);
}

void Server::AddCacheTo(Served* version, const ModelIo& io, bool in_order) {
  CacheLayer::Options options{.coalesce = options_.coalesce, .in_order = in_order};
  if (options_.cache) {
    version->AddLayer(
        std::make_unique<CacheLayer>(options_.cache, version->uid(), version->name(), options));
  }
  // Look-ups end in any order, so their requests would, too.
  if (!options_.remote || in_order) return;
  if (options_.coalesce) {
    options.shares_only = true;
    version->AddLayer(
        std::make_unique<CacheLayer>(sharing_, version->uid(), version->name(), options));
  }
  version->AddLayer(std::make_unique<RemoteLayer>(options_.remote, &timer_, io, version->name()));
}

uint32_t Server::AddEnsemble(std::string name, int64_t number, EnsemblePlan plan) {
  const uint32_t uid = versions_.Reserve();
  // The key of a request has no place for several responses.
  const bool cached = plan.cached && !plan.decoupled();
  const ModelIo io = cached && options_.remote ? plan.io : ModelIo();
  const auto ensemble =
      std::make_shared<Ensemble>(uid, std::move(name), std::move(plan), [weak = weak_from_this()] {
        if (const auto server = weak.lock()) server->WakeReaper();
      });
  ensemble->SetTracer(tracer_, number, false);
  if (cached) AddCacheTo(ensemble.get(), io, false);
  versions_.Add(uid, ensemble);
  return uid;
}

Status Server::BindEnsemble(uint32_t uid, std::span<const uint32_t> steps,
                            const std::string& identity) {
  const auto ensemble = std::dynamic_pointer_cast<Ensemble>(FindServed(uid));
  if (!ensemble) return Status::NotFound("ensemble " + std::to_string(uid) + " was unloaded");
  std::vector<std::shared_ptr<Served>> versions;
  for (const uint32_t step : steps) {
    versions.push_back(FindServed(step));
    if (!versions.back() || !versions.back()->started()) {
      return Status::Unavailable(Reason::kNotReady,
                                 "model '" + ensemble->name() +
                                     "': the version of a step was unloaded; reload the ensemble");
    }
  }
  // No answer of the new versions is stored as one of the old ones.
  ensemble->Identify({});
  const Status bound = ensemble->Bind(std::move(versions));
  if (bound.ok()) ensemble->Identify(identity);
  return bound;
}

void Server::Terminate() {
  CancelLong();
  for (auto version = versions_.After(0); version; version = versions_.After(version->uid())) {
    const auto abort = [version, self = shared_from_this()] {
      version->Abort(MakeStatus([&] {
        return Status::Unavailable(Reason::kClosed,
                                   "model '" + version->name() + "': the process is exiting");
      }));
    };
    // The destroyer makes the call, because a backend that is asked to end a run may never return,
    // and this thread must go on to exit.
    try {
      destroyer_.Add(abort);
    } catch (const std::bad_alloc&) {
      abort();
    }
  }
  tracer_->Stop();
}

}  // namespace tritonts
