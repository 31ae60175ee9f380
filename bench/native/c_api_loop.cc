// Compares the C API with the engine's own port, both driven from C++: a closed loop with 64
// requests of a tiny model outstanding.
//
//   c_api_loop <library> <model.onnx>
//
// The model takes x and gives y, FP32 [N, 16]; y is x + 1. Each line of standard input,
// "<port|c_api> <milliseconds>", is answered with a line of JSON:
// {"requests":12800,"batches":600,"seconds":0.2}.
//
// The port is driven by the tests' client, which does what the JavaScript side does: it copies the
// inputs to a slab, joins requests to groups, and reads the pages of responses. The C caller
// submits what was released. Both check a number of each response.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/onnxruntime/onnxruntime.h"
#include "c_api/api.h"
#include "port_client.h"

// What the client of the tests calls when a check fails.
namespace tritonts::test {

void Fail(const char* file, int line, const std::string& text) {
  std::cerr << file << ':' << line << ": " << text << '\n';
  std::exit(1);
}

void Skip(const std::string& reason) {
  Fail("", 0, reason);
}

}  // namespace tritonts::test

namespace tritonts {

namespace {

constexpr uint32_t kRequests = 64;
constexpr uint32_t kWidth = 16;
constexpr size_t kBytes = kWidth * sizeof(float);

[[noreturn]] void End(const std::string& why) {
  std::cerr << why << '\n';
  std::exit(1);
}

void Ok(tritonts_error* error) {
  if (error) End(c_api::Table()->error_message(error));
}

// A server with the model.
class Bench {
 public:
  Bench(const std::string& library, const std::string& path)
      : server_(Server::Create({2, uint64_t{1} << 30, 0})) {
    if (!server_) End("no server");
    test::Event opened;
    server_->Open(
        onnxruntime::MakeBackend(),
        {"m", 1, path, {{"library", library}, {"intra_op_threads", "1"}, {"allow_spinning", "0"}}},
        [&](OpenResult result) {
          if (!result.status.ok()) End(result.status.message());
          uid_ = result.uid;
          opened.Set();
        });
    opened.Wait();
    VersionConfig config;
    config.io = {kRequests,
                 {{"x", DataType::kFp32, {-1, kWidth}, false}},
                 {{"y", DataType::kFp32, {-1, kWidth}, false}}};
    config.policy = {kRequests, {}, 0};
    config.instances.push_back({"m_0", 0, MemoryKind::kHost, 0});
    test::Event started;
    server_->Start(uid_, std::move(config), [&](Status status) {
      if (!status.ok()) End(status.message());
      started.Set();
    });
    started.Wait();
    server_->Publish({"", "m"},
                     R"({"state":"","reason":"","versions":[{"version":1,"state":"READY",)"
                     R"("reason":"","descriptor":{"uid":)" +
                         std::to_string(uid_) + "}}]}");
  }
  ~Bench() {
    test::Event closed;
    server_->Close(1000, [&](const std::vector<std::string>&) { closed.Set(); });
    closed.Wait();
    server_->Join();
  }

  const std::shared_ptr<Server>& server() const { return server_; }
  uint32_t uid() const { return uid_; }
  uint64_t batches() const { return server_->FindVersion(uid_)->statistics().execution_count; }

 private:
  const std::shared_ptr<Server> server_;
  uint32_t uid_ = 0;
};

using Clock = std::chrono::steady_clock;

// Through a port.
uint64_t SendByPort(const Bench& bench, test::PortClient* client, Clock::time_point end) {
  uint64_t answered = 0;
  const std::string bytes(kBytes, '\0');
  const std::vector<test::PortInput> inputs = {{0, {1, kWidth}, bytes}};
  for (uint32_t i = 0; i < kRequests; i++) client->Write(bench.uid(), 1, inputs);
  uint32_t outstanding = kRequests;
  while (outstanding > 0) {
    const auto responses = client->TakeAtLeast(1);
    answered += responses.size();
    outstanding -= static_cast<uint32_t>(responses.size());
    for (const test::PortResponse& response : responses) {
      float first = 0;
      std::memcpy(&first, response.outputs.at(0).bytes.data(), sizeof first);
      if (first != 1) End("a wrong answer");
    }
    if (Clock::now() > end) continue;
    for (; outstanding < kRequests; outstanding++) client->Write(bench.uid(), 1, inputs);
  }
  return answered;
}

// Through the C API.
class Caller {
 public:
  explicit Caller(const Bench& bench) : values_(kRequests * kWidth) {
    Ok(api_.attach(c_api::EngineId(), bench.server()->id(), &server_));
    Ok(api_.model_open(server_, nullptr, "m", -1, &model_));
    const int64_t dims[] = {1, kWidth};
    for (uint32_t i = 0; i < kRequests; i++) {
      tritonts_request* request = nullptr;
      Ok(api_.request_new(model_, &request));
      Ok(api_.request_set_callbacks(request, OnResponse, OnRelease, this));
      Ok(api_.request_set_input(request, "x", TRITONTS_FP32, dims, 2, values_.data() + i * kWidth,
                                kBytes));
      released_.push_back(request);
    }
    requests_ = released_;
  }
  ~Caller() {
    for (tritonts_request* request : requests_) Ok(api_.request_delete(request));
    api_.model_delete(model_);
    Ok(api_.detach(server_, 10'000));
  }

  uint64_t Send(Clock::time_point end) {
    uint64_t answered = 0;
    std::vector<tritonts_request*> ready;
    uint32_t outstanding = kRequests;
    released_.swap(ready);
    while (outstanding > 0) {
      if (!ready.empty() && Clock::now() <= end) {
        size_t accepted = 0;
        Ok(api_.submit(ready.data(), ready.size(), &accepted));
      } else {
        outstanding -= static_cast<uint32_t>(ready.size());
      }
      if (outstanding == 0) break;
      ready.clear();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return std::exchange(is_whole_, false); });
      released_.swap(ready);
      answered += ready.size();
    }
    released_ = requests_;
    return answered;
  }

 private:
  static void OnResponse(tritonts_request*, tritonts_response* response, uint32_t, void* user) {
    const tritonts_output* const output =
        static_cast<Caller*>(user)->api_.response_output(response, 0);
    if (!output || *static_cast<const float*>(output->data) != 1) End("a wrong answer");
    static_cast<Caller*>(user)->api_.response_delete(response);
  }
  static void OnRelease(tritonts_request* request, uint32_t flags, void* user) {
    auto* const self = static_cast<Caller*>(user);
    const std::lock_guard lock(self->mutex_);
    self->released_.push_back(request);
    // Once for a batch.
    if ((flags & TRITONTS_RELEASE_MORE) != 0) return;
    self->is_whole_ = true;
    self->changed_.notify_one();
  }

  const tritonts_api& api_ = *c_api::Table();
  tritonts_server* server_ = nullptr;
  tritonts_model* model_ = nullptr;
  std::vector<float> values_;
  std::vector<tritonts_request*> requests_;
  std::mutex mutex_;  // guards the next three while requests are outstanding
  std::condition_variable changed_;
  std::vector<tritonts_request*> released_;
  bool is_whole_ = false;
};

void Main(char** arguments) {
  const Bench bench(arguments[1], arguments[2]);
  test::PortClient port(bench.server());
  port.WriteGroups();
  Caller caller(bench);
  std::string side;
  int64_t milliseconds = 0;
  while (std::cin >> side >> milliseconds) {
    const uint64_t before = bench.batches();
    const auto start = Clock::now();
    const auto end = start + std::chrono::milliseconds(milliseconds);
    const uint64_t requests = side == "port" ? SendByPort(bench, &port, end) : caller.Send(end);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    std::printf("{\"requests\":%llu,\"batches\":%llu,\"seconds\":%.6f}\n",
                static_cast<unsigned long long>(requests),
                static_cast<unsigned long long>(bench.batches() - before), seconds);
    std::fflush(stdout);
  }
}

}  // namespace

}  // namespace tritonts

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: c_api_loop <library> <model.onnx>\n";
    return 2;
  }
  tritonts::Main(arguments);
  return 0;
}
