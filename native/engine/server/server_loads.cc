// The tasks that a server queues for its loader threads.
#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/exit.h"
#include "engine/base/guard.h"
#include "engine/base/insist.h"
#include "engine/server/server.h"
#include "platform/memory.h"

namespace tritonts {

namespace {

// A version with more instances or tensors is not started on a JS thread.
constexpr size_t kFewInstances = 16;
constexpr size_t kFewTensors = 64;

}  // namespace

template <typename Refuse, typename Make>
void Server::Queue(const Refuse& refuse, const Make& make) {
  try {
    loaders_.Add(make());
    return;
  } catch (const std::bad_alloc&) {
    // Nothing was queued, so the task is refused below.
  }
  refuse(Status::NoMemory());
}

std::function<bool()> Server::CancelledFromNow() const {
  // Share the counter, because the calling thread may be abandoned and outlive the server.
  return [count = loads_cancelled_, before = loads_cancelled_->load()] {
    return count->load(std::memory_order_relaxed) != before;
  };
}

void Server::ReadFolder(std::string model, std::string path, FolderLimits limits,
                        std::function<void(Status, ModelFolder)> done) {
  const auto refuse = [done](const Status& status) { done(status, {}); };
  Queue(refuse, [&] {
    Loaders::Task task;
    task.model = std::move(model);
    task.refuse = refuse;
    task.discard = [] {};
    task.is_short = true;
    const auto cancelled = CancelledFromNow();
    task.run = [name = task.model, path = std::move(path), limits = std::move(limits), cancelled,
                done]() -> std::function<void()> {
      Status status;
      ModelFolder folder = ReadModelFolder(path, limits, cancelled);
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
    // A std::function must be copyable, so it shares the spec.
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
            // The version exists now, and its owner must be told.
            Insist([&] { done(result); });
          };
    };
    return task;
  });
}

void Server::AddVersion(uint32_t uid, Backend* backend, const std::string& name, int64_t number,
                        std::unique_ptr<Model> model) {
  // A weak reference, because a run that returns after it was abandoned may outlive the server.
  auto drained = [weak = weak_from_this()] {
    if (const auto server = weak.lock()) server->WakeReaper();
  };
  auto version = std::make_shared<ModelVersion>(uid, name, number, backend, std::move(model),
                                                &timer_, std::move(drained));
  version->SetTracer(tracer_, number, true);
  version->OnLeft([weak = weak_from_this(), uid] {
    const auto server = weak.lock();
    return !server || server->QueueRemoval(uid);
  });
  versions_.Add(uid, std::move(version));
}

void Server::Start(uint32_t uid, VersionConfig config, std::function<void(Status)> done) {
  std::shared_ptr<ModelVersion> version = FindVersion(uid);
  if (!version) {
    done(MakeStatus([] { return Status::Cancelled("loading was cancelled"); }));
    return;
  }
  config.gate = options_.rate_limiter;
  config.budget = &budget_;
  const Status cached = MakeStatus([&] {
    if (config.cached) AddCacheTo(version.get(), config.io, config.preserve_ordering);
    version->Identify(config.identity);
    return Status::Ok();
  });
  if (!cached.ok()) return done(cached);
  Queue(done, [&] {
    Loaders::Task task;
    task.model = version->name();
    task.refuse = done;
    // `self` keeps the server alive, because the version uses its timer.
    task.discard = [version, self = shared_from_this()] {
      if (version->left_to_start()) {
        version->Destroy();
      } else {
        // The reaper has not left the version to this start, or has abandoned its runs, too.
        self->WakeReaper();
      }
    };
    const auto cancelled = CancelledFromNow();
    task.run = [version, config = std::move(config), cores = spin_cores(), cancelled, done] {
      return [done, status = version->Start(config, cores, cancelled)] { done(status); };
    };
    return task;
  });
}

void Server::ChangeInstances(uint32_t uid, std::vector<uint32_t> removed, VersionConfig added,
                             std::function<void(Status, std::vector<uint32_t>)> done) {
  const auto refuse = [done](const Status& status) { done(status, {}); };
  std::shared_ptr<ModelVersion> version = FindVersion(uid);
  if (!version) {
    return refuse(MakeStatus([] { return Status::Cancelled("loading was cancelled"); }));
  }
  Queue(refuse, [&] {
    Loaders::Task task;
    task.model = version->name();
    task.refuse = refuse;
    // It keeps the server alive, because the version uses its timer.
    task.discard = [self = shared_from_this()] { self->WakeReaper(); };
    task.run = [version, removed = std::move(removed), added = std::move(added),
                gate = options_.rate_limiter, done]() -> std::function<void()> {
      std::vector<uint32_t> numbers;
      Status status =
          version->ChangeInstances(removed, added.instances, gate, added.claims, &numbers);
      return [done, status = std::move(status), numbers = std::move(numbers)] {
        Insist([&] { done(status, numbers); });
      };
    };
    return task;
  });
}

bool Server::QueueRemoval(uint32_t uid) {
  const std::shared_ptr<ModelVersion> version = FindVersion(uid);
  if (!version) return true;
  try {
    Loaders::Task task;
    task.model = version->name();
    task.refuse = [version](const Status&) { version->KeepLeft(); };
    task.discard = [self = shared_from_this()] { self->WakeReaper(); };
    task.run = [version]() -> std::function<void()> {
      version->RemoveLeft();
      return [] {};
    };
    loaders_.Add(std::move(task));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

std::optional<Status> Server::StartAtOnce(uint32_t uid, VersionConfig* config) {
  const std::shared_ptr<ModelVersion> version = FindVersion(uid);
  if (!version || !version->starts_at_once() || !config->warmup.empty()) return std::nullopt;
  // Starting takes time for each instance and tensor.
  const size_t tensors = config->io.inputs.size() + config->io.outputs.size();
  const auto bound = [](const InstanceSpec& one) { return !one.host_policy.empty(); };
  if (std::any_of(config->instances.begin(), config->instances.end(), bound)) return std::nullopt;
  if (config->instances.size() > kFewInstances || tensors > kFewTensors) return std::nullopt;
  // Loaders refuse tasks of a closing server in the same way.
  Status status = MakeStatus(
      [&] { return Status::Cancelled("model '" + version->name() + "': loading was cancelled"); });
  if (reaper_.closing()) return status;
  config->gate = options_.rate_limiter;
  config->budget = &budget_;
  const Status cached = MakeStatus([&] {
    if (config->cached) AddCacheTo(version.get(), config->io, config->preserve_ordering);
    version->Identify(config->identity);
    return Status::Ok();
  });
  if (!cached.ok()) return cached;
  {
    RuntimeCall call;
    if (call.allowed()) status = version->Start(std::move(*config), spin_cores());
  }
  // The reaper waits for a start before it ends the version.
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

void Server::Do(std::string what, std::function<void()> work, std::function<void(Status)> done) {
  Queue(done, [&] {
    Loaders::Task task;
    task.model = std::move(what);
    task.refuse = done;
    task.discard = [] {};
    task.run = [work = std::move(work), done]() -> std::function<void()> {
      work();
      return [done] { done(Status::Ok()); };
    };
    return task;
  });
}

}  // namespace tritonts
