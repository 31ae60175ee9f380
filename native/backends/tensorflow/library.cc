#include "library.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "../common/open_libraries.h"
#include "engine/base/exit.h"

namespace tritonts::tensorflow {

namespace {

using platform::DynamicLibrary;

// String tensors have had their present layout since 2.4.
constexpr int kOldestMajor = 2;
constexpr int kOldestMinor = 4;
constexpr const char* kAdvice =
    "install it with `pip install tensorflow-cpu`, or name its file with "
    "backendConfig.tensorflow.library";

OpenLibraries<Library>& Libraries() {
  // Never destroyed, like the libraries, because threads may still run at exit.
  static auto* const libraries = new OpenLibraries<Library>("TensorFlow", kAdvice);
  return *libraries;
}

// Looks the functions up. The result is the name of a function that is missing; "": none.
std::string Fill(const DynamicLibrary& library, Table* table) {
  std::string missing;
#define TRITONTS_TENSORFLOW_MAYBE(name, result, parameters) \
  table->name = reinterpret_cast<decltype(table->name)>(library.Symbol("TF_" #name));
#define TRITONTS_TENSORFLOW_NEEDED(name, result, parameters) \
  TRITONTS_TENSORFLOW_MAYBE(name, result, parameters)        \
  if (!table->name && missing.empty()) missing = "TF_" #name;
  TRITONTS_TENSORFLOW_FUNCTIONS(TRITONTS_TENSORFLOW_NEEDED, TRITONTS_TENSORFLOW_MAYBE)
#undef TRITONTS_TENSORFLOW_NEEDED
#undef TRITONTS_TENSORFLOW_MAYBE
  return missing;
}

bool IsOld(const std::string& version) {
  char* end = nullptr;
  const long major = std::strtol(version.c_str(), &end, 10);
  const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
  return major < kOldestMajor || (major == kOldestMajor && minor < kOldestMinor);
}

}  // namespace

StatusOr<Library*> Library::Open(const std::string& path) {
  return Libraries().Get(path, [&](const DynamicLibrary& opened, const std::string& key) {
    return Make(path, opened, key);
  });
}

StatusOr<std::unique_ptr<Library>> Library::Make(const std::string& path,
                                                 const DynamicLibrary& opened,
                                                 const std::string& key) {
  const OpenLibraries<Library>& libraries = Libraries();
  using Version = const char* (*)();
  const auto get_version = reinterpret_cast<Version>(opened.Symbol("TF_Version"));
  if (!get_version) {
    return libraries.NotUsable(path,
                               "is a library, but not one with TensorFlow's C interface "
                               "(libtensorflow_cc or libtensorflow)");
  }
  std::string version = get_version();
  if (IsOld(version)) {
    return libraries.NotUsable(
        path, "has version " + version + ", but " + std::to_string(kOldestMajor) + "." +
                  std::to_string(kOldestMinor) + " or newer is needed: " + kAdvice);
  }
  Table table;
  const std::string missing = Fill(opened, &table);
  if (!missing.empty()) return libraries.Lacks(path, missing);
  return std::unique_ptr<Library>(new Library(key, std::move(version), table));
}

Status Library::LoadOperators(const std::string& path) const {
  const StatusObject result = NewStatus();
  // The library keeps the handle for the next call with this path. Its other function would only
  // free the list of operators.
  table_.LoadLibrary(path.c_str(), result.get());
  OnRuntimeLibraryOpened();
  Status status = Take(result);
  if (status.ok()) return status;
  return Status::Internal("the library of operators '" + path +
                          "' can't be loaded: " + status.message());
}

Status Library::Take(const StatusObject& result) const {
  const int code = table_.GetCode(result.get());
  if (code == kTfOk) return Status::Ok();
  std::string text = table_.Message(result.get());
  // Messages of several lines become one line.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      text.end());
  while (!text.empty() && text.back() == ' ') text.pop_back();
  if (text.empty()) text = "TensorFlow failed with code " + std::to_string(code);
  switch (code) {
    case kTfCancelled:
      return Status::Cancelled(std::move(text));
    case kTfNotFound:
      return Status::NotFound(std::move(text));
    case kTfResourceExhausted:
      return Status::Unavailable(Reason::kNoMemory, std::move(text));
    default:
      return Status::Internal(std::move(text));
  }
}

}  // namespace tritonts::tensorflow
