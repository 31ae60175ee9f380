// Models as C callers name them, and the versions that serve their requests.
//
// A model handle finds its version again when the epoch of the server has moved, as environments do
// (src/server/models/model-table.ts). Requests that are in flight keep the version that they began
// with.
//
// Any thread may call any function. Functions throw std::bad_alloc, and report all else in a
// status.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "c_api/client.h"
#include "c_api/sleepers.h"
#include "engine/base/status.h"
#include "engine/server/model_key.h"
#include "engine/version/served.h"
#include "include/tritonts.h"
#include "json/json.h"

namespace tritonts::c_api {

// A version that serves. Immutable and shared.
struct Binding {
  std::shared_ptr<Client> client;
  std::shared_ptr<Served> served;
  ModelKey key;
  int64_t version = 0;
  bool takes_ids = false;  // its model is told the ids of requests
  // The labels of classes by the names of outputs.
  std::map<std::string, std::vector<std::string>> labels = {};

  const ModelIo& io() const { return served->io(); }
};

class Model {
 public:
  // A version of -1 means the newest.
  Model(std::shared_ptr<Client> client, ModelKey key, int64_t version)
      : client_(std::move(client)), key_(std::move(key)), version_(version) {}

  const std::shared_ptr<Client>& client() const { return client_; }
  const ModelKey& key() const { return key_; }
  // Its name, and its namespace if it has one, as messages show it.
  std::string Text() const;
  // The version that serves now. NOT_FOUND, UNAVAILABLE: none does.
  StatusOr<std::shared_ptr<const Binding>> Bind();
  // Whether the last failure of Bind was that the model is lazy, and not loaded at the moment.
  bool Sleeps();
  // The requests that wait until it is loaded.
  Sleepers& sleepers() { return sleepers_; }
  // As Bind; does not return the version `except`, which serves no more.
  StatusOr<std::shared_ptr<const Binding>> BindAnew(uint32_t except);

 private:
  // Reads what is published. The lock is held.
  Status Read();
  // Why no version serves.
  Status NotReady(const Json& published);

  const std::shared_ptr<Client> client_;
  const ModelKey key_;
  const int64_t version_;
  Sleepers sleepers_;

  std::mutex mutex_;  // guards all below
  uint32_t epoch_ = 0;
  bool read_ = false;
  bool sleeps_ = false;  // see Sleeps
  uint64_t revision_ = 0;
  Status status_;                           // not ok: no version serves
  std::shared_ptr<const Binding> binding_;  // null unless `status_` is ok
};

// Finds the model that a name means, in a namespace or without one (null).
StatusOr<ModelKey> FindModel(const Client& client, const char* model_namespace,
                             const std::string& name);

// The functions of the table (include/tritonts.h). What they return is deleted with Delete.
const tritonts_model_list* ListModels(const Client& client);
void DeleteList(const tritonts_model_list* list) noexcept;
StatusOr<const tritonts_model_info*> Describe(Model* model);
void DeleteInfo(const tritonts_model_info* info) noexcept;
Status ReadStatistics(Model* model, tritonts_statistics* statistics);

}  // namespace tritonts::c_api
