// The library files of a runtime that are open.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "engine/base/exit.h"
#include "engine/base/status.h"
#include "platform/dynamic_library.h"
#include "platform/error_text.h"

namespace tritonts {

// One per file, for the life of the process. Thread-safe. Never destroyed, like the libraries,
// because threads may still run at exit: keep it in a static that is not deleted.
template <typename Library>
class OpenLibraries {
 public:
  // `title` names the runtime in messages, such as "OpenVINO". `advice` says how to get it.
  OpenLibraries(const char* title, const char* advice) : title_(title), advice_(advice) {}

  // Returns the library that is open at `path`. If none is, opens the file and calls `make` with it
  // and its canonical path; `make` returns StatusOr<std::unique_ptr<Library>>. Calls do not
  // overlap. UNAVAILABLE, with the path and the reason: the file is missing or no library.
  template <typename Make>
  StatusOr<Library*> Get(const std::string& path, const Make& make) {
    std::error_code error;
    const auto canonical = std::filesystem::canonical(platform::NativePath(path), error);
    if (error)
      return NotUsable(path, "can't be read (" + platform::ErrorText(error) + "): " + advice_);
    const std::string key = platform::Utf8(canonical);
    const std::lock_guard lock(mutex_);
    const auto found = by_path_.find(key);
    if (found != by_path_.end()) return found->second.get();
    std::string fault;
    const auto opened = platform::DynamicLibrary::Open(key, &fault);
    if (!opened) return NotUsable(path, "can't be opened: " + fault);
    OnRuntimeLibraryOpened();
    auto library = make(*opened, key);
    if (!library.ok()) return library.status();
    return (by_path_[key] = library.take()).get();
  }

  // The status for a file that cannot be used. `why` follows the path.
  Status NotUsable(const std::string& path, const std::string& why) const {
    return Status::Unavailable(Reason::kMissing,
                               "the " + std::string(title_) + " library '" + path + "' " + why);
  }
  // The same for a version that lacks a function.
  Status Lacks(const std::string& path, const std::string& function) const {
    return NotUsable(path,
                     "has no function " + function + ": another version is needed. " + advice_);
  }

 private:
  const char* const title_;
  const char* const advice_;
  std::mutex mutex_;  // guards by_path_; held while a library is made
  std::map<std::string, std::unique_ptr<Library>> by_path_;
};

}  // namespace tritonts
