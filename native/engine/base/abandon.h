// Abandons memory that a call that did not return may still use.
#pragma once

#include <memory>

namespace tritonts {

// Keeps `owner` for the life of the process. Any thread may call it. It never fails,
// even without free memory.
void Abandon(std::shared_ptr<const void> owner) noexcept;

}  // namespace tritonts
