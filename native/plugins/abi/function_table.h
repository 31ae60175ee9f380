// The addresses of all functions that the server gives to plug-ins.
#pragma once

#include "functions.h"

struct TritonFunctions {
#define TRITONTS_FIELD(returns, name, parameters, arguments) returns(*name) parameters;
  TRITONTS_TRITON_FUNCTIONS(TRITONTS_FIELD)
#undef TRITONTS_FIELD
};
