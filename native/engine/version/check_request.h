// Checks whether a model can take a request.
//
// For JavaScript's ports, TypeScript has checked names and shapes before anything native is
// touched. Requests from elsewhere (a graph's step, a C caller, a process behind shared memory)
// must be checked here before they are submitted, because a backend trusts what a request says.
#pragma once

#include <string>

#include "engine/base/status.h"

namespace tritonts {

class Request;
struct ModelIo;

// Returns ok, or INVALID_ARG with a message that names the input, what was expected and what came.
// It checks that
// - each input is one of the model's and present once, and none is missing but optional ones;
// - datatypes and dims are as configured, and the bytes fit the shape; for BYTES that means each
//   element's length, up to the last byte, if the processor can read the memory;
// - inputs have as many rows as the request, and those are not more than a batch may have; of a
//   shape tensor the first value is the rows, and not the first dim;
// - wanted outputs are the model's.
// Any thread may call it. The request belongs to the caller, and must not change meanwhile.
Status CheckRequest(const std::string& model, const ModelIo& io, const Request& request);

}  // namespace tritonts
