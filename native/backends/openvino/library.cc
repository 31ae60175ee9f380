#include "library.h"

#include <cctype>
#include <utility>

#include "../common/open_libraries.h"
#include "engine/base/exit.h"
#include "ports.h"
#include "type_model.h"

namespace tritonts::openvino {

namespace {

using platform::DynamicLibrary;

constexpr int kOldestYear = 2023;
constexpr const char* kAdvice =
    "install it with `pip install openvino`, or name its file with backendConfig.openvino.library";

OpenLibraries<Library>& Libraries() {
  // Never destroyed, like the libraries, because threads may still run at exit.
  static auto* const libraries = new OpenLibraries<Library>("OpenVINO", kAdvice);
  return *libraries;
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
  return Libraries().Get(path, [&](const DynamicLibrary& opened, const std::string& key) {
    return Make(path, opened, key);
  });
}

StatusOr<std::unique_ptr<Library>> Library::Make(const std::string& path,
                                                 const DynamicLibrary& opened,
                                                 const std::string& key) {
  const OpenLibraries<Library>& libraries = Libraries();
  Table table;
  if (!opened.Symbol("ov_get_openvino_version")) {
    return libraries.NotUsable(path, "is a library, but not OpenVINO's C library (libopenvino_c)");
  }
  const std::string missing = Fill(opened, &table);
  if (!missing.empty()) return libraries.Lacks(path, missing);
  OvVersion number{};
  if (table.get_openvino_version(&number) != kOvOk || !number.number) {
    return libraries.NotUsable(path, "does not tell its version");
  }
  std::string version = number.number;
  table.version_free(&number);
  if (std::atoi(version.c_str()) < kOldestYear) {
    return libraries.NotUsable(path, "has version " + version + ", but " +
                                         std::to_string(kOldestYear) +
                                         ".0 or newer is needed: " + kAdvice);
  }
  auto library = std::unique_ptr<Library>(new Library(key, std::move(version), table));
  if (Status status = library->Prepare(); !status.ok()) {
    return libraries.NotUsable(path,
                               "(" + library->version() + ") can't be used: " + status.message());
  }
  return library;
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
