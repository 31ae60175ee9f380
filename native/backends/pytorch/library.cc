#include "library.h"

#include <filesystem>
#include <memory>
#include <utility>

#include "engine/base/exit.h"
#include "engine/memory/buffer.h"
#include "platform/dynamic_library.h"

namespace tritonts::pytorch {

namespace {

using platform::DynamicLibrary;

constexpr const char* kBuild = "run `npx tritonts build-backend pytorch`";

struct OpenLibrary {
  std::mutex mutex;  // held while the library is opened
  Library* library = nullptr;
};

OpenLibrary& TheLibrary() {
  // Never destroyed, because threads may still run at exit.
  static auto* const open = new OpenLibrary();
  return *open;
}

Status NotUsable(const std::string& why) {
  return Status::Unavailable(Reason::kMissing, why);
}

// The length of a text in JavaScript, in units of UTF-16.
size_t Utf16Length(const std::string& text) {
  size_t length = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) length += byte >= 0xf0 ? 2 : 1;
  }
  return length;
}

// Appends a stack to a message, in the form of withOrigin (src/addon/status.ts). `own`: the error's
// own text, with which the message ends.
std::string WithOrigin(std::string message, const std::string& own, const std::string& origin) {
  if (origin.empty()) return message;
  message += '\0';
  message += '\1' + std::to_string(Utf16Length(own)) + '\1';
  message += '\0';
  return message + origin;
}

}  // namespace

StatusOr<Library*> Library::Open(const Settings& settings) {
  OpenLibrary& open = TheLibrary();
  const std::lock_guard lock(open.mutex);
  if (!open.library) {
    auto opened = OpenNew(settings);
    if (!opened.ok()) return opened.status();
    open.library = opened.value();
  } else if (open.library->shim_ != settings.shim) {
    return NotUsable("the process already uses libtorch " + open.library->version_ + " (" +
                     open.library->path_ + "), and cannot use '" + settings.library +
                     "' too: restart it to change the library");
  }
  return open.library;
}

StatusOr<Library*> Library::OpenNew(const Settings& settings) {
  std::error_code error;
  if (!std::filesystem::exists(platform::NativePath(settings.shim), error)) {
    return NotUsable("there is no shim '" + settings.shim + "' for libtorch: " + kBuild);
  }
  std::string fault;
  const auto opened = DynamicLibrary::Open(settings.shim, &fault);
  if (!opened) {
    return NotUsable("the shim for libtorch, '" + settings.shim + "', can't be opened: " + fault +
                     ". If libtorch has changed, " + kBuild + " again");
  }
  OnRuntimeLibraryOpened();
  const auto function = reinterpret_cast<TorchApiFunction>(opened->Symbol(TRITONTS_TORCH_SYMBOL));
  if (!function) return NotUsable("'" + settings.shim + "' is no shim for libtorch: " + kBuild);
  const TorchApi* const api = function();
  if (api->interface != TRITONTS_TORCH_INTERFACE) {
    return NotUsable("the shim for libtorch, '" + settings.shim +
                     "', is of another version of tritonts: " + kBuild);
  }
  const auto release = [](void* owner) { static_cast<Block*>(owner)->Release(); };
  const char* version = "";
  TorchFault* const refusal = api->prepare(release, &version);
  if (refusal) {
    const std::string text = refusal->message;
    api->free_fault(refusal);
    return NotUsable("libtorch '" + settings.library + "' can't be used: " + text);
  }
  // The version may be longer, such as 2.7.1+cpu.
  if (std::string(version).compare(0, std::string(api->version).size(), api->version) != 0) {
    return NotUsable("the shim was built for libtorch " + std::string(api->version) + ", but '" +
                     settings.library + "' is " + (*version ? version : "of an unknown version") +
                     ": " + kBuild + " again");
  }
  std::unique_ptr<Library> library(new Library(settings.library, settings.shim, api, version));
  // libtorch takes all cores of the machine.
  Status status = library->Take(api->set_threads(settings.cores, 0));
  if (!status.ok()) return NotUsable("libtorch can't be used: " + status.message());
  return library.release();
}

Status Library::Apply(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  const int32_t intra_op = intra_op_written_ ? 0 : settings.intra_op;
  const int32_t inter_op = inter_op_written_ ? 0 : settings.inter_op;
  if (intra_op > 0 || inter_op > 0) {
    Status status = Take(api_->set_threads(intra_op, inter_op), "the number of threads: ");
    if (!status.ok()) return status;
    intra_op_written_ = intra_op_written_ || intra_op > 0;
    inter_op_written_ = inter_op_written_ || inter_op > 0;
  }
  const auto number = [](const std::optional<bool>& on) { return on ? int32_t{*on} : -1; };
  return Take(api_->set_switches(number(settings.executor), number(settings.profiling),
                                 number(settings.fuser)));
}

void Library::DidLoad() {
  if (!loaded_.exchange(true)) OnRuntimeLibraryOpened();
}

void Library::DidRun() {
  if (!ran_.load(std::memory_order_relaxed) && !ran_.exchange(true)) OnRuntimeLibraryOpened();
}

Status Library::Take(TorchFault* fault, const std::string& prefix) const {
  if (!fault) return Status::Ok();
  struct Freed {
    const TorchApi* api;
    TorchFault* fault;
    ~Freed() { api->free_fault(fault); }
  } const freed{api_, fault};
  const std::string own = fault->message;
  if (fault->kind == kTorchNoMemory) {
    return Status::Unavailable(Reason::kNoMemory, prefix + own);
  }
  return Status::Internal(WithOrigin(prefix + own, own, fault->origin));
}

}  // namespace tritonts::pytorch
