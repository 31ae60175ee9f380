// A test framework of one page: TEST(name) { CHECK(…); CHECK_EQ(a, b); }
//
// A failed check is printed with its line and values, and the test continues. main() (main.cc) runs
// all tests, or those whose name contains the argument, and prints a line of counts at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace tritonts::test {

using Dims = std::vector<int64_t>;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;

struct Test {
  std::string name;
  std::function<void()> body;
};

inline std::vector<Test>& Tests() {
  static std::vector<Test> tests;
  return tests;
}

struct Registration {
  Registration(std::string name, std::function<void()> body) {
    Tests().push_back({std::move(name), std::move(body)});
  }
};

// Records a failure of the running test. Thread-safe; the test must join threads that make checks.
void Fail(const char* file, int line, const std::string& text);
// Ends the running test as skipped, and prints the reason.
void Skip(const std::string& reason);

template <typename T>
std::string Show(const T& value) {
  if constexpr (requires(std::ostream& out) { out << value; }) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int>(value));
  } else if constexpr (requires { value.begin() != value.end(); }) {
    std::string text;
    for (const auto& element : value) text += (text.empty() ? "" : ", ") + Show(element);
    return "[" + text + "]";
  } else {
    return "(a value)";
  }
}

inline bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <typename A, typename B>
void CheckEqual(const A& a, const B& b, const char* text, const char* file, int line) {
  if (!(a == b)) Fail(file, line, std::string(text) + ": " + Show(a) + " is not " + Show(b));
}

}  // namespace tritonts::test

#define TEST(name)                                                                   \
  static void Test##name();                                                          \
  static const ::tritonts::test::Registration registration##name(#name, Test##name); \
  static void Test##name()

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) ::tritonts::test::Fail(__FILE__, __LINE__, #condition); \
  } while (false)

#define CHECK_EQ(a, b) ::tritonts::test::CheckEqual((a), (b), #a " == " #b, __FILE__, __LINE__)

#define SKIP(reason)                \
  do {                              \
    ::tritonts::test::Skip(reason); \
    return;                         \
  } while (false)
