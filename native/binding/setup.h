// The only file that includes napi.h, so that these definitions always apply.
#pragma once

#define NAPI_VERSION 9
#define NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS
#define NODE_ADDON_API_REQUIRE_BASIC_FINALIZERS
#define NODE_ADDON_API_DISABLE_DEPRECATED
// Without this, worker.terminate() during a native call aborts the whole process.
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS

#include <napi.h>
