// What servers and their models are like now. JavaScript is asked only to load lazy models.
#include <string>

#include "json/json.h"
#include "plugins/error.h"
#include "plugins/functions.h"
#include "plugins/owner.h"
#include "plugins/server.h"

namespace tritonts::plugins {

namespace {

std::string TextOf(const Json& value) {
  return value.text() ? *value.text() : std::string();
}

bool IsReadyOrUnloaded(const Json& one) {
  const std::string state = TextOf(one.Member("state"));
  return state == "READY" || (state == "UNAVAILABLE" && TextOf(one.Member("reason")) == "unloaded");
}

// As isReady in src/server/reports/repository-index.ts.
bool IsAsWanted(const Json& published) {
  if (!published.Member("lazy").is_null()) return true;
  const std::vector<Json>& versions = published.Member("versions").items();
  // A model that was never loaded has no state.
  if (versions.empty())
    return TextOf(published.Member("state")).empty() || IsReadyOrUnloaded(published);
  for (const Json& one : versions) {
    if (!IsReadyOrUnloaded(one)) return false;
  }
  return true;
}

StatusOr<std::shared_ptr<const c_api::Binding>> Bind(TRITONSERVER_Server* server, const char* name,
                                                     int64_t version) {
  if (Status status = CheckModel(server, name, version); !status.ok()) return status;
  auto open = server->Open();
  if (!open.ok()) return open.status();
  auto model = open.value()->FindModel(name, version);
  if (!model.ok()) return model.status();
  return open.value()->BindAwake(model.value().get());
}

}  // namespace

TRITONSERVER_Error* TRITONSERVER_ServerIsLive(TRITONSERVER_Server* server, bool* live) noexcept {
  return Guard([&]() -> Status {
    if (Status status = CheckServer(server); !status.ok()) return status;
    auto open = server->Open();
    *live = open.ok() && open.value()->client()->CheckOpen().ok();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerIsReady(TRITONSERVER_Server* server, bool* ready) noexcept {
  return Guard([&]() -> Status {
    *ready = false;
    if (Status status = CheckServer(server); !status.ok()) return status;
    auto open = server->Open();
    if (!open.ok() || !open.value()->client()->CheckOpen().ok()) return Status::Ok();
    if (!IsStrict(server->id())) {
      *ready = true;
      return Status::Ok();
    }
    const Server& engine = open.value()->client()->server();
    for (const ModelKey& key : engine.ModelKeys()) {
      const Server::Snapshot read = engine.Read(key, UINT64_MAX);
      if (!read.found) continue;  // it was removed meanwhile
      auto published = Json::Parse(read.json);
      if (!published.ok()) return published.status();
      if (!IsAsWanted(published.value())) return Status::Ok();
    }
    *ready = true;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelIsReady(TRITONSERVER_Server* server,
                                                    const char* model_name, int64_t model_version,
                                                    bool* ready) noexcept {
  return Guard([&]() -> Status {
    *ready = false;
    if (Status status = CheckModel(server, model_name, model_version); !status.ok()) return status;
    auto open = server->Open();
    if (!open.ok()) return open.status();
    if (Status status = open.value()->client()->CheckOpen(); !status.ok()) return status;
    // As in Triton, an unknown model is not ready.
    auto model = open.value()->FindModel(model_name, model_version);
    // A request has a lazy model loaded, so it counts as ready.
    *ready = model.ok() && (model.value()->Bind().ok() || model.value()->Sleeps());
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelBatchProperties(TRITONSERVER_Server* server,
                                                            const char* model_name,
                                                            int64_t model_version, uint32_t* flags,
                                                            void** voidp) noexcept {
  return Guard([&]() -> Status {
    auto bound = Bind(server, model_name, model_version);
    if (!bound.ok()) return bound.status();
    const bool batches = bound.value()->io().max_batch_size > 0;
    *flags = batches ? TRITONSERVER_BATCH_FIRST_DIM : TRITONSERVER_BATCH_UNKNOWN;
    if (voidp) *voidp = nullptr;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_ServerModelTransactionProperties(TRITONSERVER_Server* server,
                                                                  const char* model_name,
                                                                  int64_t model_version,
                                                                  uint32_t* txn_flags,
                                                                  void** voidp) noexcept {
  return Guard([&]() -> Status {
    auto bound = Bind(server, model_name, model_version);
    if (!bound.ok()) return bound.status();
    const bool decoupled = bound.value()->served->decoupled();
    *txn_flags = decoupled ? TRITONSERVER_TXN_DECOUPLED : TRITONSERVER_TXN_ONE_TO_ONE;
    if (voidp) *voidp = nullptr;
    return Status::Ok();
  });
}

}  // namespace tritonts::plugins
