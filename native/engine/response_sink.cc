#include "response_sink.h"

#include <vector>

namespace tritonts {

void ResponseSink::DeliverAlike(const AlikeResponses& alike) {
  const size_t width = alike.outputs.size();
  std::vector<OutputTensor> outputs;
  outputs.reserve(alike.parts * width);
  std::vector<Response> responses;
  responses.reserve(alike.parts);
  for (Request* request : alike.requests) {
    for (uint32_t part = 0; part < request->parts; part++) {
      for (OutputTensor output : alike.outputs) {
        output.data = static_cast<const char*>(output.data) + responses.size() * output.size;
        outputs.push_back(output);
      }
      Response& response = responses.emplace_back();
      response.request = request;
      response.part = part;
      response.outputs = {outputs.data() + (responses.size() - 1) * width, width};
      response.timings = alike.timings;
    }
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
