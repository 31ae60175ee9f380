// The upper bound of a server's throughput with OpenVINO: a loop that only gathers a batch and runs
// it. Arguments and lines are those of bare_loop.cc.
//
// The model is compiled as the server compiles it: numbers in f32, for the shortest time of a run,
// with this many threads. The tensors of the buffer and the output are set once for a batch size.
#include <cstdint>
#include <string>
#include <vector>

#include "backends/openvino/library.h"
#include "loop.h"

namespace tritonts::openvino {

namespace {

using bench::Check;

// Sets a tensor over memory of the program.
void Set(const Library& library, OvRequest* request, bool input, DataType type,
         std::vector<int64_t> shape, void* data) {
  const Table& table = library.table();
  Tensor tensor(table);
  Check(library.Take(table.tensor_create_from_host_ptr(
      library.ElementOf(type), {static_cast<int64_t>(shape.size()), shape.data()}, data,
      tensor.out())));
  Check(library.Take(
      input ? table.infer_request_set_input_tensor_by_index(request, 0, tensor.get())
            : table.infer_request_set_output_tensor_by_index(request, 0, tensor.get())));
}

void Main(const bench::Arguments& arguments) {
  auto opened = Library::Open(arguments.library);
  Check(opened.status());
  const Library& library = *opened.value();
  const Table& table = library.table();
  Network network(table);
  Check(library.Take(
      table.core_read_model(library.core(), arguments.model.c_str(), nullptr, network.out())));
  const std::string threads = std::to_string(arguments.threads);
  Compiled compiled(table);
  Check(library.Take(table.core_compile_model(
      library.core(), network.get(), "CPU", 6, compiled.out(), "INFERENCE_PRECISION_HINT", "f32",
      "PERFORMANCE_HINT", "LATENCY", "INFERENCE_NUM_THREADS", threads.c_str())));
  InferRequest request(table);
  Check(library.Take(table.compiled_model_create_infer_request(compiled.get(), request.out())));
  bench::Requests requests(arguments.input);
  bench::AnswerLines([&](int64_t batch, std::chrono::milliseconds time) {
    std::vector<char> gathered(arguments.input.bytes() * static_cast<size_t>(batch));
    std::vector<char> answer(arguments.output.bytes() * static_cast<size_t>(batch));
    Set(library, request.get(), true, arguments.input.ids ? DataType::kInt64 : DataType::kFp32,
        arguments.input.Shape(batch), gathered.data());
    Set(library, request.get(), false, DataType::kFp32, arguments.output.Shape(batch),
        answer.data());
    bench::Measure(batch, time, [&] {
      requests.Gather(batch, gathered.data());
      Check(library.Take(table.infer_request_infer(request.get())));
    });
  });
}

}  // namespace

}  // namespace tritonts::openvino

int main(int count, char** arguments) {
  tritonts::openvino::Main(tritonts::bench::ReadArguments(count, arguments));
  return 0;
}
