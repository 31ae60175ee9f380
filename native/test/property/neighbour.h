// Another version at the gate of the player's version. It has one asynchronous instance and at most
// one request.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "engine/version/model_version.h"
#include "player.h"
#include "timer.h"

namespace tritonts::test {

class Player::Neighbour final : public ResponseSink {
 public:
  Neighbour(std::shared_ptr<Gate> gate, Timer* timer) {
    header_.sink = this;
    version_ = std::make_shared<ModelVersion>(2, "neighbour", 1, &backend_,
                                              std::make_unique<Played>(this), timer, [] {});
    OtherClient() = version_.get();
    VersionConfig config;
    config.io = {0, {{"x", DataType::kFp32, {1}, false}}, {{"y", DataType::kFp32, {1}, false}}};
    config.gate = std::move(gate);
    config.instances.push_back({"neighbour_0", 0, MemoryKind::kHost, 0});
    started_ = version_->Start(std::move(config)).ok();
    header_.executor = version_.get();
  }
  ~Neighbour() override {
    version_->Close();
    version_->Abort(Status::Cancelled("the test is over"));
    if (run_.load()) Respond();
    version_->Destroy();
  }
  bool started() const { return started_; }
  // Whether its batch has passed the gate.
  bool runs() const { return run_.load() != nullptr; }
  void Submit() {
    request_.header = &header_;
    request_.Prepare();
    Request* const one[] = {&request_};
    version_->Submit(one, 1, nullptr);
  }
  void Respond() {
    tritonts::Run* const run = run_.exchange(nullptr);
    const RunRef reference(*run);
    run->RespondAll(Status::Ok());
    run->InstanceFree();
  }
  void Deliver(std::span<const Response> responses) override {
    for (const Response& response : responses) response.request->set_state(Request::State::kIdle);
  }

 private:
  class Played final : public Model {
   public:
    explicit Played(Neighbour* owner) : owner_(owner) {}
    ModelDescription Describe() const override { return {}; }
    Status Configure(const ModelIo&, std::string_view) override { return Status::Ok(); }
    StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec&) override {
      return std::unique_ptr<Instance>(new PlayedOne(owner_));
    }

   private:
    class PlayedOne final : public Instance {
     public:
      explicit PlayedOne(Neighbour* owner) : owner_(owner) {}
      bool asynchronous() const override { return true; }
      void Execute(tritonts::Run& run) override { owner_->run_ = &run; }

     private:
      Neighbour* const owner_;
    };
    Neighbour* const owner_;
  };
  class PlayedBackendOfNeighbour final : public Backend {
   public:
    StatusOr<std::unique_ptr<Model>> Load(const ModelSpec&) override {
      return Status::Internal("a player makes its models itself");
    }
    bool may_run_on_js_thread() const override { return true; }
  };

  PlayedBackendOfNeighbour backend_;
  RequestHeader header_;
  Request request_;
  std::atomic<tritonts::Run*> run_{nullptr};
  std::shared_ptr<ModelVersion> version_;
  bool started_ = false;
};

}  // namespace tritonts::test
