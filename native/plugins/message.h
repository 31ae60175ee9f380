// Messages: JSON texts, such as configurations and statistics. Immutable, so any number of threads
// may read one.
//
// Ownership: the caller's, until TRITONSERVER_MessageDelete, unless the function that returned it
// says otherwise.
#pragma once

#include <string>

#include "plugins/abi/types.h"

struct TRITONSERVER_Message {
  const std::string text;
};
