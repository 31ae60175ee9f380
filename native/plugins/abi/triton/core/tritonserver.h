// The name under which sources that were written for Triton include the functions of the server. C
// and C++.
#pragma once

#include "../../triton.h"

#define TRITONSERVER_API_VERSION_MAJOR 1
#define TRITONSERVER_API_VERSION_MINOR 34
#define TRITONSERVER_DECLSPEC
