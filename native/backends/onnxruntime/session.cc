#include "session.h"

#include <cstdlib>
#include <optional>

#include "../../platform/dynamic_library.h"
#include "../../platform/host_policy.h"
#include "cuda_provider.h"

namespace tritonts::onnxruntime {

namespace {

constexpr char kIntraOpSpinning[] = "session.intra_op.allow_spinning";
constexpr char kInterOpSpinning[] = "session.inter_op.allow_spinning";
// For the following two: threads spin only while a run is under way, and then at most so long, in
// microseconds. The parts of a run that use one thread are a few microseconds long; a wake-up takes
// about 30. If runs of several models share the cores, a spin takes time from the others.
constexpr char kStopSpinning[] = "session.force_spinning_stop";
constexpr char kIntraOpSpinTime[] = "session.intra_op.spin_duration_us";
constexpr char kSpinTime[] = "50";
// A model whose files are smaller has no work for several threads, or hardly any.
constexpr uint64_t kLargeModel = 256 * 1024;
constexpr char kExternalFolder[] = "session.model_external_initializers_file_folder_path";
// A folder that cannot contain a file.
constexpr char kNoFolder[] = "/dev/null/none";

// The bytes of the model's files, up to kLargeModel or a little more.
uint64_t BytesOf(const ModelSpec& spec) {
  uint64_t bytes = 0;
  if (!spec.files.empty()) {
    for (const auto& [path, content] : spec.files) bytes += content->size();
    return bytes;
  }
  // Weights may be in files beside the model's.
  const std::filesystem::path folder = ModelFile(spec.path).parent_path();
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  while (!error && entry != std::filesystem::directory_iterator() && bytes < kLargeModel) {
    std::error_code none;
    const uintmax_t size = entry->file_size(none);
    if (!none) bytes += size;
    entry.increment(error);
  }
  return bytes;
}

}  // namespace

std::filesystem::path ModelFile(const std::string& path) {
  std::filesystem::path file = platform::NativePath(path);
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) file /= "model.onnx";
  return file;
}

StatusOr<std::shared_ptr<Session>> Session::Create(Library* library, const ModelSpec& spec,
                                                   Settings settings, int device) {
  auto environment = library->GetEnvironment(settings.global_threads);
  if (!environment.ok()) return environment.status();
  std::shared_ptr<Session> session(
      new Session(library, environment.value(), std::move(settings), device));
  if (Status status = session->Load(spec); !status.ok()) return status;
  return session;
}

Session::~Session() {
  if (!session_) return;
  // Makes the context current, so that a capture on another thread does not make the runtime's
  // frees fail.
  std::optional<device::Gpu::Current> current;
  if (place_) {
    current.emplace(*place_->gpu());
    // On a lost device the runtime's destructors throw, which would end the process. So the session
    // is leaked then. Drain detects a loss that is not known yet.
    place_->gpu()->Drain(place_->stream());
    if (place_->gpu()->lost()) return;
  }
  table().Call(kReleaseSession, session_);
}

Status Session::Load(const ModelSpec& spec) {
  const Settings given = settings_;
  Status status = Make(spec);
  if (status.ok() || !own_threads_.taken()) return status;
  // The system may have no more threads. The shared ones are there.
  own_threads_.Return();
  settings_ = given;
  settings_.spin_in_runs = false;
  return Make(spec);
}

Status Session::Make(const ModelSpec& spec) {
  const bool in_memory = !spec.files.empty();
  const std::filesystem::path file =
      in_memory ? std::filesystem::path(platform::NativePath(spec.path)) : ModelFile(spec.path);
  Handle<OrtSessionOptions, kReleaseSessionOptions> options(table());
  Status status = library_.Take(table().Call(kCreateSessionOptions, options.out()));
  if (status.ok()) status = SetThreads(spec, options.get());
  if (status.ok()) status = SetOptions(options.get());
  if (status.ok() && device_ != kCpu) {
    status = Place();
  }
  std::optional<device::Gpu::Current> current;
  if (place_) {
    // Likewise, so that the runtime's allocations do not fail.
    current.emplace(*place_->gpu());
    status = AppendGpuProviders(library_, *place_, settings_, options.get());
  }
  if (status.ok()) {
    // The threads of the session's own pool inherit it.
    const platform::ScopedHostPolicy bound(spec.host_policy);
    if (!bound.fault().empty()) return Status::Internal(bound.fault());
    status = in_memory ? LoadFromMemory(spec, options.get())
                       : library_.Take(table().Call(kCreateSession, environment_.env, file.c_str(),
                                                    options.get(), &session_));
  }
  if (status.ok() && device_ != kCpu) library_.ProviderLoaded();
  if (status.ok()) return status;
  return status.With("can't load '" + platform::Utf8(file) + "': " + status.message());
}

Status Session::Place() {
  if (settings_.cuda_graphs() && !table().Has(kSessionGetInputPlaces)) {
    return Status::Unsupported("enable_cuda_graph needs ONNX Runtime 1.23, but this is " +
                               library_.version());
  }
  auto place = GpuPlace::Make(device_, settings_.priority);
  if (!place.ok()) return place.status();
  place_ = place.take();
  return Status::Ok();
}

// Loads the model from its bytes. The other files may contain its weights. The runtime copies the
// bytes that it needs later.
Status Session::LoadFromMemory(const ModelSpec& spec, OrtSessionOptions* options) {
  // Without this, the runtime would search the working directory for files that were not given.
  Status found =
      library_.Take(table().Call(kAddSessionConfigEntry, options, kExternalFolder, kNoFolder));
  if (!found.ok()) return found;
  const auto model = spec.files.find(spec.path);
  if (model == spec.files.end())
    return Status::Internal("the file '" + spec.path + "' is not among the given files");
  std::vector<std::filesystem::path> paths;
  std::vector<char*> contents;
  std::vector<size_t> sizes;
  for (const auto& [path, content] : spec.files) {
    if (path == spec.path) continue;
    paths.push_back(platform::NativePath(path));
    contents.push_back(const_cast<char*>(content->data()));  // it is only read
    sizes.push_back(content->size());
  }
  if (!paths.empty()) {
    if (!table().Has(kAddExternalFilesInMemory)) {
      return Status::Unsupported(
          "external weights that are given as bytes need ONNX Runtime 1.18 or newer");
    }
    std::vector<const PathChar*> names;
    for (const auto& path : paths) names.push_back(path.c_str());
    Status status = library_.Take(table().Call(kAddExternalFilesInMemory, options, names.data(),
                                               contents.data(), sizes.data(), paths.size()));
    if (!status.ok()) return status;
  }
  return library_.Take(table().Call(kCreateSessionFromArray, environment_.env,
                                    model->second->data(), model->second->size(), options,
                                    &session_));
}

bool Session::TakeThreads(const ModelSpec& spec) {
  if (!settings_.spin_in_runs || device_ != kCpu || settings_.fallback_threads < 2) return false;
  // The thread that asks for a run is one of them.
  return BytesOf(spec) >= kLargeModel &&
         own_threads_.Take(spec.name, settings_.fallback_threads - 1);
}

Status Session::SetThreads(const ModelSpec& spec, OrtSessionOptions* options) {
  const bool wanted = settings_.shared_pool;
  const bool may_spin = settings_.spin_in_runs;
  settings_.spin_in_runs = may_spin && library_.bounds_spins();
  settings_.shared_pool = wanted && environment_.shared_pool && !TakeThreads(spec);
  if (settings_.shared_pool) {
    return library_.Take(table().Call(kDisablePerSessionThreads, options));
  }
  if (wanted) {
    // There is no shared pool, or the model is better off with its own.
    settings_.intra_op_threads = settings_.fallback_threads;
  }
  if (wanted || may_spin) settings_.allow_spinning = settings_.spin_in_runs;
  Status status;
  if (settings_.intra_op_threads) {
    status =
        library_.Take(table().Call(kSetIntraOpNumThreads, options, *settings_.intra_op_threads));
  }
  if (status.ok() && settings_.inter_op_threads) {
    status =
        library_.Take(table().Call(kSetInterOpNumThreads, options, *settings_.inter_op_threads));
  }
  const auto set = [&](const char* key, const char* value) {
    if (status.ok())
      status = library_.Take(table().Call(kAddSessionConfigEntry, options, key, value));
  };
  if (settings_.allow_spinning) {
    const char* value = *settings_.allow_spinning ? "1" : "0";
    set(kIntraOpSpinning, value);
    set(kInterOpSpinning, settings_.spin_in_runs ? "0" : value);
  }
  if (settings_.spin_in_runs) {
    set(kStopSpinning, "1");
    set(kIntraOpSpinTime, kSpinTime);
  }
  return status;
}

Status Session::SetOptions(OrtSessionOptions* options) const {
  const Table& api = table();
  // The session does not log, because failures are reported as statuses. The environment's log
  // level is not changed, because another user may have created the environment.
  Status status = library_.Take(api.Call(kSetSessionLogSeverityLevel, options, kLogFatal));
  const auto set = [&](auto... call) {
    if (status.ok()) status = library_.Take(api.Call(call...));
  };
  if (settings_.execution_mode) {
    set(kSetSessionExecutionMode, options, *settings_.execution_mode);
  }
  if (settings_.graph_optimization_level) {
    set(kSetGraphOptimizationLevel, options, *settings_.graph_optimization_level);
  }
  if (settings_.enable_cpu_mem_arena) {
    if (*settings_.enable_cpu_mem_arena) {
      set(kEnableCpuMemArena, options);
    } else {
      set(kDisableCpuMemArena, options);
    }
  }
  if (settings_.enable_mem_pattern) {
    if (*settings_.enable_mem_pattern) {
      set(kEnableMemPattern, options);
    } else {
      set(kDisableMemPattern, options);
    }
  }
  if (!settings_.profile_prefix.empty()) {
    // The runtime appends the time in seconds to the name, so a model's sessions need different
    // prefixes.
    const std::string prefix =
        settings_.profile_prefix + (device_ == kCpu ? "" : "_gpu" + std::to_string(device_));
    set(kEnableProfiling, options, platform::NativePath(prefix).c_str());
  }
  for (const std::string& library : settings_.custom_op_libraries) {
    set(kRegisterCustomOpsLibrary, options, platform::NativePath(library).c_str());
  }
  for (const auto& [key, value] : settings_.session_config) {
    set(kAddSessionConfigEntry, options, key.c_str(), value.c_str());
  }
  return status;
}

std::map<std::string, std::string> Session::Info() const {
  const int threads =
      settings_.shared_pool ? environment_.global_threads : settings_.intra_op_threads.value_or(0);
  bool spinning = !settings_.shared_pool && settings_.allow_spinning.value_or(true);
  for (const auto& [key, value] : settings_.session_config) {
    if (!settings_.shared_pool && key == kIntraOpSpinning) spinning = value == "1";
  }
  const char* when = settings_.spin_in_runs ? "within runs" : "always";
  return {
      {"library", library_.path()},
      {"version", library_.version()},
      {"shared_pool", settings_.shared_pool ? "1" : "0"},
      {"intra_op_threads", std::to_string(threads)},  // 0: the runtime chooses
      {"spinning", spinning && threads != 1 ? when : "off"},
  };
}

uint64_t Session::Allocated(const OrtMemoryInfo* memory) const {
  const Table& api = table();
  Handle<OrtAllocator, kReleaseAllocator> allocator(api);
  Handle<OrtKeyValuePairs, kReleaseKeyValuePairs> told(api);
  // A session without an allocator for this memory is not an error.
  if (!library_.Take(api.Call(kCreateAllocator, session_, memory, allocator.out())).ok() ||
      !library_.Take(api.Call(kAllocatorGetStats, allocator.get(), told.out())).ok() ||
      !told.get()) {
    return 0;
  }
  const char* text = api.Call(kGetKeyValue, told.get(), "TotalAllocated");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

void Session::AddMemory(std::vector<MemoryUse>* uses) const {
  const Table& api = table();
  if (!api.Has(kAllocatorGetStats)) return;
  if (const uint64_t bytes = Allocated(environment_.cpu_memory)) {
    uses->push_back({MemoryKind::kHost, 0, bytes});
  }
  if (device_ == kCpu) return;
  Handle<OrtMemoryInfo, kReleaseMemoryInfo> memory(api);
  if (!library_
           .Take(api.Call(kCreateMemoryInfo, "Cuda", kDeviceAllocator, device_, kDefaultMemory,
                          memory.out()))
           .ok()) {
    return;
  }
  if (const uint64_t bytes = Allocated(memory.get())) {
    uses->push_back({MemoryKind::kDevice, device_, bytes});
  }
}

}  // namespace tritonts::onnxruntime
