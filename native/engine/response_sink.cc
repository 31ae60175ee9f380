#include "response_sink.h"

namespace tritonts {

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
