// Abandons memory that a call which never returned may still use.
#pragma once

#include <memory>

namespace tritonts {

// Keeps `owner` for the life of the process. Any thread may call it. It never fails for want of
// memory.
void Abandon(std::shared_ptr<const void> owner) noexcept;

}  // namespace tritonts
