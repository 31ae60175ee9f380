#include "library.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "../../platform/dynamic_library.h"
#include "engine/base/exit.h"
#include "platform/error_text.h"

namespace tritonts::onnxruntime {

namespace {

using platform::DynamicLibrary;

struct ApiBase {
  const Table::Function* (*get_api)(uint32_t version);
  const char* (*get_version_string)();
};

// A model of one operator, in protobuf's wire format: IR version 8; a graph of 55 bytes with the
// node y = Identity(x), a name, the input x and the output y, float [1]; opset 13.
constexpr std::string_view kSmallestModel =
    "\x08\x08\x3a\x37"
    "\x0a\x10\x0a\x01x\x12\x01y\x22\x08Identity"
    "\x12\x01g"
    "\x5a\x0f\x0a\x01x\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x01"
    "\x62\x0f\x0a\x01y\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x01"
    "\x42\x02\x10\x0d";

// All open libraries by canonical path.
struct OpenLibraries {
  std::mutex mutex;  // guards by_path
  std::map<std::string, Library*> by_path;
};

OpenLibraries& Libraries() {
  // Never destroyed, like the libraries, because threads may still run at exit.
  static auto* const libraries = new OpenLibraries();
  return *libraries;
}

Status NotUsable(const std::string& path, const std::string& why) {
  return Status::Unavailable(Reason::kMissing, "the ONNX Runtime library '" + path + "' " + why);
}

// The MINOR of "1.MINOR.PATCH"; -1 if the text has another form.
int MinorVersion(const std::string& version) {
  if (version.rfind("1.", 0) != 0) return -1;
  int minor = -1;
  std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return minor;
}

}  // namespace

bool Library::bounds_spins() const {
  constexpr int kFirst = 26;
  return MinorVersion(version_) >= kFirst;
}

StatusOr<Library*> Library::Open(const std::string& path) {
  if (path.empty()) {
    return Status::Unavailable(
        Reason::kMissing,
        "no ONNX Runtime library is known: install one with `npm i onnxruntime-node`, or give the "
        "path of a library file");
  }
  std::error_code error;
  const auto canonical = std::filesystem::canonical(platform::NativePath(path), error);
  if (error) {
    return NotUsable(path, "can't be read (" + platform::ErrorText(error) +
                               "): install it with `npm i onnxruntime-node`, or give the path of "
                               "another library file");
  }
  const std::string key = platform::Utf8(canonical);
  OpenLibraries& libraries = Libraries();
  {
    std::lock_guard lock(libraries.mutex);
    const auto found = libraries.by_path.find(key);
    if (found != libraries.by_path.end()) return found->second;
  }

  // The mutex is not held here. If two threads open the same file, the system returns the same
  // library to both.
  std::string fault;
  const auto opened = DynamicLibrary::Open(key, &fault);
  if (!opened) return NotUsable(path, "can't be opened: " + fault);
  using GetApiBase = const ApiBase* (*)();
  const auto get_base = reinterpret_cast<GetApiBase>(opened->Symbol("OrtGetApiBase"));
  if (!get_base) return NotUsable(path, "is a library, but not ONNX Runtime's");
  const ApiBase* base = get_base();
  std::string version = base->get_version_string();
  const int minor = MinorVersion(version);
  if (minor < kOldestApi) {
    return NotUsable(path, "has version " + version + ", but 1." + std::to_string(kOldestApi) +
                               " or a later 1.x is needed");
  }
  const int api = std::min(minor, kNewestApi);
  const Table::Function* functions = base->get_api(static_cast<uint32_t>(api));
  if (!functions) {
    return NotUsable(path, "(" + version + ") does not offer version " + std::to_string(api) +
                               " of its interface");
  }
  std::string loaded = DynamicLibrary::PathOf(reinterpret_cast<const void*>(get_base));
  if (loaded.empty()) loaded = key;

  Library* library = nullptr;
  {
    std::lock_guard lock(libraries.mutex);
    Library*& entry = libraries.by_path[key];
    if (!entry) {
      // Without its name, a later require of another version of onnxruntime-node gets its own
      // library. Requires the lock: two threads that open the library first would both modify it.
      opened.value().HideName();
      entry = new Library(std::move(loaded), std::move(version), Table(functions, api));
    }
    library = entry;
  }
  OnRuntimeLibraryOpened();
  return library;
}

Status Library::Take(OrtStatus* status) const {
  if (!status) return Status::Ok();
  std::string message = table_.Call(kGetErrorMessage, status);
  table_.Call(kReleaseStatus, status);
  while (!message.empty() && std::isspace(static_cast<unsigned char>(message.back()))) {
    message.pop_back();
  }
  return Status::Internal(std::move(message));
}

void Library::ProviderLoaded() {
  std::call_once(provider_loaded_, OnRuntimeLibraryOpened);
}

StatusOr<const Environment*> Library::GetEnvironment(int global_threads) {
  std::call_once(environment_made_,
                 [&] { environment_status_ = CreateEnvironment(global_threads); });
  if (!environment_status_.ok()) return environment_status_;
  return &environment_;
}

Status Library::CreateEnvironment(int global_threads) {
  Handle<OrtThreadingOptions, kReleaseThreadingOptions> threading(table_);
  Status status = Take(table_.Call(kCreateThreadingOptions, threading.out()));
  if (status.ok() && global_threads > 0) {
    status = Take(table_.Call(kSetGlobalIntraOpNumThreads, threading.get(), global_threads));
  }
  // One inter-op thread is enough: sessions that run operators in parallel have pools of their own.
  if (status.ok()) status = Take(table_.Call(kSetGlobalInterOpNumThreads, threading.get(), 1));
  if (status.ok()) status = Take(table_.Call(kSetGlobalSpinControl, threading.get(), 0));
  // The runtime's own logger is silenced, because failures are reported as statuses. A custom
  // logger would also be called for other users of the library.
  if (status.ok()) {
    status = Take(table_.Call(kCreateEnvWithGlobalThreadPools, kLogFatal, "tritonts",
                              threading.get(), &environment_.env));
  }
  // From 1.29 on the runtime reports every session to its maker through a database. Users did not
  // ask for that, and it takes a tenth of the time of creating a session.
  if (status.ok()) status = Take(table_.Call(kDisableTelemetryEvents, environment_.env));
  if (status.ok()) {
    status = Take(table_.Call(kCreateCpuMemoryInfo, kDeviceAllocator, kDefaultMemory,
                              &environment_.cpu_memory));
  }
  if (status.ok()) status = Take(table_.Call(kGetDefaultAllocator, &environment_.allocator));
  environment_.global_threads = global_threads;
  if (status.ok()) status = ProbeSharedPool();
  // Register the handler again, because the first session of a library registers exit handlers.
  OnRuntimeLibraryOpened();
  return status;
}

// If another user of the library created the environment, the runtime returns that one. Only
// creating a session shows whether it has global pools.
Status Library::ProbeSharedPool() {
  Handle<OrtSessionOptions, kReleaseSessionOptions> options(table_);
  Handle<OrtSession, kReleaseSession> session(table_);
  Status status = Take(table_.Call(kCreateSessionOptions, options.out()));
  if (status.ok()) {
    status = Take(table_.Call(kSetSessionLogSeverityLevel, options.get(), kLogFatal));
  }
  if (status.ok()) status = Take(table_.Call(kDisablePerSessionThreads, options.get()));
  if (!status.ok()) return status;
  const Status created =
      Take(table_.Call(kCreateSessionFromArray, environment_.env, kSmallestModel.data(),
                       kSmallestModel.size(), options.get(), session.out()));
  environment_.shared_pool = created.ok();
  return Status::Ok();
}

}  // namespace tritonts::onnxruntime
