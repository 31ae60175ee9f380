#include "library.h"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "../../platform/dynamic_library.h"
#include "engine/base/exit.h"
#include "log.h"

namespace tritonts::tensorrt {

StatusOr<const Library*> Library::Open(const std::string& file) {
  // Libraries by file. They are never destroyed, because threads may outlive static destructors.
  static auto* const mutex = new std::mutex();
  static auto* const known = new std::map<std::string, std::unique_ptr<const Library>>();
  const std::lock_guard lock(*mutex);
  if (const auto found = known->find(file); found != known->end()) return found->second.get();

  std::string fault;
  const auto opened = platform::DynamicLibrary::Open(file, &fault);
  if (!opened) {
    return Status::Unavailable(Reason::kMissing,
                               "TensorRT's library " + file + " can't be opened (" + fault +
                                   "): install TensorRT, or name its library with "
                                   "backendConfig.tensorrt.library");
  }
  OnRuntimeLibraryOpened();
  auto version = VersionOf(opened.value(), file);
  if (!version.ok()) return version.status();
  std::unique_ptr<Library> library(new Library(version.take()));
  library->create_runtime_ = reinterpret_cast<decltype(library->create_runtime_)>(
      opened.value().Symbol("createInferRuntime_INTERNAL"));
  if (!library->create_runtime_) {
    return Status::Unavailable(
        Reason::kMissing,
        file + " is a library, but not TensorRT's: it has no createInferRuntime_INTERNAL");
  }
  library->path_ =
      platform::DynamicLibrary::PathOf(reinterpret_cast<const void*>(library->create_runtime_));
  return known->emplace(file, std::move(library)).first->second.get();
}

Status Library::AddPlugins(const std::vector<std::string>& files) const {
  const std::lock_guard lock(plugins_mutex_);
  if (!plugins_looked_for_) {
    plugins_looked_for_ = true;
    // TensorRT for RTX has no plugins. A plan that needs one fails with an error when it is read.
    if (!version_.rtx) AddNvidiasPlugins();
  }
  for (const std::string& file : files) {
    if (own_plugins_.contains(file)) continue;
    std::string fault;
    const auto opened = platform::DynamicLibrary::Open(file, &fault);
    if (!opened) {
      return Status::Unavailable(Reason::kMissing, "the library of plugins " + file +
                                                       " (backendConfig.tensorrt." +
                                                       "plugins) can't be opened: " + fault);
    }
    OnRuntimeLibraryOpened();
    own_plugins_.insert(file);
  }
  return Status::Ok();
}

void Library::AddNvidiasPlugins() const {
  const std::string name =
      std::string(version_.compatible_only ? "libnvinfer_vc_plugin.so." : "libnvinfer_plugin.so.") +
      std::to_string(version_.major);
  const auto file = platform::NativePath(path_).replace_filename(name);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return;
  std::string fault;
  const auto opened = platform::DynamicLibrary::Open(platform::Utf8(file), &fault);
  if (!opened) {
    plugins_fault_ = "NVIDIA's plugins can't be opened: " + fault;
    return;
  }
  OnRuntimeLibraryOpened();
  const auto start = reinterpret_cast<bool (*)(void*, const char*)>(
      opened.value().Symbol("initLibNvInferPlugins"));
  if (start && start(TheLogger(version_.named_objects), "")) plugins_ = platform::Utf8(file);
}

std::string Library::plugins() const {
  const std::lock_guard lock(plugins_mutex_);
  return plugins_;
}

Status Library::CannotRead(bool host_code) const {
  std::string help =
      version_.compatible_only
          ? "it reads version-compatible plans only"
          : "build the plan with this version, for this kind of GPU, or version-compatible";
  if (!host_code) help += ", and set version-compatible in backendConfig.tensorrt for such plans";
  const std::lock_guard lock(plugins_mutex_);
  if (!plugins_fault_.empty()) help += "; " + plugins_fault_;
  return Failure(Code::kInvalidArg,
                 "TensorRT " + version_.text + " can't read the plan (" + help + ")");
}

StatusOr<Object*> Library::MakeRuntime() const {
  ForgetLog();
  Object* const runtime = create_runtime_(TheLogger(version_.named_objects), version_.number);
  // Without a usable driver the result is a small number.
  if (reinterpret_cast<uintptr_t>(runtime) < 4096)
    return Failure(Code::kUnavailable, "TensorRT " + version_.text + " can't start",
                   Reason::kMissing);
  return runtime;
}

StatusOr<Object*> Library::LoadLeanRuntime(Object* runtime, const std::string& file) const {
  if (version_.rtx)
    return Status::Unsupported("TensorRT " + version_.text +
                               " has no lean runtimes (backendConfig.tensorrt.lean-runtime)");
  ForgetLog();
  Object* const lean = Call<Object*>(runtime, table().runtime.loadRuntime, file.c_str());
  if (!lean) {
    return Failure(Code::kUnavailable,
                   "TensorRT " + version_.text + " can't load the lean runtime " + file +
                       " (name libnvinfer_lean of the version that built the plan with "
                       "backendConfig.tensorrt.lean-runtime)",
                   Reason::kMissing);
  }
  OnRuntimeLibraryOpened();
  return lean;
}

}  // namespace tritonts::tensorrt
