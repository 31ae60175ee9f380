// Has JavaScript load lazy models that requests wait for.
#pragma once

#include <cstdint>
#include <functional>

#include "engine/base/status.h"
#include "engine/server/model_key.h"

namespace tritonts::c_api {

class ApiRequest;

// Has a request of a lazy model wait until that is loaded. The request is being submitted, its
// attachment lists it, and it has the reference of its submission. Ok: the request will be
// submitted, or has ended. Otherwise it is still being submitted: nobody can load the model. Any
// thread may call it. Throws nothing.
Status AwaitWake(ApiRequest* request) noexcept;

// Has JavaScript load a model of a server, and calls `done` with the outcome: once, on any thread,
// maybe within this call. `done` throws nothing. UNAVAILABLE: no JavaScript answers any more, and
// `done` is not called. Throws std::bad_alloc without effect. Defined in plugins/owner.cc, which
// knows the servers' owners.
Status HaveLoaded(uint32_t server, const ModelKey& key, std::function<void(const Status&)> done);

}  // namespace tritonts::c_api
