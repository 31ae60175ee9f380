// What is abandoned on purpose: memory that a call which never came back may still use.
#pragma once

#include <memory>

namespace tritonts {

// Keeps `owner` for the life of the process. Any thread; needs no memory.
void Abandon(std::shared_ptr<const void> owner) noexcept;

}  // namespace tritonts
