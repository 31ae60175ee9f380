#include "engine/request/admission.h"

#include <array>
#include <new>
#include <string>
#include <utility>

#include "engine/request/budget.h"
#include "engine/request/call_graph.h"
#include "engine/request/executor.h"
#include "engine/request/response_sink.h"

namespace tritonts {

namespace {

constexpr size_t kFew = 64;  // at most this many requests are refused with one delivery

}  // namespace

void Refuse(std::span<Request* const> requests, const Response& like) {
  for (Request* request : requests) request->set_state(Request::State::kDone);
  DeliverEach(requests, like);
}

Status Admission::BeyondLimit(const Budget& budget, uint64_t bytes) const noexcept {
  try {
    const std::string model = "model '" + executor_.name() + "': ";
    const std::string sizes = std::to_string(bytes) +
                              " bytes of inputs, outputs and parameters; maxInFlightBytes is " +
                              std::to_string(budget.limit());
    if (bytes > budget.limit()) return Status::InvalidArg(model + "one request needs " + sizes);
    return Status::Unavailable(Reason::kTooMuchInFlight,
                               model + "too much in flight for one more request of " + sizes);
  } catch (const std::bad_alloc&) {
    return no_memory_;
  }
}

size_t Admission::Charge(Budget* budget, std::span<Request*> requests) const noexcept {
  size_t kept = 0;
  // Neighbours with equal charges are refused together.
  std::array<Request*, kFew> refused;
  size_t count = 0;
  Response like;
  uint64_t said = 0;  // the charge that `like` is made for
  const auto refuse = [&] { Refuse(std::span(refused).first(std::exchange(count, 0)), like); };
  for (Request* request : requests) {
    const uint64_t bytes = request->header->accounted_bytes;
    if (budget->Reserve(bytes)) {
      requests[kept++] = request;
      continue;
    }
    if (count == kFew || (count > 0 && bytes != said)) refuse();
    if (bytes != said) like.status = BeyondLimit(*budget, bytes);
    said = bytes;
    like.limited = bytes <= budget->limit();
    request->charged = false;
    refused[count++] = request;
  }
  refuse();
  return kept;
}

size_t Admission::AdmitCalls(std::span<Request*> requests) const noexcept {
  size_t kept = 0;
  for (size_t at = 0; at < requests.size();) {
    const RequestHeader& header = *requests[at]->header;
    size_t count = 1;
    while (at + count < requests.size() && requests[at + count]->header == &header) count++;
    const std::span<Request* const> some = requests.subspan(at, count);
    Response like;
    try {
      if (header.call) like.status = header.call->Admit(executor_.call_places(), some);
    } catch (const std::bad_alloc&) {
      like.status = no_memory_;
    }
    if (like.status.ok()) {
      for (Request* request : some) requests[kept++] = request;
    } else {
      Refuse(some, like);
    }
    at += count;
  }
  return kept;
}

}  // namespace tritonts
