// The calling thread's modes of floating-point arithmetic: rounding, and whether tiny numbers count
// as zero.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tritonts::platform {

// Restores the thread's modes when it ends. Foreign code may change them, and JavaScript on the
// same thread would then compute other numbers.
class KeepFloatMode {
 public:
  KeepFloatMode() = default;
  ~KeepFloatMode() {
    // A write is many times as slow as a read.
    if (Read() != before_) Write(before_);
  }
  KeepFloatMode(const KeepFloatMode&) = delete;
  KeepFloatMode& operator=(const KeepFloatMode&) = delete;

 private:
#if defined(__x86_64__)
  // Without the flags of exceptions that have occurred.
  static constexpr uint32_t kFlags = 0x3f;
  static uint64_t Read() { return _mm_getcsr() & ~kFlags; }
  static void Write(uint64_t mode) { _mm_setcsr(static_cast<uint32_t>(mode)); }
#elif defined(__aarch64__) && defined(__GNUC__)
  static uint64_t Read() {
    uint64_t mode = 0;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void Write(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
  static uint64_t Read() { return 0; }
  static void Write(uint64_t) {}
#endif

  const uint64_t before_ = Read();
};

}  // namespace tritonts::platform
