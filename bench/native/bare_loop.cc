// The upper bound of a server's throughput: a loop that only gathers a batch and runs it.
//
//   bare_loop <library> <model.onnx> <threads> <input> <FP32|INT64> <dims> <output> <dims>
//
// Dims are those of one item, separated by commas, without the batch; the output is FP32. Each line
// of standard input, "<batch size> <milliseconds>", is answered with a line of JSON:
// {"batch":64,"items":12800,"seconds":0.2}. As in the server, the session runs on a global pool
// whose threads do not spin. A batch is gathered from the memory of that many requests into one
// buffer. The tensors of the buffer and the output are created once, before the clock starts.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "backends/onnxruntime/library.h"
#include "backends/onnxruntime/table.h"
#include "platform/dynamic_library.h"

namespace tritonts::onnxruntime {

namespace {

// Different requests, as many as the other contestants have.
constexpr size_t kRequests = 64;

// Ends the program on an error.
void Check(const Status& status) {
  if (status.ok()) return;
  std::cerr << status.message() << '\n';
  std::exit(1);
}

// An input or output: its name, type, and the dims of one item.
struct Tensor {
  std::string name;
  ElementType type;
  std::vector<int64_t> dims;

  size_t elements() const {
    size_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
    return count;
  }
  size_t bytes() const { return elements() * (type == ElementType::kFloat ? 4 : 8); }
};

// The library with a model loaded.
class Runtime {
 public:
  Runtime(const std::string& path, const std::string& model, int threads) {
    auto library = Library::Open(path);
    Check(library.status());
    library_ = library.value();
    auto environment = library_->GetEnvironment(threads);
    Check(environment.status());
    environment_ = environment.value();
    Handle<OrtSessionOptions, kReleaseSessionOptions> options(library_->table());
    Call(kCreateSessionOptions, options.out());
    Call(kDisablePerSessionThreads, options.get());
    Call(kCreateSession, environment_->env, platform::NativePath(model).c_str(), options.get(),
         &session_);
  }
  ~Runtime() { library_->table().Call(kReleaseSession, session_); }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Calls a function of the runtime. On an error the program ends.
  void Call(auto entry, auto... arguments) const {
    Check(library_->Take(library_->table().Call(entry, arguments...)));
  }
  const Table& table() const { return library_->table(); }
  const OrtMemoryInfo* cpu_memory() const { return environment_->cpu_memory; }
  OrtSession* session() const { return session_; }

 private:
  Library* library_ = nullptr;
  const Environment* environment_ = nullptr;
  OrtSession* session_ = nullptr;
};

// A batch of a tensor, in memory of its own.
class BatchTensor {
 public:
  BatchTensor(const Runtime& runtime, const Tensor& tensor, int64_t batch)
      : bytes_(tensor.bytes() * static_cast<size_t>(batch)), value_(runtime.table()) {
    std::vector<int64_t> shape = {batch};
    shape.insert(shape.end(), tensor.dims.begin(), tensor.dims.end());
    runtime.Call(kCreateTensorOver, runtime.cpu_memory(), static_cast<void*>(bytes_.data()),
                 bytes_.size(), shape.data(), shape.size(), tensor.type, value_.out());
  }

  OrtValue* value() const { return value_.get(); }
  char* data() { return bytes_.data(); }

 private:
  std::vector<char> bytes_;
  Handle<OrtValue, kReleaseValue> value_;
};

// Numbers that any model takes: small floats, or ids below 1,024.
std::vector<char> MakeRequest(const Tensor& tensor, uint32_t seed) {
  std::vector<char> bytes(tensor.bytes());
  uint32_t state = seed * 2654435761u + 1;
  for (size_t i = 0; i < tensor.elements(); i++) {
    state = state * 1664525u + 1013904223u;
    if (tensor.type == ElementType::kFloat) {
      const float value = static_cast<float>(state >> 8) / (1 << 23) - 1;
      std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
    } else {
      const int64_t value = state >> 22;
      std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
    }
  }
  return bytes;
}

class BareLoop {
 public:
  BareLoop(const Runtime& runtime, Tensor input, Tensor output)
      : runtime_(runtime), input_(std::move(input)), output_(std::move(output)) {
    for (uint32_t i = 0; i < kRequests; i++) requests_.push_back(MakeRequest(input_, i));
  }

  void Measure(int64_t batch, std::chrono::milliseconds time) {
    BatchTensor gathered(runtime_, input_, batch);
    BatchTensor answer(runtime_, output_, batch);
    // The first run with a shape plans its memory.
    Run(batch, gathered, answer);
    int64_t items = 0;
    const auto start = std::chrono::steady_clock::now();
    auto now = start;
    while (now - start < time) {
      Run(batch, gathered, answer);
      items += batch;
      now = std::chrono::steady_clock::now();
    }
    const double seconds = std::chrono::duration<double>(now - start).count();
    std::printf("{\"batch\":%lld,\"items\":%lld,\"seconds\":%.6f}\n", static_cast<long long>(batch),
                static_cast<long long>(items), seconds);
    std::fflush(stdout);
  }

 private:
  void Run(int64_t batch, BatchTensor& gathered, const BatchTensor& answer) {
    char* target = gathered.data();
    for (int64_t i = 0; i < batch; i++) {
      const std::vector<char>& request = requests_[next_++ % kRequests];
      std::memcpy(target, request.data(), request.size());
      target += request.size();
    }
    const char* input_name = input_.name.c_str();
    const char* output_name = output_.name.c_str();
    const OrtValue* input = gathered.value();
    OrtValue* output = answer.value();
    runtime_.Call(kRun, runtime_.session(), nullptr, &input_name, &input, 1, &output_name, 1,
                  &output);
  }

  const Runtime& runtime_;
  const Tensor input_;
  const Tensor output_;
  std::vector<std::vector<char>> requests_;
  size_t next_ = 0;
};

std::vector<int64_t> ReadDims(const std::string& text) {
  std::vector<int64_t> dims;
  std::istringstream stream(text);
  for (std::string dim; std::getline(stream, dim, ',');) dims.push_back(std::atoll(dim.c_str()));
  return dims;
}

void Main(char** arguments) {
  const Runtime runtime(arguments[1], arguments[2], std::atoi(arguments[3]));
  const bool ids = std::string(arguments[5]) == "INT64";
  BareLoop loop(
      runtime,
      {arguments[4], ids ? ElementType::kInt64 : ElementType::kFloat, ReadDims(arguments[6])},
      {arguments[7], ElementType::kFloat, ReadDims(arguments[8])});
  int64_t batch = 0;
  int64_t milliseconds = 0;
  while (std::cin >> batch >> milliseconds) {
    loop.Measure(batch, std::chrono::milliseconds(milliseconds));
  }
}

}  // namespace

}  // namespace tritonts::onnxruntime

int main(int count, char** arguments) {
  if (count != 9) {
    std::cerr << "usage: bare_loop <library> <model.onnx> <threads> <input> <FP32|INT64> <dims> "
                 "<output> <dims>\n";
    return 2;
  }
  tritonts::onnxruntime::Main(arguments);
  return 0;
}
