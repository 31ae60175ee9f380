// Reads decimal numbers, as the frameworks write them into text. The result is the nearest float or
// double, whatever the locale. std::from_chars for these types is missing from some compilers.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace tritonts::fil {

// Reads the number at the front of a text, such as -1.5e-7, inf, Infinity or NaN. Returns the place
// behind it; null if there is none. Numbers too large become infinite, numbers too small 0.
const char* ReadReal(const char* begin, const char* end, float* value);
const char* ReadReal(const char* begin, const char* end, double* value);

// Reads a whole text. False if it is no number, or an integer that does not fit.
template <typename T>
bool ReadWhole(std::string_view text, T* value) {
  const char* end = text.data() + text.size();
  if constexpr (std::is_floating_point_v<T>) {
    return ReadReal(text.data(), end, value) == end && !text.empty();
  } else {
    const auto read = std::from_chars(text.data(), end, *value);
    return read.ec == std::errc() && read.ptr == end;
  }
}

}  // namespace tritonts::fil
