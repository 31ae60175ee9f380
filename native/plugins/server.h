// Servers as plug-ins and native programs see them. TypeScript creates and closes them.
//
// A server has one object for all that ask, made when the first one asks. The object lives as long
// as the process, so that no pointer to it dangles: functions with a server that is closed return
// UNAVAILABLE. It keeps neither the server nor an attachment alive. The server shares the
// attachment (c_api/client.h) until Server::Join.
//
// Any thread may call any function. Functions throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "c_api/client.h"
#include "c_api/model.h"
#include "engine/base/status.h"
#include "engine/server/server.h"
#include "plugins/abi/types.h"

namespace tritonts::plugins {

// What requests through a server's object share.
class ServerAttachment {
 public:
  explicit ServerAttachment(std::shared_ptr<c_api::Client> client) : client_(std::move(client)) {}

  const std::shared_ptr<c_api::Client>& client() const { return client_; }
  // The model that a name means. A version of -1 means the newest. NOT_FOUND, UNAVAILABLE: there is
  // none, or the server is closed. Models are kept, so that requests of one share what was read of
  // it.
  StatusOr<std::shared_ptr<c_api::Model>> FindModel(const std::string& name, int64_t version);
  // The version of a model that serves now. A lazy model that is not loaded is loaded first, which
  // the call waits for.
  StatusOr<std::shared_ptr<const c_api::Binding>> BindAwake(c_api::Model* model);

 private:
  struct Known {
    uint32_t epoch = 0;  // of the server, before the name was looked up
    std::shared_ptr<c_api::Model> model;
  };

  const std::shared_ptr<c_api::Client> client_;
  std::mutex mutex_;  // guards all below
  std::map<std::pair<std::string, int64_t>, Known> models_;
};

// What the arguments of a function must be. INVALID_ARG: there is no server (NULL).
Status CheckServer(const TRITONSERVER_Server* server);
// INVALID_ARG: there is no server, or no name (NULL), or the version is below -1, which means the
// newest.
Status CheckModel(const TRITONSERVER_Server* server, const char* name, int64_t version = -1);

}  // namespace tritonts::plugins

struct TRITONSERVER_Server {
 public:
  TRITONSERVER_Server(uint32_t id, std::weak_ptr<tritonts::plugins::ServerAttachment> attachment)
      : id_(id), attachment_(std::move(attachment)) {}
  TRITONSERVER_Server(const TRITONSERVER_Server&) = delete;
  TRITONSERVER_Server& operator=(const TRITONSERVER_Server&) = delete;

  uint32_t id() const { return id_; }
  // UNAVAILABLE: the server is closed.
  tritonts::StatusOr<std::shared_ptr<tritonts::plugins::ServerAttachment>> Open() const;

 private:
  const uint32_t id_;
  const std::weak_ptr<tritonts::plugins::ServerAttachment> attachment_;
};

namespace tritonts::plugins {

// The object of a server. UNAVAILABLE: it is closed.
StatusOr<TRITONSERVER_Server*> ServerOf(const std::shared_ptr<Server>& server);
// The same by the handle of JavaScript (`server.handle`), as tritonts_api::attach takes it.
// INVALID_ARG: the handle is of another copy of the addon.
StatusOr<TRITONSERVER_Server*> FindServer(uint32_t engine, uint32_t id);

}  // namespace tritonts::plugins
