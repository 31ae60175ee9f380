// Messages: JSON texts, such as configurations and statistics. Immutable, so any number of threads
// may read one.
//
// Ownership: the caller's, until TRITONSERVER_MessageDelete. Messages that are only lent belong to
// another object, and end with it.
#pragma once

#include <string>

#include "plugins/abi/types.h"

struct TRITONSERVER_Message {
  const std::string text;
  const bool lent = false;
};
