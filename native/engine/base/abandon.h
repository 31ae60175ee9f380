// What is abandoned on purpose: memory that a call which never came back may still use.
#pragma once

#include <memory>

namespace tritonts {

// Keeps `owner` for the life of the process. Any thread.
void Abandon(std::shared_ptr<const void> owner);

}  // namespace tritonts
