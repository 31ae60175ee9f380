// Checks whether a request is valid for a model.
//
// Requests of JavaScript's ports are checked in TypeScript before they reach native code. Requests
// from other senders (an ensemble's step, a C caller, a process behind shared memory) must be
// checked here before they are submitted, because a backend trusts the request's fields.
#pragma once

#include <string>

#include "engine/base/status.h"

namespace tritonts {

class Request;
struct ModelIo;

// Returns ok, or INVALID_ARG. The message names the input, the expected and the received value. It
// checks that
// - each input is one of the model's and present once, and only optional inputs are missing;
// - datatypes and dims are as configured, and the bytes fit the shape; for BYTES that means each
//   element's length, up to the last byte, if the processor can read the memory;
// - inputs have as many rows as the request, at most max_batch_size; the rows of a shape tensor are
//   its first value, not its first dim;
// - requested outputs are the model's.
// Any thread may call it. The request belongs to the caller and must not change meanwhile.
Status CheckRequest(const std::string& model, const ModelIo& io, const Request& request);

}  // namespace tritonts
