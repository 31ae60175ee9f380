// Submits requests of C callers.
#pragma once

#include <cstddef>
#include <span>

#include "c_api/request.h"
#include "engine/base/status.h"

namespace tritonts::c_api {

// Submits requests, in order, and counts those that were accepted. A status that is not ok is about
// the request behind them, which is idle again. Any thread may call it. Throws nothing.
Status SubmitRequests(std::span<ApiRequest* const> requests, size_t* accepted) noexcept;

// A version refused a request because it is gone. True: the thread is submitting, and will try the
// request at another version. It is the submission's again.
bool KeepUnserved(ApiRequest* request);

}  // namespace tritonts::c_api
