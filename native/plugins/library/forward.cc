// The library that plug-ins of Triton need. It has Triton's name (libtritonserver.so) and
// functions, and forwards each to the addon, which binds it before it opens the first plug-in.
//
// A library of its own, because plug-ins find a library by its name, and the addon has another. It
// has no state but the addresses, and links nothing of the engine.
#include "plugins/abi/function_table.h"
#include "plugins/abi/triton.h"

namespace {

TritonFunctions functions;

}  // namespace

// Called once, before any other function.
extern "C" __attribute__((visibility("default"))) void tritonts_bind(const TritonFunctions* all) {
  functions = *all;
}

#define TRITONTS_FORWARD(returns, name, parameters, arguments)                \
  extern "C" __attribute__((visibility("default"))) returns name parameters { \
    return functions.name arguments;                                          \
  }
TRITONTS_TRITON_FUNCTIONS(TRITONTS_FORWARD)
