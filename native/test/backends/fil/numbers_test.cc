// Reading decimal numbers, and turning comparisons into the one that a forest has.
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "backends/fil/read_number.h"
#include "backends/fil/threshold.h"
#include "check.h"

namespace tritonts::test {

namespace {

using fil::Comparison;
using fil::Node;
using fil::ReadReal;
using fil::ReadWhole;

template <typename T>
T Number(const std::string& text) {
  T value = -99;
  CHECK(ReadWhole(text, &value));
  return value;
}

template <typename Bits, typename T>
Bits BitsOf(T value) {
  Bits bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// Writes a value of random bits in the shortest form and in others, and reads it again.
template <typename T, typename Bits>
void CheckRoundTrips() {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; i++) {
    const auto bits = static_cast<Bits>(random());
    T value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isnan(value)) continue;
    char text[1024];
    for (const int digits : {-1, std::numeric_limits<T>::max_digits10, 40}) {
      const auto written = digits < 0 ? std::to_chars(text, text + sizeof text, value)
                                      : std::to_chars(text, text + sizeof text, value,
                                                      std::chars_format::scientific, digits);
      const T again = Number<T>({text, written.ptr});
      if (BitsOf<Bits>(again) != BitsOf<Bits>(value)) CHECK_EQ(again, value);
    }
  }
}

}  // namespace

TEST(decimal_numbers_are_read_exactly) {
  CHECK_EQ(Number<double>("0.1"), 0.1);
  CHECK_EQ(Number<float>("0.1"), 0.1f);
  CHECK_EQ(Number<double>("-1.5e-7"), -1.5e-7);
  CHECK_EQ(Number<double>("+2E3"), 2000.0);
  CHECK_EQ(Number<double>("5."), 5.0);
  CHECK_EQ(Number<double>(".5"), 0.5);
  CHECK_EQ(Number<double>("123456789012345678901234567890"), 123456789012345678901234567890.0);
  CHECK_EQ(Number<double>("0.00000000000000000000000000000000001"), 1e-35);
  CHECK_EQ(Number<double>("1e400"), std::numeric_limits<double>::infinity());
  CHECK_EQ(Number<double>("-1e999999999999"), -std::numeric_limits<double>::infinity());
  CHECK_EQ(Number<double>("1e-999999999999"), 0.0);
  CHECK_EQ(Number<float>("1e39"), std::numeric_limits<float>::infinity());
  CHECK_EQ(Number<float>("1e-60"), 0.0f);
  CHECK_EQ(Number<float>("1e-45"), std::numeric_limits<float>::denorm_min());
  CHECK_EQ(Number<double>("4.9e-324"), std::numeric_limits<double>::denorm_min());
  CHECK(std::signbit(Number<float>("-0")));
  CHECK(std::isnan(Number<float>("NaN")));
  CHECK(std::isnan(Number<double>("-nan")));
  CHECK_EQ(Number<double>("Infinity"), std::numeric_limits<double>::infinity());
  CHECK_EQ(Number<float>("-inf"), -std::numeric_limits<float>::infinity());
  // Between two floats, and a little more: rounding to double first would lose the difference.
  CHECK_EQ(Number<float>("1.00000005960464477539062500000"), 1.0f);
  CHECK_EQ(Number<float>("1.00000005960464477539062500001"), 1.00000012f);
  CheckRoundTrips<float, uint32_t>();
  CheckRoundTrips<double, uint64_t>();
}

TEST(texts_that_are_no_numbers_are_not_read) {
  double real = 0;
  int32_t whole = 0;
  for (const char* text :
       {"", "-", ".", "e5", "1e", "1e+", "0x1p3", "1 ", " 1", "1,5", "na", "infin", "--1"}) {
    if (ReadWhole(text, &real)) CHECK_EQ(text, "not read");
    if (ReadWhole(text, &whole)) CHECK_EQ(text, "not read");
  }
  CHECK(!ReadWhole("2147483648", &whole));
  CHECK(!ReadWhole("1.0", &whole));
  CHECK(ReadWhole("-2147483648", &whole));
  // The place behind a number.
  const std::string_view text = "1e5e5";
  CHECK_EQ(ReadReal(text.data(), text.data() + text.size(), &real) - text.data(), 3);
  CHECK_EQ(ReadReal(text.data(), text.data() + 2, &real) - text.data(), 1);
}

TEST(comparisons_become_less_than_a_float_exactly) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  std::vector<double> thresholds;
  std::vector<float> values;
  for (const float at : {0.0f, -0.0f, kLeast, 0.1f, 1.0f, 3.25f, 1e-35f, kLargest, kInfinity}) {
    for (const float value : {at, -at}) {
      for (const float near :
           {value, std::nextafter(value, kInfinity), std::nextafter(value, -kInfinity)}) {
        values.push_back(near);
        for (const double further : {-HUGE_VAL, HUGE_VAL}) {
          thresholds.push_back(std::nextafter(double{near}, further));
        }
        thresholds.push_back(near);
      }
    }
  }
  for (const double more :
       {0.1, -0.1, 1e300, -1e300, 1e-300, -1e-300, 3.4028235e38, 3.5e38, -3.5e38}) {
    thresholds.push_back(more);
  }
  for (const double threshold : thresholds) {
    for (const bool missing_is_yes : {false, true}) {
      for (const Comparison comparison : {Comparison::kLess, Comparison::kLessOrEqual,
                                          Comparison::kGreater, Comparison::kGreaterOrEqual}) {
        Node node;
        fil::SetComparison(comparison, threshold, 1, 2, missing_is_yes, &node);
        CHECK(node.test == Node::Test::kLess);
        CHECK_EQ(node.missing_left ? node.left : node.right, missing_is_yes ? 1u : 2u);
        for (const float value : values) {
          const double v = value;
          const bool yes = comparison == Comparison::kLess          ? v < threshold
                           : comparison == Comparison::kLessOrEqual ? v <= threshold
                           : comparison == Comparison::kGreater     ? v > threshold
                                                                    : v >= threshold;
          const uint32_t goes = value < node.threshold ? node.left : node.right;
          if (goes != (yes ? 1u : 2u)) {
            Fail(__FILE__, __LINE__,
                 Show(v) + " against " + Show(threshold) + ": " + Show(comparison));
          }
        }
      }
    }
  }
}

}  // namespace tritonts::test
