#include "read_number.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "../../platform/number_text.h"

namespace tritonts::fil {

namespace {

constexpr bool IsDigit(char one) {
  return one >= '0' && one <= '9';
}

// A number as written: digits * 10^exponent.
struct Decimal {
  const char* end = nullptr;  // null: no number
  bool negative = false;
  uint64_t digits = 0;
  int exponent = 0;
  bool exact = true;  // false: has more digits than fit
};

Decimal Scan(const char* at, const char* end) {
  constexpr int kMostDigits = 19;       // always fit into 64 bits
  constexpr int kMostExponent = 99999;  // larger exponents mean the same
  Decimal number;
  if (at != end && (*at == '-' || *at == '+')) number.negative = *at++ == '-';
  int used = 0;
  bool any = false;
  const auto take = [&](int behind_point) {
    for (; at != end && IsDigit(*at); at++) {
      any = true;
      if (used < kMostDigits) {
        number.digits = number.digits * 10 + static_cast<uint64_t>(*at - '0');
        if (number.digits != 0) used++;
        number.exponent -= behind_point;
      } else {
        number.exact = false;
        if (number.exponent < kMostExponent) number.exponent += 1 - behind_point;
      }
    }
  };
  take(0);
  if (at != end && *at == '.') {
    at++;
    take(1);
  }
  if (!any) return number;
  number.end = at;
  if (at == end || (*at != 'e' && *at != 'E')) return number;
  at++;
  const bool down = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) at++;
  if (at == end || !IsDigit(*at)) return number;  // the letter belongs to what follows
  int exponent = 0;
  for (; at != end && IsDigit(*at); at++) {
    if (exponent < kMostExponent) exponent = exponent * 10 + (*at - '0');
  }
  number.exponent += down ? -exponent : exponent;
  number.end = at;
  return number;
}

// The place behind a word that stands for a number; null if there is none.
const char* ReadName(const char* at, const char* end, double* value) {
  const bool negative = at != end && *at == '-';
  if (at != end && (*at == '-' || *at == '+')) at++;
  const auto takes = [&](std::string_view word) {
    if (static_cast<size_t>(end - at) < word.size()) return false;
    for (size_t i = 0; i < word.size(); i++) {
      if ((at[i] | 0x20) != word[i]) return false;
    }
    at += word.size();
    return true;
  };
  if (takes("nan")) {
    *value = std::numeric_limits<double>::quiet_NaN();
  } else if (takes("infinity") || takes("inf")) {
    *value = std::numeric_limits<double>::infinity();
  } else {
    return nullptr;
  }
  if (negative) *value = -*value;
  return at;
}

// The nearest value of a number that lies between these places.
template <typename T>
T Nearest(const char* begin, const Decimal& number) {
  T value = 0;
  if (*begin == '+') begin++;
  if (!platform::ReadNumber(begin, number.end, &value)) {
    // Out of range: too large or too small.
    value = number.digits != 0 && number.exponent > 0 ? std::numeric_limits<T>::infinity() : T{0};
    if (number.negative) value = -value;
  }
  return value;
}

// Whether a double lies in the middle between two floats. Rounding twice could then go astray.
bool IsBetweenFloats(double value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & 0x1fffffff) == 0x10000000;
}

template <typename T>
const char* Read(const char* begin, const char* end, T* value) {
  static constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const Decimal number = Scan(begin, end);
  if (number.end == nullptr) {
    double named = 0;
    const char* behind = ReadName(begin, end, &named);
    if (behind != nullptr) *value = static_cast<T>(named);
    return behind;
  }
  // Both parts are exact in a double, so one operation gives the nearest.
  constexpr uint64_t kMostExact = uint64_t{1} << 53;
  if (number.exact && number.digits <= kMostExact && number.exponent >= -22 &&
      number.exponent <= 22) {
    double result = static_cast<double>(number.digits);
    result = number.exponent < 0 ? result / kPowers[-number.exponent]
                                 : result * kPowers[number.exponent];
    if (number.negative) result = -result;
    if (std::is_same_v<T, double> || !IsBetweenFloats(result)) {
      // A float has room for all of these: at most 2^53 * 1e22.
      *value = static_cast<T>(result);
      return number.end;
    }
  }
  *value = Nearest<T>(begin, number);
  return number.end;
}

}  // namespace

const char* ReadReal(const char* begin, const char* end, float* value) {
  return Read(begin, end, value);
}

const char* ReadReal(const char* begin, const char* end, double* value) {
  return Read(begin, end, value);
}

}  // namespace tritonts::fil
