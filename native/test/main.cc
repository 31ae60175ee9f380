#include <atomic>
#include <cstring>
#include <mutex>

#include "check.h"

namespace tritonts::test {

namespace {
std::mutex mutex;  // guards the output
std::atomic<int> failures{0};
std::string skipped;
}  // namespace

void Fail(const char* file, int line, const std::string& text) {
  std::lock_guard lock(mutex);
  std::cout << "  " << file << ":" << line << ": " << text << std::endl;
  failures++;
}

void Skip(const std::string& reason) {
  std::lock_guard lock(mutex);
  skipped = reason;
}

int RunAll(const char* filter) {
  int passed = 0;
  int failed = 0;
  int left_out = 0;
  for (const Test& test : Tests()) {
    if (filter && test.name.find(filter) == std::string::npos) continue;
    failures = 0;
    skipped.clear();
    test.body();
    if (failures > 0) {
      failed++;
      std::cout << "not ok " << test.name << std::endl;
    } else if (!skipped.empty()) {
      left_out++;
      std::cout << "skipped " << test.name << ": " << skipped << std::endl;
    } else {
      passed++;
    }
  }
  std::cout << passed << " passed, " << failed << " failed, " << left_out << " skipped"
            << std::endl;
  return failed > 0 || passed + left_out == 0 ? 1 : 0;
}

}  // namespace tritonts::test

int main(int argc, char** argv) {
  return tritonts::test::RunAll(argc > 1 ? argv[1] : nullptr);
}
