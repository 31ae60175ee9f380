// The name under which sources that were written for Triton include the functions of caches. C and
// C++.
#pragma once

#include "../../triton.h"

#define TRITONCACHE_API_VERSION_MAJOR 0
#define TRITONCACHE_API_VERSION_MINOR 1
#define TRITONCACHE_DECLSPEC
#define TRITONCACHE_ISPEC __attribute__((visibility("default")))
