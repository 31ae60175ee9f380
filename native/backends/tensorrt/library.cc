#include "library.h"

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

  auto opened = platform::DynamicLibrary::Open(file);
  if (!opened.ok()) {
    return Status::Unavailable("TensorRT's library " + file + " can't be opened (" +
                               opened.status().message() +
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
        file + " is a library, but not TensorRT's: it has no createInferRuntime_INTERNAL");
  }
  library->path_ =
      platform::DynamicLibrary::PathOf(reinterpret_cast<const void*>(library->create_runtime_));
  return known->emplace(file, std::move(library)).first->second.get();
}

StatusOr<Object*> Library::MakeRuntime() const {
  ForgetLog();
  Object* const runtime = create_runtime_(TheLogger(version_.named_objects), version_.number);
  // Without a usable driver it is a small number.
  if (reinterpret_cast<uintptr_t>(runtime) < 4096)
    return Failure(Code::kUnavailable, "TensorRT " + version_.text + " can't start");
  return runtime;
}

}  // namespace tritonts::tensorrt
