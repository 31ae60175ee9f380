#include "c_api/model.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "c_api/errors.h"

namespace tritonts::c_api {

namespace {

std::string TextOf(const Json& value) {
  return value.text() ? *value.text() : std::string();
}

bool IsUnloaded(const Json& one) {
  return TextOf(one.Member("state")) == "UNAVAILABLE" && TextOf(one.Member("reason")) == "unloaded";
}

// A load or an unload of it is under way.
bool IsChanging(const Json& one) {
  const std::string state = TextOf(one.Member("state"));
  return state == "LOADING" || state == "UNLOADING";
}

// The reason of the error of models or versions in these states, as environments give it.
Reason WhyNotReady(const std::vector<const Json*>& all) {
  Reason found = Reason::kNone;
  for (const Json* one : all) {
    if (IsChanging(*one)) return Reason::kNotReady;
    if (found != Reason::kNone) continue;
    const std::string reason = TextOf(one->Member("errorReason"));
    for (int number = 1; number <= kMostReason && !reason.empty(); number++) {
      if (reason == ReasonName(static_cast<Reason>(number))) found = static_cast<Reason>(number);
    }
  }
  return found == Reason::kNone ? kLoadFailed : found;
}

std::string Names(const std::vector<ModelKey>& keys) {
  constexpr size_t kShown = 12;
  std::vector<std::string> names;
  for (const ModelKey& key : keys) {
    if (names.empty() || names.back() != key.name) names.push_back(key.name);
  }
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); i++) {
    text += (i > 0 ? ", " : "") + Printable(names[i]);
  }
  if (names.size() > kShown) text += ", …";
  return text.empty() ? "(none)" : text;
}

Status Unknown(const Client& client, const std::string& name) {
  return Status::NotFound("unknown model '" + Printable(name) +
                          "'; the server's models are: " + Names(client.server().ModelKeys()));
}

}  // namespace

std::string Model::Text() const {
  return key_.model_namespace.empty() ? key_.name : key_.model_namespace + "::" + key_.name;
}

StatusOr<std::shared_ptr<const Binding>> Model::Bind() {
  if (Status open = client_->CheckAttached(); !open.ok()) return open;
  const uint32_t epoch = client_->server().epoch();
  const std::lock_guard lock(mutex_);
  if (!read_ || epoch != epoch_) {
    sleeps_ = false;
    status_ = Read();
    if (!status_.ok()) binding_.reset();
    // The epoch was read before the texts, so a later change is seen the next time.
    epoch_ = epoch;
    read_ = true;
  }
  if (!status_.ok()) return status_;
  return binding_;
}

bool Model::Sleeps() {
  const std::lock_guard lock(mutex_);
  return sleeps_;
}

StatusOr<std::shared_ptr<const Binding>> Model::BindAnew(uint32_t except) {
  auto found = Bind();
  if (!found.ok() || found.value()->served->uid() != except) return found;
  return Status::Unavailable(Reason::kNotReady, "the model's version was unloaded");
}

Status Model::Read() {
  if (Status open = client_->CheckOpen(); !open.ok()) return open;
  Server& server = client_->server();
  const Server::Snapshot read = server.Read(key_, binding_ ? revision_ : UINT64_MAX);
  if (!read.found) return Unknown(*client_, key_.name);
  if (!read.changed) return Status::Ok();
  auto parsed = Json::Parse(read.json);
  if (!parsed.ok()) return parsed.status();
  const Json& published = parsed.value();
  const Json* newest = nullptr;
  int64_t number = -1;
  for (const Json& one : published.Member("versions").items()) {
    const int64_t version = one.Member("version").integer().value_or(-1);
    if (TextOf(one.Member("state")) != "READY" || version < number) continue;
    if (!one.Member("descriptor").Member("uid").integer()) continue;
    if (version_ >= 0 && version != version_) continue;
    newest = &one;
    number = version;
  }
  if (!newest) return NotReady(published);
  const Json& descriptor = newest->Member("descriptor");
  const auto uid = static_cast<uint32_t>(*descriptor.Member("uid").integer());
  std::shared_ptr<Served> served = server.FindServed(uid);
  if (!served || !served->started()) {
    return Status::Unavailable(Reason::kNotReady,
                               "model '" + Text() + "': its version was unloaded");
  }
  auto binding = std::make_shared<Binding>();
  binding->client = client_;
  binding->served = std::move(served);
  binding->key = key_;
  binding->version = number;
  binding->takes_ids = descriptor.Member("takesIds").flag();
  const Json& labels = descriptor.Member("labels");
  for (size_t i = 0; i < labels.items().size(); i++) {
    std::vector<std::string>& names = binding->labels[labels.names()[i]];
    for (const Json& label : labels.items()[i].items()) names.push_back(TextOf(label));
  }
  binding_ = std::move(binding);
  revision_ = read.revision;
  return Status::Ok();
}

// As notReady in src/server/models/model-table.ts.
Status Model::NotReady(const Json& published) {
  const std::string text = "model '" + Text() + "'";
  const std::string what = version_ < 0 ? text : text + ", version " + std::to_string(version_);
  std::vector<const Json*> asked;
  std::vector<const Json*> failed;
  std::string ready;
  for (const Json& one : published.Member("versions").items()) {
    const int64_t version = one.Member("version").integer().value_or(-1);
    if (TextOf(one.Member("state")) == "READY") {
      ready += (ready.empty() ? "" : ", ") + std::to_string(version);
    }
    if (version_ >= 0 && version != version_) continue;
    asked.push_back(&one);
    if (!IsUnloaded(one)) failed.push_back(&one);
  }
  const std::string state = TextOf(published.Member("state"));
  const std::string reason = TextOf(published.Member("reason"));
  const bool lost = !std::all_of(failed.begin(), failed.end(),
                                 [](const Json* one) { return IsChanging(*one); }) ||
                    (published.Member("versions").items().empty() && state == "UNAVAILABLE" &&
                     reason != "unloaded");
  if (!published.Member("lazy").is_null() && ready.empty() && !lost) {
    sleeps_ = true;
    return Status::Unavailable(Reason::kNotReady,
                               text + " is lazy, and is not loaded at the moment");
  }
  if (!failed.empty()) {
    std::string states;
    for (const Json* one : failed) {
      const std::string why = TextOf(one->Member("reason"));
      states += (states.empty() ? "" : "; ") + std::string("version ") +
                std::to_string(one->Member("version").integer().value_or(-1)) + " is " +
                TextOf(one->Member("state")) + (why.empty() ? "" : ": " + why);
    }
    return Status::Unavailable(WhyNotReady(failed), what + " is not ready: " + states);
  }
  if (!state.empty() && reason != "unloaded") {
    return Status::Unavailable(WhyNotReady({&published}),
                               what + " is not ready: it is " + state + ": " + reason);
  }
  return Status::NotFound(what + " is not available: " +
                          (!ready.empty()   ? "the ready versions: " + ready
                           : !asked.empty() ? "it was unloaded"
                                            : "it is not loaded"));
}

StatusOr<ModelKey> FindModel(const Client& client, const char* model_namespace,
                             const std::string& name) {
  if (Status open = client.CheckOpen(); !open.ok()) return open;
  Server& server = client.server();
  if (!model_namespace) {
    auto found = server.ResolveModel(name);
    if (!found.ok()) return found.status();
    if (found.value()) return *found.take();
    return Unknown(client, name);
  }
  ModelKey key{model_namespace, name};
  if (server.Read(key, 0).found) return key;
  std::string others;
  for (const ModelKey& one : server.ModelKeys()) {
    if (one.name != name) continue;
    others += (others.empty() ? "'" : ", '") + Printable(one.model_namespace) + "'";
  }
  if (others.empty()) return Unknown(client, name);
  return Status::NotFound("model '" + Printable(name) + "' is not in the namespace '" +
                          Printable(key.model_namespace) + "'; these have it: " + others);
}

}  // namespace tritonts::c_api
