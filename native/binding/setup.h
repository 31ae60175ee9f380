// The only file that includes napi.h, so that these are always in force.
#pragma once

#define NAPI_VERSION 9
#define NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS
#define NODE_ADDON_API_REQUIRE_BASIC_FINALIZERS
#define NODE_ADDON_API_DISABLE_DEPRECATED
// Without it, worker.terminate() during a native call aborts the whole process.
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS

#include <napi.h>
