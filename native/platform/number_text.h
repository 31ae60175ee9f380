// Floating point numbers as text, independent of the locale. Any thread may call these functions.
#pragma once

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>
#include <string>
#include <system_error>
#include <type_traits>

// libc++ does not announce its functions for float and double, because it lacks those for long
// double. Before version 20 it has none to read numbers.
#if defined(__cpp_lib_to_chars) || (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 200000)
#define TRITONTS_HAS_NUMBER_TEXT 1
#elif defined(__APPLE__)
#include <xlocale.h>
#else
#include <stdlib.h>
#endif

namespace tritonts::platform {

// Reads the number that the text is as a whole, without a leading '+'. False: it is too large or
// too small for T.
template <typename T>
bool ReadNumber(const char* begin, const char* end, T* value) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
#if defined(TRITONTS_HAS_NUMBER_TEXT)
  return std::from_chars(begin, end, *value).ec == std::errc();
#else
  // The locale is null: that of C. The value of a number that does not fit is infinity or 0.
  const std::string text(begin, end);
  *value = std::is_same_v<T, float> ? strtof_l(text.c_str(), nullptr, nullptr)
                                    : static_cast<T>(strtod_l(text.c_str(), nullptr, nullptr));
  return true;
#endif
}

// Appends the number with as many digits as it takes to read the same one again.
template <typename T>
void AppendNumber(std::string* text, T value) {
  std::array<char, 40> digits;
  char* const begin = digits.data();
#if !defined(TRITONTS_HAS_NUMBER_TEXT)
  if constexpr (std::is_floating_point_v<T>) {
    const int size = std::snprintf(begin, digits.size(), "%.*g",
                                   std::numeric_limits<T>::max_digits10, double{value});
    text->append(begin, static_cast<size_t>(size));
    return;
  } else
#endif
  {
    text->append(begin, std::to_chars(begin, begin + digits.size(), value).ptr);
  }
}

}  // namespace tritonts::platform
