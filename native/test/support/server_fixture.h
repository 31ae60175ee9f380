// A server into which a test loads versions.
#pragma once

#include <optional>

#include "engine/server/server.h"
#include "version_fixture.h"

namespace tritonts::test {

class ServerBench {
 public:
  explicit ServerBench(uint64_t max_in_flight_bytes = uint64_t{1} << 30, uint32_t spin_cores = 0)
      : server_(Server::Create({2, max_in_flight_bytes, spin_cores})) {}
  ~ServerBench() {
    if (!server_) return;
    Close(0);
    server_->Join();
  }

  Server& server() { return *server_; }
  const std::shared_ptr<Server>& shared() { return server_; }

  // Opens a version, and returns its uid.
  StatusOr<uint32_t> Open(Backend* backend, ModelSpec spec = {"m", 1, "", {}}) {
    Event done;
    OpenResult result;
    server_->Open(backend, std::move(spec), [&](OpenResult opened) {
      result = std::move(opened);
      done.Set();
    });
    CHECK(done.Wait());
    if (!result.status.ok()) return result.status;
    return result.uid;
  }
  Status Start(uint32_t uid, VersionConfig config) {
    Event done;
    Status result;
    server_->Start(uid, std::move(config), [&](Status status) {
      result = std::move(status);
      done.Set();
    });
    CHECK(done.Wait());
    return result;
  }
  // Opens and starts a version, and returns its uid; 0 on failure.
  uint32_t Serve(Backend* backend, VersionConfig config) {
    auto opened = Open(backend);
    CHECK(opened.ok());
    if (!opened.ok()) return 0;
    CHECK(Start(opened.value(), std::move(config)).ok());
    return opened.value();
  }
  // Closes the server and waits. Returns the names of abandoned models.
  std::vector<std::string> Close(uint64_t timeout_ms) {
    Event done;
    std::vector<std::string> abandoned;
    server_->Close(timeout_ms, [&](std::vector<std::string> names) {
      abandoned = std::move(names);
      done.Set();
    });
    CHECK(done.Wait());
    return abandoned;
  }
  // Joins the closed server and drops it.
  std::weak_ptr<Server> Release() {
    server_->Join();
    std::weak_ptr<Server> weak = server_;
    server_ = nullptr;
    return weak;
  }

 private:
  std::shared_ptr<Server> server_;
};

}  // namespace tritonts::test
