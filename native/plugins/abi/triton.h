// Triton's C interfaces as a plug-in sees them: all functions of the server, and the names of its
// own. C and C++. A plug-in that includes this needs libtritonserver.so.
#pragma once

#include "functions.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRITONTS_DECLARE(returns, name, parameters, arguments) returns name parameters;
TRITONTS_TRITON_FUNCTIONS(TRITONTS_DECLARE)
#undef TRITONTS_DECLARE

#define TRITONTS_DECLARE(returns, name, parameters, arguments) \
  __attribute__((visibility("default"))) returns name parameters;
TRITONTS_BACKEND_PLUGIN_FUNCTIONS(TRITONTS_DECLARE)
TRITONTS_CACHE_PLUGIN_FUNCTIONS(TRITONTS_DECLARE)
TRITONTS_AGENT_PLUGIN_FUNCTIONS(TRITONTS_DECLARE)
#undef TRITONTS_DECLARE

#ifdef __cplusplus
}
#endif
