#include "log.h"

#include <cstdint>
#include <new>

#include "objects.h"

namespace tritonts::tensorrt {

namespace {

constexpr int kWarning = 2;        // log severities; smaller ones are errors
constexpr size_t kMostLogged = 4;  // lines kept per failure

struct Lines {
  std::string text;
  size_t count = 0;
};
// The errors logged on this thread.
Lines& Logged() {
  thread_local Lines lines;
  return lines;
}

void Keep(int32_t severity, const char* text) noexcept {
  Lines& lines = Logged();
  if (severity >= kWarning || !text || lines.count >= kMostLogged) return;
  try {
    lines.text += (lines.count++ > 0 ? "; " : "") + std::string(text);
  } catch (const std::bad_alloc&) {
    // The error then lacks this line.
  }
}

// The functions are in the order of TensorRT 10.
class Logger10 {
 public:
  virtual void Log(int32_t severity, const char* text) noexcept { Keep(severity, text); }
  virtual ~Logger10() = default;
};

// The logger for TensorRT 11.
class Logger11 : public NamedObject {
 public:
  Logger11() : NamedObject("ILogger") {}
  virtual void Log(int32_t severity, const char* text) noexcept { Keep(severity, text); }
};

}  // namespace

void* TheLogger(bool named) {
  static auto* const logger10 = new Logger10();
  static auto* const logger11 = new Logger11();
  return named ? static_cast<void*>(logger11) : logger10;
}

Status Failure(Code code, const std::string& what, Reason reason) {
  return MakeStatus([&] {
    Status status(code, Logged().text.empty() ? what : what + ": " + Logged().text, reason);
    ForgetLog();
    return status;
  });
}

void ForgetLog() {
  Logged().text.clear();
  Logged().count = 0;
}

}  // namespace tritonts::tensorrt
