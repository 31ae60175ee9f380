// Units of times and sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tritonts::test {

constexpr uint64_t kUs = 1'000;  // in ns
constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;
constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

}  // namespace tritonts::test
