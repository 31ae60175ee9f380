#include "response_sink.h"

#include <vector>

namespace tritonts {

void ResponseSink::DeliverAlike(const AlikeResponses& alike) {
  const size_t width = alike.outputs.size();
  std::vector<OutputTensor> outputs;
  outputs.reserve(alike.requests.size() * width);
  std::vector<Response> responses(alike.requests.size());
  for (size_t i = 0; i < responses.size(); i++) {
    for (OutputTensor output : alike.outputs) {
      output.data = static_cast<const char*>(output.data) + i * output.size;
      outputs.push_back(output);
    }
    responses[i].request = alike.requests[i];
    responses[i].outputs = {outputs.data() + i * width, width};
    responses[i].timings = alike.timings;
  }
  Deliver(responses);
}

void DeliverAll(std::span<const Response> responses) {
  size_t begin = 0;
  while (begin < responses.size()) {
    ResponseSink* sink = responses[begin].request->sink;
    size_t end = begin + 1;
    while (end < responses.size() && responses[end].request->sink == sink) end++;
    sink->Deliver(responses.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace tritonts
