// What a port needs of its server. Any thread may call any function. A port shares ownership of its
// host.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/memory/region.h"
#include "engine/request/budget.h"
#include "engine/request/executor.h"

namespace tritonts {

class PortHost {
 public:
  virtual ~PortHost() = default;
  // The executor that takes requests for `uid`; null: none, or it has not started.
  virtual std::shared_ptr<Executor> FindExecutor(uint32_t uid) const = 0;
  virtual bool Serves(uint32_t uid) const = 0;
  // Whether this uid was ever assigned.
  virtual bool WasGiven(uint32_t uid) const = 0;
  // The bytes in flight of all ports.
  virtual Budget& budget() = 0;
  // The registered regions, for ports, and for programs that register memory.
  virtual RegionTable& regions() = 0;
  // The number of cores that idle threads may spin on.
  virtual uint32_t spin_cores() const = 0;
  // Notes a change that the reaper may wait for: of a port, a load or a version.
  virtual void WakeReaper() = 0;
};

}  // namespace tritonts
