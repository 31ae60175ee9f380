// Whether a request is one that a model takes.
//
// JavaScript's ports check names and shapes before anything native is touched, and know them by
// index. Requests from elsewhere (a graph's step, a C caller, a process on the other side of shared
// memory) are checked here, before they are submitted: a backend reads what a request says.
#pragma once

#include <string>

#include "engine/base/status.h"

namespace tritonts {

class Request;
struct ModelIo;

// Ok, or INVALID_ARG that names the input, what was expected and what came: every input that is not
// optional is there, once, and is one of the model's; its datatype and dims are the configured
// ones, its bytes fit its shape (of BYTES: each element's length, up to the last byte, where the
// processor can read them), rows agree among inputs and with the request, and are not more than a
// batch may have; wanted outputs are the model's. The request is the caller's; inputs must not
// change meanwhile.
Status CheckRequest(const std::string& model, const ModelIo& io, const Request& request);

}  // namespace tritonts
