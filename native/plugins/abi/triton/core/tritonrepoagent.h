// The name under which sources that were written for Triton include the functions of repository
// agents. C and C++.
#pragma once

#include "../../triton.h"

#define TRITONREPOAGENT_API_VERSION_MAJOR 0
#define TRITONREPOAGENT_API_VERSION_MINOR 1
#define TRITONREPOAGENT_DECLSPEC
#define TRITONREPOAGENT_ISPEC __attribute__((visibility("default")))
