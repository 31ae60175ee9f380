// Shared by tests of a port's regions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "port_fixture.h"
#include "region_memory.h"

namespace tritonts::test {

inline PortInput FloatsIn(uint32_t index, const std::vector<float>& values) {
  return {index, {static_cast<int32_t>(values.size()), 1}, BytesOf(values)};
}

inline PortInput FloatsAt(uint32_t index, int32_t rows, PortRange range) {
  return {index, {rows, 1}, "", range};
}

inline std::string BytesAt(const BlockRef& memory, size_t offset, size_t size) {
  return {static_cast<const char*>(memory->data()) + offset, size};
}

// A port, and regions.
struct RegionBench : PortBench {
  using PortBench::PortBench;

  uint32_t Register(const std::string& name, BlockRef memory, platform::FileRange bytes = {}) {
    auto id = server.server().regions().Add(name, std::move(memory), bytes);
    CHECK(id.ok());
    return id.value();
  }
  bool Unregister(uint32_t id) { return server.server().regions().Remove(id); }
};

}  // namespace tritonts::test
