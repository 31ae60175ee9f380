// Submits requests of C callers.
#pragma once

#include <cstddef>
#include <span>

#include "c_api/request.h"
#include "engine/base/status.h"

namespace tritonts::c_api {

// Submits requests, in order, and counts those that were accepted. A status that is not ok is about
// the request behind them, which is idle again, as are those behind it. That status may also be of
// the engine: what it refuses before it has accepted a later request has no callbacks. So a
// callback that submits again finds out by the return value, and cannot cause its own call for
// ever. Any thread may call it. Throws nothing.
//
// `runs`: short batches may run before it returns, as those of a port do (Executor::Submit). Never
// within a callback, which would keep its thread if it submits without end, nor on a thread that is
// occupied (engine/version/occupied.h). A batch that runs so may submit itself.
Status SubmitRequests(std::span<ApiRequest* const> requests, bool runs, size_t* accepted) noexcept;

// Submits a request that has waited for its lazy model, and ends it if that is impossible. `woken`:
// whether the model was loaded.
void SubmitWoken(ApiRequest* request, const Status& woken) noexcept;

// Offers the response to a request. True: the thread is submitting the request, and the response
// refuses it. The request is the submission's again, which tries another version or reports the
// error.
bool KeepRefused(const Response& response, ApiRequest* request) noexcept;

}  // namespace tritonts::c_api
