#include "model.h"

#include <cstring>
#include <filesystem>
#include <utility>

#include "instance.h"
#include "platform/dynamic_library.h"

namespace tritonts::pytorch {

namespace {

std::shared_ptr<const std::string> BytesOf(const ModelSpec& spec) {
  const auto found = spec.files.find(spec.path);
  return found == spec.files.end() ? nullptr : found->second;
}

// What to do about an error of loading that many files have.
std::string AdviceFor(const std::string& message) {
  constexpr const char* kWrite =
      "torch.jit.script(model).save('model.pt') or torch.jit.trace(model, inputs).save('model.pt')";
  const auto has = [&](const char* text) { return message.find(text) != std::string::npos; };
  if (has("constants.pkl")) {
    return ". A file of torch.save has weights and no code: write the model with " +
           std::string(kWrite);
  }
  if (has("failed finding central directory") || has("not a ZIP archive") ||
      has("istream reader failed")) {
    return ". It is cut off, or no model in TorchScript, which is written with " +
           std::string(kWrite);
  }
  return "";
}

// Whether two modules have the same forward, as far as a plan depends on it.
bool AreAlike(const TorchApi& api, const TorchModule* one, const TorchModule* other) {
  const uint32_t count = api.argument_count(one);
  if (count != api.argument_count(other) || api.traits(one) != api.traits(other)) return false;
  for (uint32_t i = 0; i < count; i++) {
    const TorchArgument left = api.argument(one, i);
    const TorchArgument right = api.argument(other, i);
    if (left.kind != right.kind || std::strcmp(left.name, right.name) != 0) return false;
  }
  return true;
}

}  // namespace

TorchScriptModel::TorchScriptModel(const ModelSpec& spec, Library& library, Settings settings)
    : name_(spec.name),
      path_(spec.path),
      library_(library),
      settings_(std::move(settings)),
      bytes_(BytesOf(spec)) {}

StatusOr<std::unique_ptr<Model>> TorchScriptModel::Load(const ModelSpec& spec) {
  auto settings = ReadSettings(spec.settings);
  if (!settings.ok()) return settings.status();
  auto library = Library::Open(settings.value());
  if (!library.ok()) return library.status();
  if (Status status = library.value()->Apply(settings.value()); !status.ok()) return status;
  std::unique_ptr<TorchScriptModel> model(
      new TorchScriptModel(spec, *library.value(), settings.take()));
  auto module = model->ReadModule();
  if (!module.ok()) return module.status();
  model->module_ = module.take();
  return std::unique_ptr<Model>(std::move(model));
}

StatusOr<std::shared_ptr<const Module>> TorchScriptModel::ReadModule() const {
  std::error_code error;
  if (!bytes_ && !std::filesystem::exists(platform::NativePath(path_), error)) {
    return Status::Unavailable(Reason::kMissing,
                               "unable to find '" + path_ + "' for model instance '" + name_ + "'");
  }
  const TorchApi& api = library_.api();
  const auto module = std::make_shared<Module>(api);
  Status status = library_.Take(
      api.load(path_.c_str(), bytes_ ? bytes_->data() : nullptr, bytes_ ? bytes_->size() : 0,
               settings_.inference ? kTorchInferenceMode : 0, module->out()),
      "failed to load model '" + name_ + "': ");
  library_.DidLoad();
  if (!status.ok()) return status.With(status.message() + AdviceFor(status.message()));
  return std::shared_ptr<const Module>(module);
}

Status TorchScriptModel::Configure(const ModelIo& io, std::string_view) {
  auto plan = MakePlan(library_, module_->get(), name_, io);
  if (!plan.ok()) return plan.status();
  plan_ = std::make_shared<const Plan>(plan.take());
  return Status::Ok();
}

StatusOr<std::unique_ptr<Instance>> TorchScriptModel::CreateInstance(const InstanceSpec& spec) {
  std::shared_ptr<const Module> module = module_;
  if (!settings_.share && spec.index > 0) {
    auto read = ReadModule();
    if (!read.ok()) return read.status();
    module = read.take();
    if (!AreAlike(library_.api(), module->get(), module_->get())) {
      return Status::Unavailable(Reason::kNotReady,
                                 "'" + path_ + "' was changed while it was loaded");
    }
  }
  const int32_t flags =
      (settings_.inference ? kTorchInferenceMode : 0) | (settings_.optimize ? kTorchOptimize : 0);
  return std::unique_ptr<Instance>(std::make_unique<TorchScriptInstance>(
      library_, std::move(module), plan_, flags, settings_.cores > 1));
}

std::map<std::string, std::string> TorchScriptModel::Info() const {
  const TorchApi& api = library_.api();
  std::string arguments;
  bool takes_map = false;
  for (uint32_t i = 0; i < api.argument_count(module_->get()); i++) {
    const TorchArgument argument = api.argument(module_->get(), i);
    arguments += (i == 0 ? "" : "\n") + std::string(argument.name);
    takes_map = takes_map || argument.kind == kTorchTensorMap;
  }
  return {{"library", library_.path()},
          {"version", library_.version()},
          {"arguments", arguments},
          {"takes_map", takes_map ? "1" : "0"},
          {"intra_op_threads", std::to_string(api.intra_op_threads())},
          {"inter_op_threads", std::to_string(api.inter_op_threads())}};
}

}  // namespace tritonts::pytorch
