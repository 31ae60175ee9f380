// An environment of the stress program: a thread that plays the JS thread of its ports.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "contract_backend.h"
#include "port_client.h"
#include "support/backends/fault/fault.h"
#include "test/stress/stress.h"

namespace tritonts::test {

// It attaches ports to a server, submits requests, checks their responses, and detaches, until the
// server is closed. Owned and used by one thread.
class Environment {
 public:
  Environment(std::shared_ptr<Server> server, uint64_t seed)
      : server_(std::move(server)), random_(seed) {}

  // Attaches and detaches until the server is closed.
  void Run();

 private:
  struct Pending {
    Target target;
    uint32_t generation;
    uint32_t rows;
    std::vector<PortInput> inputs;
    std::vector<uint32_t> wanted;
    Fault fault = Fault::kNone;
    Way way = Way::kPlain;
    uint32_t responses = 0;  // responses so far, except final ones
    bool cancelled = false;
  };

  // Reads the published models if they changed: "uid kind max_batch_size" for each version.
  void Refresh();
  PortInput Input(uint32_t index, std::vector<int32_t> shape);
  // Any fault except those whose run must be ended from outside, and the one for which a
  // sanitizer's allocator ends the process.
  Fault AnyFault();
  void Write();
  void CancelSome();
  void TakeOrFail();
  void Take();
  void Check(const PortResponse& response);
  void CheckOutputs(const Pending& pending, const PortResponse& response);

  const std::shared_ptr<Server> server_;
  Random random_;
  PortClient* client_ = nullptr;
  std::map<uint32_t, Pending> pending_;  // by slot
  std::vector<Target> targets_;
  uint64_t revision_ = 0;
  uint64_t next_value_ = 0;
  size_t next_target_ = 0;
  uint32_t next_rows_ = 0;
  bool closed_ = false;
};

}  // namespace tritonts::test
