// The name under which sources that were written for Triton include the functions of backends. C
// and C++.
#pragma once

#include "../../triton.h"

#define TRITONBACKEND_API_VERSION_MAJOR 1
#define TRITONBACKEND_API_VERSION_MINOR 19
#define TRITONBACKEND_DECLSPEC
#define TRITONBACKEND_ISPEC __attribute__((visibility("default")))
