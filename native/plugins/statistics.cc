// What plug-ins report of their batches. The engine counts requests and responses itself, so only
// the times between the inputs and the outputs are taken.
#include <string>

#include "plugins/batch.h"
#include "plugins/error.h"
#include "plugins/functions.h"

// What a plug-in says of one response. The engine measures responses itself.
struct TRITONBACKEND_ModelInstanceResponseStatistics {
  TRITONBACKEND_ModelInstance* instance = nullptr;
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  uint64_t response_start = 0;
  uint64_t compute_output_start = 0;
  uint64_t response_end = 0;
};

namespace tritonts::plugins {

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportStatistics(
    TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request* request, bool, uint64_t,
    uint64_t compute_start_ns, uint64_t compute_end_ns, uint64_t) noexcept {
  return Guard([&]() -> Status {
    if (!request || !request->held) {
      return Status::InvalidArg(
          "TRITONBACKEND_ModelInstanceReportStatistics: expected a request that was not released");
    }
    Run& run = request->batch->run();
    if (compute_start_ns != 0) run.MarkInputsReady(compute_start_ns);
    if (compute_end_ns != 0) run.MarkComputed(compute_end_ns);
    return Status::Ok();
  });
}

// A batch's times are those of its requests.
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance*,
                                                                     uint64_t, uint64_t, uint64_t,
                                                                     uint64_t, uint64_t) noexcept {
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsNew(
    TRITONBACKEND_ModelInstanceResponseStatistics** response_statistics) noexcept {
  return Guard([&] {
    *response_statistics = new TRITONBACKEND_ModelInstanceResponseStatistics();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsDelete(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics) noexcept {
  delete response_statistics;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetModelInstance(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics,
    TRITONBACKEND_ModelInstance* model_instance) noexcept {
  response_statistics->instance = model_instance;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseFactory(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics,
    TRITONBACKEND_ResponseFactory* response_factory) noexcept {
  response_statistics->factory = response_factory;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseStart(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics,
    uint64_t response_start) noexcept {
  response_statistics->response_start = response_start;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics,
    uint64_t compute_output_start) noexcept {
  response_statistics->compute_output_start = compute_output_start;
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseEnd(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics,
    uint64_t response_end) noexcept {
  response_statistics->response_end = response_end;
  return nullptr;
}

// The error stays the caller's.
TRITONSERVER_Error* TRITONBACKEND_ModelInstanceResponseStatisticsSetError(
    TRITONBACKEND_ModelInstanceResponseStatistics*, TRITONSERVER_Error*) noexcept {
  return nullptr;
}

TRITONSERVER_Error* TRITONBACKEND_ModelInstanceReportResponseStatistics(
    TRITONBACKEND_ModelInstanceResponseStatistics* response_statistics) noexcept {
  return Guard([&]() -> Status {
    const auto& said = *response_statistics;
    if (!said.instance || !said.factory || said.response_start == 0 || said.response_end == 0) {
      return Status::InvalidArg(
          "the statistics of a response need an instance, a factory, and its start and end");
    }
    if (said.response_end < said.response_start ||
        (said.compute_output_start != 0 && (said.compute_output_start < said.response_start ||
                                            said.compute_output_start > said.response_end))) {
      return Status::InvalidArg("the times of a response are out of order");
    }
    return Status::Ok();
  });
}

}  // namespace tritonts::plugins
