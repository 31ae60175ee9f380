#include "plugins/server.h"

#include "c_api/api.h"
#include "c_api/errors.h"
#include "plugins/batcher.h"
#include "plugins/owner.h"

namespace tritonts::plugins {

namespace {

// The objects of all servers, by their ids. Never destroyed, because threads may outlive static
// destructors.
struct ServerObjects {
  std::mutex mutex;
  std::map<uint32_t, std::unique_ptr<TRITONSERVER_Server>> all;
};
ServerObjects& Objects() {
  static auto* const objects = new ServerObjects();
  return *objects;
}

Status IsClosed() {
  return Status::Unavailable(Reason::kClosed, "the server is closed");
}

}  // namespace

Status CheckServer(const TRITONSERVER_Server* server) {
  if (server) return Status::Ok();
  return Status::InvalidArg("expected a server, but received NULL");
}

Status CheckModel(const TRITONSERVER_Server* server, const char* name, int64_t version) {
  if (Status status = CheckServer(server); !status.ok()) return status;
  if (!name) return Status::InvalidArg("expected the name of a model, but received NULL");
  if (version >= -1) return Status::Ok();
  return Status::InvalidArg(
      "model '" + c_api::Printable(name) +
      "': expected a version of at least 0, or -1 for the newest, but received " +
      std::to_string(version));
}

StatusOr<std::shared_ptr<c_api::Model>> ServerAttachment::FindModel(const std::string& name,
                                                                    int64_t version) {
  // More than a server has models. Names that nobody has are not kept.
  constexpr size_t kMostKept = 4096;
  const uint32_t epoch = client_->server().epoch();
  const std::pair<std::string, int64_t> which(name, version);
  {
    const std::lock_guard lock(mutex_);
    const auto known = models_.find(which);
    if (known != models_.end() && known->second.epoch == epoch) return known->second.model;
  }
  auto key = c_api::FindModel(*client_, nullptr, name);
  if (!key.ok()) return key.status();
  const std::lock_guard lock(mutex_);
  if (models_.size() >= kMostKept) models_.clear();
  Known& known = models_[which];
  known.epoch = epoch;
  if (!known.model || !(known.model->key() == key.value())) {
    known.model = std::make_shared<c_api::Model>(client_, key.take(), version);
  }
  return known.model;
}

StatusOr<std::shared_ptr<const c_api::Binding>> ServerAttachment::BindAwake(c_api::Model* model) {
  auto bound = model->Bind();
  if (bound.ok() || !model->Sleeps()) return bound;
  const auto woken = AskOwner(client_->server().id(), WakeQuestion(model->key()));
  return woken.ok() ? model->Bind() : woken.status();
}

StatusOr<TRITONSERVER_Server*> ServerOf(const std::shared_ptr<Server>& server) {
  ServerObjects& objects = Objects();
  const std::lock_guard lock(objects.mutex);
  const auto known = objects.all.find(server->id());
  if (known != objects.all.end()) return known->second.get();
  const auto attachment =
      std::make_shared<ServerAttachment>(std::make_shared<c_api::Client>(server));
  auto made = std::make_unique<TRITONSERVER_Server>(server->id(), attachment);
  TRITONSERVER_Server* const object = made.get();
  const auto added = objects.all.emplace(server->id(), std::move(made)).first;
  try {
    if (server->AddCompanion(attachment)) return object;
  } catch (...) {
    objects.all.erase(added);
    throw;
  }
  objects.all.erase(added);
  return IsClosed();
}

StatusOr<TRITONSERVER_Server*> FindServer(uint32_t engine, uint32_t id) {
  if (engine != c_api::EngineId()) {
    return Status::InvalidArg(
        "the handle belongs to another copy of the package in this process, with an addon of its "
        "own: both must load the same file");
  }
  const std::shared_ptr<Server> server = Server::Find(id);
  if (!server || server->closing()) return IsClosed();
  return ServerOf(server);
}

}  // namespace tritonts::plugins

tritonts::StatusOr<TRITONSERVER_Server*> tritonts::c_api::TritonServerOf(
    const std::shared_ptr<Server>& server) {
  return plugins::ServerOf(server);
}

tritonts::StatusOr<std::shared_ptr<tritonts::plugins::ServerAttachment>> TRITONSERVER_Server::Open()
    const {
  if (tritonts::plugins::FormsBatch()) {
    return tritonts::plugins::NotWhileBatching("a function of the server");
  }
  std::shared_ptr<tritonts::plugins::ServerAttachment> attachment = attachment_.lock();
  if (!attachment) return tritonts::plugins::IsClosed();
  return attachment;
}
