// The functions that the server gives to plug-ins, as the engine defines them. They have the names
// of Triton's, in a namespace, so that a library in the process that has Triton's own is not
// confused with these.
//
// Any thread may call any of them, unless Triton's rules for it say otherwise. None throws: what is
// wrong is returned as an error, which belongs to the caller. A file defines the functions of one
// kind of object.
#pragma once

#include "plugins/abi/function_table.h"

namespace tritonts::plugins {

#define TRITONTS_DECLARE(returns, name, parameters, arguments) returns name parameters noexcept;
TRITONTS_TRITON_FUNCTIONS(TRITONTS_DECLARE)
#undef TRITONTS_DECLARE

// All of them. It lives as long as the process.
const TritonFunctions& Functions() noexcept;

}  // namespace tritonts::plugins
