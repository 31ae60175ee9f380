#include "plugins/plugin_library.h"

#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "engine/base/exit.h"
#include "platform/system.h"
#include "platform/whole_library.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

constexpr std::string_view kLibraryName = "libtritonserver";
// What each of our libraries answers with, and the function that says which one a plug-in has.
constexpr const char* kKnownFunction = "TRITONSERVER_ApiVersion";

Status LibraryNotUsable(const std::string& what, const std::string& path,
                        const std::string& fault) {
  return Status::Unavailable(Reason::kMissing, what + " '" + path + "' can't be opened: " + fault);
}

// The libraries with Triton's functions that are bound to this program. Never destroyed, as the
// libraries stay open.
class OwnLibraries {
 public:
  static OwnLibraries& Get() {
    static auto* const all = new OwnLibraries();
    return *all;
  }

  // Opens the one with its own name, if it is not open.
  Status Open(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (!path_.empty()) return Status::Ok();
    std::string fault;
    const auto opened = platform::DynamicLibrary::Open(path, &fault);
    if (!opened) return LibraryNotUsable("the library for Triton's plug-ins,", path, fault);
    Status status = Bind(*opened, path);
    if (!status.ok()) return status;
    names_.insert(std::string(kLibraryName) + ".so");
    path_ = path;
    return Status::Ok();
  }

  // Gives the names of this kind that a plug-in needs to copies of the library.
  Status AddNames(const std::string& plugin) {
    const std::lock_guard lock(mutex_);
    for (const std::string& name : platform::NamesNeeded(plugin)) {
      if (!name.starts_with(kLibraryName) || names_.contains(name)) continue;
      std::string fault;
      const auto opened = platform::DynamicLibrary::OpenCopy(path_, name, &fault);
      if (!opened) {
        return LibraryNotUsable("a copy named '" + name + "' of the library", path_, fault);
      }
      Status status = Bind(*opened, path_);
      if (!status.ok()) return status;
      names_.insert(name);
    }
    return Status::Ok();
  }

  // Whether a function of this address is one of these libraries.
  bool Has(const void* address) {
    const std::lock_guard lock(mutex_);
    return known_.contains(address);
  }

 private:
  // Under the lock.
  Status Bind(const platform::DynamicLibrary& library, const std::string& path) {
    using BindFunction = void (*)(const TritonFunctions*);
    const auto bind = reinterpret_cast<BindFunction>(library.Symbol("tritonts_bind"));
    if (!bind) {
      return LibraryNotUsable(
          "the library for Triton's plug-ins,", path,
          "it has no function tritonts_bind, so it is not the package's. Install the "
          "package again");
    }
    bind(&Functions());
    known_.insert(library.Symbol(kKnownFunction));
    return Status::Ok();
  }

  std::mutex mutex_;  // guards the rest
  std::string path_;  // empty: not open
  std::set<std::string> names_;
  std::set<const void*> known_;
};

}  // namespace

Status OpenOwnLibrary(const std::string& own_library) {
  if (!platform::kGlibc) {
    return Status::Unsupported(
        "the library with Triton's functions needs Linux with glibc, but this is " +
        std::string(platform::kSystemName));
  }
  return OwnLibraries::Get().Open(own_library);
}

StatusOr<platform::DynamicLibrary> OpenPlugin(const std::string& path,
                                              const std::string& own_library) {
  if (!platform::kGlibc) {
    return Status::Unsupported("'" + path +
                               "': Triton's plug-ins need Linux with glibc, but this is " +
                               platform::kSystemName);
  }
  OwnLibraries& own = OwnLibraries::Get();
  Status status = own.Open(own_library);
  if (status.ok()) status = own.AddNames(path);
  if (!status.ok()) return status;
  std::string fault;
  const auto opened = platform::DynamicLibrary::Open(path, &fault);
  if (!opened) return LibraryNotUsable("the plug-in", path, fault);
  OnRuntimeLibraryOpened();
  // Found in what the plug-in needs. Null: it needs none of Triton's libraries.
  const void* const used = opened->Symbol(kKnownFunction);
  if (used && !own.Has(used)) {
    return LibraryNotUsable("the plug-in", path,
                            "it has the functions of another Triton server, '" +
                                platform::DynamicLibrary::PathOf(used) +
                                "', which is in this process");
  }
  return *opened;
}

}  // namespace tritonts::plugins
