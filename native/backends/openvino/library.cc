#include "library.h"

#include <cctype>
#include <filesystem>
#include <map>
#include <utility>

#include "engine/base/exit.h"
#include "platform/dynamic_library.h"
#include "ports.h"
#include "type_model.h"

namespace tritonts::openvino {

namespace {

using platform::DynamicLibrary;

constexpr int kOldestYear = 2023;
constexpr const char* kAdvice =
    "install it with `pip install openvino`, or name its file with backendConfig.openvino.library";

// All open libraries by canonical path.
struct OpenLibraries {
  std::mutex mutex;  // guards by_path; held while a library is prepared
  std::map<std::string, Library*> by_path;
};

OpenLibraries& Libraries() {
  // Never destroyed, like the libraries, because threads may still run at exit.
  static auto* const libraries = new OpenLibraries();
  return *libraries;
}

Status NotUsable(const std::string& path, const std::string& why) {
  return Status::Unavailable(Reason::kMissing, "the OpenVINO library '" + path + "' " + why);
}

// Looks the functions up. The result is the name of a function that is missing; "": none.
std::string Fill(const DynamicLibrary& library, Table* table) {
  std::string missing;
#define TRITONTS_OPENVINO_MAYBE(name, result, parameters) \
  table->name = reinterpret_cast<decltype(table->name)>(library.Symbol("ov_" #name));
#define TRITONTS_OPENVINO_NEEDED(name, result, parameters) \
  TRITONTS_OPENVINO_MAYBE(name, result, parameters)        \
  if (!table->name && missing.empty()) missing = "ov_" #name;
  TRITONTS_OPENVINO_FUNCTIONS(TRITONTS_OPENVINO_NEEDED, TRITONTS_OPENVINO_MAYBE)
#undef TRITONTS_OPENVINO_NEEDED
#undef TRITONTS_OPENVINO_MAYBE
  return missing;
}

}  // namespace

StatusOr<Library*> Library::Open(const std::string& path) {
  std::error_code error;
  const auto canonical = std::filesystem::canonical(platform::NativePath(path), error);
  if (error) return NotUsable(path, "can't be read (" + error.message() + "): " + kAdvice);
  const std::string key = platform::Utf8(canonical);
  OpenLibraries& libraries = Libraries();
  const std::lock_guard lock(libraries.mutex);
  const auto found = libraries.by_path.find(key);
  if (found != libraries.by_path.end()) return found->second;

  std::string fault;
  const auto opened = DynamicLibrary::Open(key, &fault);
  if (!opened) return NotUsable(path, "can't be opened: " + fault);
  OnRuntimeLibraryOpened();
  Table table;
  if (!opened->Symbol("ov_get_openvino_version")) {
    return NotUsable(path, "is a library, but not OpenVINO's C library (libopenvino_c)");
  }
  const std::string missing = Fill(*opened, &table);
  if (!missing.empty()) {
    return NotUsable(path,
                     "has no function " + missing + ": another version is needed. " + kAdvice);
  }
  OvVersion number{};
  if (table.get_openvino_version(&number) != kOvOk || !number.number) {
    return NotUsable(path, "does not tell its version");
  }
  std::string version = number.number;
  table.version_free(&number);
  if (std::atoi(version.c_str()) < kOldestYear) {
    return NotUsable(path, "has version " + version + ", but " + std::to_string(kOldestYear) +
                               ".0 or newer is needed: " + kAdvice);
  }
  auto library = std::unique_ptr<Library>(new Library(key, std::move(version), table));
  if (Status status = library->Prepare(); !status.ok()) {
    return NotUsable(path, "(" + library->version() + ") can't be used: " + status.message());
  }
  return libraries.by_path[key] = library.release();
}

Status Library::Prepare() {
  // Failures are reported as statuses. The text of the log would go to the standard output.
  if (table_.util_set_log_callback) table_.util_set_log_callback([](const char*) {});
  elements_.fill(-1);
  if (Status status = Take(table_.core_create(&core_)); !status.ok()) return status;
  if (Status status = PrepareCore(core_); !status.ok()) return status;
  const std::string bytes = TypeModel();
  Network model(table_);
  Status status = Take(table_.core_read_model_from_memory_buffer(core_, bytes.data(), bytes.size(),
                                                                 nullptr, model.out()));
  if (!status.ok()) return status;
  auto inputs = ReadPorts(*this, model.get(), Side::kInput);
  if (!inputs.ok()) return inputs.status();
  for (const PortFacts& input : inputs.value()) {
    const DataType type = TypeOfInput(input.name);
    if (type != DataType::kInvalid) elements_[static_cast<size_t>(type)] = input.element;
  }
  OnRuntimeLibraryOpened();
  return Status::Ok();
}

Status Library::PrepareCore(const OvCore* core) const {
  // A file that is made shorter while it is mapped ends the process.
  return Take(
      table_.core_set_property(core, static_cast<const char*>(nullptr), "ENABLE_MMAP", "NO"));
}

void Library::Did(const std::string& what) const {
  const std::lock_guard lock(mutex_);
  if (done_.insert(what).second) OnRuntimeLibraryOpened();
}

DataType Library::TypeOf(int element) const {
  for (size_t i = 0; element >= 0 && i < elements_.size(); i++) {
    if (elements_[i] == element) return static_cast<DataType>(i);
  }
  return DataType::kInvalid;
}

Status Library::Take(int result) const {
  if (result == kOvOk) return Status::Ok();
  std::string text;
  // This error has no text of its own: the last one is of another call.
  const char* last = result == kOvInvalidParameter ? nullptr : table_.get_last_err_msg();
  if (last) {
    text = last;
    table_.free(last);
  }
  if (text.empty()) text = table_.get_error_info(result);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  if (result == kOvCancelled) return Status::Cancelled(std::move(text));
  return Status::Internal(std::move(text));
}

}  // namespace tritonts::openvino
