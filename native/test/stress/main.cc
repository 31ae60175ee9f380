// The stress program. Many environments use one server while models are loaded and unloaded. Each
// thread here plays the JS thread of its ports. A controller loads, publishes and retires versions,
// and finally closes the server while it is used. Every request must end exactly once, with its own
// rows or with an error that is allowed in its situation.
//
//   tritonts_stress [seconds] [seed] [sequences]
//
// Afterwards it runs so many sequences with each strategy (sequences.h).
// Some versions run on fake GPUs, one of which is lost now and then. With
// TRITONTS_TEST_ORT_LIBRARY, the path of a runtime library, some versions run an ONNX model.
#include <iostream>
#include <mutex>
#include <thread>

#include "engine/base/clock.h"
#include "test/stress/controller.h"
#include "test/stress/environment.h"
#include "test/stress/sequences.h"

namespace tritonts::test {

Counts counts;
std::atomic<bool> failed{false};

void Complain(const std::string& what) {
  Fail("stress", 0, what);
  failed = true;
}

// Checks in shared fixtures report here.
void Fail(const char* file, int line, const std::string& text) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::cout << file << ":" << line << ": " << text << std::endl;
  failed = true;
}

ModelIo IoOf(Kind kind, uint32_t max_batch_size) {
  const auto both = [&](uint32_t most, const std::vector<std::vector<int64_t>>& dims) {
    ModelIo io;
    io.max_batch_size = most;
    for (size_t i = 0; i < dims.size(); i++) {
      io.inputs.push_back({"x" + std::to_string(i), DataType::kFp32, dims[i], false});
      io.outputs.push_back({"y" + std::to_string(i), DataType::kFp32, dims[i], false});
    }
    return io;
  };
  switch (kind) {
    case Kind::kFixed:
      return both(max_batch_size, {{-1, 16}, {-1, 2}});
    case Kind::kVariable:
      return both(max_batch_size, {{-1, -1}});
    case Kind::kLarge:
      return both(0, {{-1}});
    case Kind::kFault:
    case Kind::kContract: {
      ModelIo io = both(max_batch_size, {{-1, 4}});
      io.inputs.push_back({"fault", DataType::kInt32, {-1, 1}, false});
      return io;
    }
    default:
      return both(max_batch_size, {{-1, 4}});
  }
}

namespace {

constexpr int kEnvironments = 4;
constexpr uint64_t kMaxInFlightBytes = uint64_t{6} << 20;
constexpr uint64_t kMs = 1'000'000;

int Play(double seconds, uint64_t seed) {
  std::cout << "seed " << seed << std::endl;
  Random random(seed);
  const uint64_t end = NowNs() + static_cast<uint64_t>(seconds * 1e9);
  const Gpus gpus;
  std::weak_ptr<Server> left;
  // Several servers, one after the other, are closed while their environments use them.
  while (NowNs() < end && !failed) {
    // The number of cores may exceed the machine's, so that threads spin.
    ServerBench bench(kMaxInFlightBytes, random.Once(3) ? 0 : 1 + random.Up(9));
    Controller controller(&bench, &gpus, random.Seed());
    std::vector<std::thread> threads;
    for (int i = 0; i < kEnvironments; i++) {
      threads.emplace_back(
          [server = bench.shared(), seed = random.Seed()] { Environment(server, seed).Run(); });
    }
    controller.Run(std::min(end, NowNs() + (100 + random.Up(900)) * kMs));
    const auto abandoned = bench.Close(random.Up(2) * 20);
    if (!abandoned.empty()) Complain("versions were abandoned at the end");
    for (std::thread& thread : threads) thread.join();
    controller.Finish();
    // Ports of the last batches may still be ending.
    if (!Eventually([&] { return bench.server().in_flight_bytes() == 0; })) {
      Complain("bytes stay in flight");
    }
    left = bench.Release();
  }
  if (!left.expired()) Complain("somebody keeps the closed server");
  if (!failed && gpus.LeftSomething()) Complain("something of a version stays on a GPU");
  const uint64_t ended =
      counts.ok + counts.cancelled + counts.gone + counts.limited + counts.faulty;
  std::cout << counts.submitted << " requests in " << counts.ports << " ports: " << counts.ok
            << " ok (" << counts.by_gpus << " by GPUs), " << counts.cancelled << " cancelled, "
            << counts.limited << " limited, " << counts.gone << " too late, " << counts.faulty
            << " faulty, " << counts.streamed << " responses before a final one, " << counts.dropped
            << " dropped with their port; " << counts.versions << " versions, "
            << counts.failed_loads << " failed loads; "
            << "retired versions ran " << counts.rows << " rows in " << counts.batches << " batches"
            << std::endl;
  if (ended + counts.dropped != counts.submitted) Complain("requests are lost");
  return failed ? 1 : 0;
}

}  // namespace

}  // namespace tritonts::test

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 3;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  const uint64_t sequences = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 20'000;
  if (tritonts::test::Play(seconds, seed) != 0) return 1;
  tritonts::test::StressSequences(sequences, seed);
  return tritonts::test::failed ? 1 : 0;
}
