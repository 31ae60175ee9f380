#include "engine/batch/run_context.h"

namespace tritonts {

RunContext::RunContext(const std::string& name, bool batches, const ModelIo* tensors)
    : model(name),
      batching(batches),
      io(tensors),
      cancelled(Status::Cancelled("model '" + name + "': the request was cancelled")),
      left_open(Status::Internal("model '" + name +
                                 "': its backend returned without responding to the request")),
      not_single(Status::Internal("model '" + name +
                                  "': expected a single response, since it is not decoupled")),
      unread(Status::Unavailable(
          Reason::kUnread, "model '" + name +
                               "': the stream ended because its caller left too much unread; the "
                               "limit is " +
                               std::to_string(StreamCount::kMostBytes) +
                               " bytes for a stream, and maxInFlightBytes for all")),
      no_memory(Status::Unavailable(Reason::kNoMemory,
                                    "model '" + name + "': no memory for the request")),
      no_response(Status::Unavailable(Reason::kNoMemory,
                                      "model '" + name + "': no memory for the response")) {}

}  // namespace tritonts
