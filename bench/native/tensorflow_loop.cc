// The upper bound of a server's throughput with TensorFlow: a loop that only gathers a batch and
// runs it. Arguments and lines are those of bare_loop.cc.
//
// The session is the server's: so many threads for an operator, and operators on the calling
// thread.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/tensorflow/graph_content.h"
#include "backends/tensorflow/library.h"
#include "backends/tensorflow/session.h"
#include "loop.h"

namespace tritonts::tensorflow {

namespace {

using bench::Check;

constexpr size_t kAlignment = 64;
// RunOptions: inter_op_thread_pool -1.
constexpr std::string_view kInCaller = "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";

TfOutput Find(const Session& session, const std::vector<SignatureTensor>& tensors,
              const std::string& name) {
  for (const SignatureTensor& tensor : tensors) {
    if (tensor.name != name) continue;
    auto output = session.Find(tensor.place);
    Check(output.status());
    return output.value();
  }
  Check(Status::InvalidArg("no tensor " + name));
  return {};
}

void Main(const bench::Arguments& arguments) {
  auto opened = Library::Open(arguments.library);
  Check(opened.status());
  const Library& library = *opened.value();
  const Table& table = library.table();
  Settings settings;
  settings.intra_op_threads = static_cast<uint32_t>(arguments.threads);
  GraphContent content;
  auto loaded = Session::Load(library, settings, arguments.model, &content);
  Check(loaded.status());
  const Session& session = *loaded.value();
  const Signature& signature = content.signatures.at("serving_default");
  const TfOutput input = Find(session, signature.inputs, arguments.input.name);
  const TfOutput output = Find(session, signature.outputs, arguments.output.name);
  const BufferObject options(table, table.NewBufferFromString(kInCaller.data(), kInCaller.size()));
  const StatusObject result = library.NewStatus();
  bench::Requests requests(arguments.input);
  bench::AnswerLines([&](int64_t batch, std::chrono::milliseconds time) {
    const size_t size = arguments.input.bytes() * static_cast<size_t>(batch);
    std::vector<char> memory(size + kAlignment);
    char* const gathered =
        memory.data() + kAlignment - reinterpret_cast<uintptr_t>(memory.data()) % kAlignment;
    const std::vector<int64_t> shape = arguments.input.Shape(batch);
    bench::Measure(batch, time, [&] {
      requests.Gather(batch, gathered);
      const TensorObject x(table, table.NewTensor(
                                      1, shape.data(), static_cast<int>(shape.size()), gathered,
                                      size, [](void*, size_t, void*) {}, nullptr));
      TfTensor* const given = x.get();
      TensorObject y(table);
      table.SessionRun(session.get(), options.get(), &input, &given, 1, &output, y.out(), 1,
                       nullptr, 0, nullptr, result.get());
      Check(library.Take(result));
    });
  });
}

}  // namespace

}  // namespace tritonts::tensorflow

int main(int count, char** arguments) {
  tritonts::tensorflow::Main(tritonts::bench::ReadArguments(count, arguments));
  return 0;
}
