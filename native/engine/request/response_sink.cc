#include "engine/request/response_sink.h"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

namespace tritonts {

ExpandedResponses::ExpandedResponses(const AlikeResponses& alike) {
  const size_t width = alike.outputs.size();
  outputs_.reserve(alike.requests.size() * width);
  responses_.reserve(alike.requests.size());
  for (Request* request : alike.requests) {
    for (OutputTensor output : alike.outputs) {
      output.data = static_cast<const char*>(output.data) + responses_.size() * output.size;
      outputs_.push_back(output);
    }
    Response& response = responses_.emplace_back();
    response.request = request;
    response.outputs = {outputs_.data() + (responses_.size() - 1) * width, width};
    response.timings = alike.timings;
  }
}

void ResponseSink::DeliverAlike(const AlikeResponses& alike) {
  const ExpandedResponses expanded(alike);
  Deliver(expanded.responses());
}

Buffer ResponseSink::Place(const Request&, uint32_t, size_t, MemoryKind) {
  return {};
}

void DeliverEach(std::span<Request* const> requests, const Response& like) {
  std::array<Response, 64> few;
  std::vector<Response> many;
  std::span<Response> responses = few;
  if (requests.size() > few.size()) {
    try {
      many.resize(requests.size());
      responses = many;
    } catch (const std::bad_alloc&) {
      // Without that memory, the responses are delivered 64 at a time.
    }
  }
  while (!requests.empty()) {
    const size_t count = std::min(responses.size(), requests.size());
    for (size_t i = 0; i < count; i++) {
      responses[i] = like;
      responses[i].request = requests[i];
    }
    DeliverAll(responses.first(count));
    requests = requests.subspan(count);
  }
}

void DeliverAll(std::span<const Response> responses) {
  size_t begin = 0;
  while (begin < responses.size()) {
    ResponseSink* sink = responses[begin].request->header->sink;
    size_t end = begin + 1;
    while (end < responses.size() && responses[end].request->header->sink == sink) end++;
    sink->Deliver(responses.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace tritonts
