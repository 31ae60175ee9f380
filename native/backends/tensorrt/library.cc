#include "library.h"

#include <memory>
#include <mutex>
#include <utility>

#include "../../platform/dynamic_library.h"
#include "engine/base/exit.h"

namespace tritonts::tensorrt {

namespace {

constexpr int kWarning = 2;        // log severities; smaller ones are errors
constexpr size_t kMostLogged = 4;  // lines of one failure

// The errors that the library logged on this thread.
std::string& Logged() {
  thread_local std::string logged;
  return logged;
}
size_t& LoggedLines() {
  thread_local size_t lines = 0;
  return lines;
}

// What the library logs to. The functions are in the order in which TensorRT 10 has them.
class Logger {
 public:
  virtual void Log(int32_t severity, const char* text) noexcept {
    if (severity >= kWarning || !text || LoggedLines() >= kMostLogged) return;
    try {
      Logged() += (LoggedLines()++ > 0 ? "; " : "") + std::string(text);
    } catch (const std::bad_alloc&) {
      // The failure is told without it.
    }
  }
  virtual ~Logger() = default;
};

// The process has one, because the library keeps the first that it is given.
Logger* TheLogger() {
  static auto* const logger = new Logger();
  return logger;
}

std::string VersionText(int32_t number) {
  // Before 10, the major version is in the thousands.
  const int32_t major = number >= 10000 ? number / 10000 : number / 1000;
  const int32_t rest = number >= 10000 ? number % 10000 : number % 1000;
  return std::to_string(major) + "." + std::to_string(rest / 100) + "." +
         std::to_string(rest % 100);
}

}  // namespace

StatusOr<const Library*> Library::Open(const std::string& file) {
  // Libraries by file. They are never destroyed, because threads may outlive static destructors.
  static auto* const mutex = new std::mutex();
  static auto* const known = new std::map<std::string, std::unique_ptr<const Library>>();
  const std::lock_guard lock(*mutex);
  if (const auto found = known->find(file); found != known->end()) return found->second.get();

  auto opened = platform::DynamicLibrary::Open(file);
  if (!opened.ok()) {
    return Status::Unavailable("TensorRT's library " + file + " can't be opened (" +
                               opened.status().message() +
                               "): install TensorRT 10, or name its library with "
                               "backendConfig.tensorrt.library");
  }
  std::unique_ptr<Library> library(new Library());
  const auto version = reinterpret_cast<int32_t (*)()>(opened.value().Symbol("getInferLibVersion"));
  library->create_runtime_ = reinterpret_cast<decltype(library->create_runtime_)>(
      opened.value().Symbol("createInferRuntime_INTERNAL"));
  if (!version || !library->create_runtime_) {
    return Status::Unavailable(file + " is a library, but not TensorRT's: it has no " +
                               (version ? "createInferRuntime_INTERNAL" : "getInferLibVersion"));
  }
  OnRuntimeLibraryOpened();
  library->number_ = version();
  library->version_ = VersionText(library->number_);
  // TensorRT for RTX counts its versions anew, and only this function tells.
  const auto major =
      reinterpret_cast<int32_t (*)()>(opened.value().Symbol("getInferLibMajorVersion"));
  const bool rtx = major && major() == 1;
  if (rtx || library->number_ / 10000 != 10) {
    return Status::Unsupported(file + " is TensorRT " + (rtx ? "for RTX " : "") +
                               library->version_ + ", and only versions 10.x can be used");
  }
  library->path_ =
      platform::DynamicLibrary::PathOf(reinterpret_cast<const void*>(library->create_runtime_));
  return known->emplace(file, std::move(library)).first->second.get();
}

StatusOr<Object*> Library::MakeRuntime() const {
  ForgetLog();
  Object* const runtime = create_runtime_(TheLogger(), number_);
  // Without a usable driver it is a small number.
  if (reinterpret_cast<uintptr_t>(runtime) < 4096) {
    return Failure(Code::kUnavailable, "TensorRT " + version_ + " can't start");
  }
  return runtime;
}

Status Library::Failure(Code code, const std::string& what) {
  return MakeStatus([&] {
    Status status(code, Logged().empty() ? what : what + ": " + Logged());
    ForgetLog();
    return status;
  });
}

void Library::ForgetLog() {
  Logged().clear();
  LoggedLines() = 0;
}

}  // namespace tritonts::tensorrt
