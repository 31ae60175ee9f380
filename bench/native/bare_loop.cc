// The upper bound of a server's throughput: a loop that only gathers a batch and runs it.
//
//   bare_loop <library> <model.onnx> <threads> <input> <FP32|INT64> <dims> <output> <dims>
//
// Dims are those of one item, separated by commas, without the batch; the output is FP32. Each line
// of standard input, "<batch size> <milliseconds>", is answered with a line of JSON:
// {"batch":64,"items":12800,"seconds":0.2}. As in the server, the session runs on a global pool
// whose threads do not spin. A batch is gathered from the memory of that many requests into one
// buffer. The tensors of the buffer and the output are created once, before the clock starts.
#include <cstdint>
#include <string>
#include <vector>

#include "backends/onnxruntime/library.h"
#include "backends/onnxruntime/table.h"
#include "loop.h"
#include "platform/dynamic_library.h"

namespace tritonts::onnxruntime {

namespace {

using bench::Check;
using bench::Tensor;

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
    const std::vector<int64_t> shape = tensor.Shape(batch);
    const ElementType type = tensor.ids ? ElementType::kInt64 : ElementType::kFloat;
    runtime.Call(kCreateTensorOver, runtime.cpu_memory(), static_cast<void*>(bytes_.data()),
                 bytes_.size(), shape.data(), shape.size(), type, value_.out());
  }

  OrtValue* value() const { return value_.get(); }
  char* data() { return bytes_.data(); }

 private:
  std::vector<char> bytes_;
  Handle<OrtValue, kReleaseValue> value_;
};

void Main(const bench::Arguments& arguments) {
  const Runtime runtime(arguments.library, arguments.model, arguments.threads);
  bench::Requests requests(arguments.input);
  const char* input_name = arguments.input.name.c_str();
  const char* output_name = arguments.output.name.c_str();
  bench::AnswerLines([&](int64_t batch, std::chrono::milliseconds time) {
    BatchTensor gathered(runtime, arguments.input, batch);
    const BatchTensor answer(runtime, arguments.output, batch);
    bench::Measure(batch, time, [&] {
      requests.Gather(batch, gathered.data());
      const OrtValue* input = gathered.value();
      OrtValue* output = answer.value();
      runtime.Call(kRun, runtime.session(), nullptr, &input_name, &input, 1, &output_name, 1,
                   &output);
    });
  });
}

}  // namespace

}  // namespace tritonts::onnxruntime

int main(int count, char** arguments) {
  tritonts::onnxruntime::Main(tritonts::bench::ReadArguments(count, arguments));
  return 0;
}
