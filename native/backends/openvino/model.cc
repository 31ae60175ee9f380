#include "model.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <new>
#include <utility>

#include "instance.h"
#include "platform/dynamic_library.h"

namespace tritonts::openvino {

namespace {

// An instance needs no more requests than this: the largest machines have fewer streams.
constexpr uint32_t kMostRequests = 256;

TensorDescription Describe(const Library& library, const PortFacts& port, bool has_rows) {
  TensorDescription tensor;
  tensor.name = port.name;
  tensor.datatype = library.TypeOf(port.element);
  tensor.type_name = tensor.datatype == DataType::kInvalid
                         ? "element type " + std::to_string(port.element) + " of OpenVINO"
                         : Name(tensor.datatype);
  tensor.has_rank = port.has_rank;
  tensor.dims = port.dims;
  tensor.dim_names.resize(port.dims.size());
  if (has_rows && !port.dims.empty()) tensor.dim_names[0] = "batch";
  return tensor;
}

Status CheckNames(const std::vector<PortFacts>& ports, const char* what) {
  for (size_t i = 0; i < ports.size(); i++) {
    if (!ports[i].name.empty()) continue;
    return Status::Unsupported("the model's " + std::string(what) + " " + std::to_string(i) +
                               " has no name, so no request can name it");
  }
  return Status::Ok();
}

}  // namespace

OpenVinoModel::OpenVinoModel(std::string name, const Library& library, Settings settings)
    : name_(std::move(name)),
      library_(library),
      settings_(std::move(settings)),
      network_(library.table()) {}

StatusOr<std::unique_ptr<Model>> OpenVinoModel::Load(const ModelSpec& spec) {
  auto settings = ReadSettings(spec.settings);
  if (!settings.ok()) return settings.status();
  auto library = Library::Open(settings.value().library);
  if (!library.ok()) return library.status();
  std::unique_ptr<OpenVinoModel> model(
      new OpenVinoModel(spec.name, *library.value(), settings.take()));
  if (Status status = model->MakeCore(); !status.ok()) return status;
  if (Status status = model->Read(spec); !status.ok()) return status;
  return std::unique_ptr<Model>(std::move(model));
}

Status OpenVinoModel::MakeCore() {
  const Table& table = library_.table();
  if (!settings_.extension.empty()) {
    if (!table.core_add_extension) {
      return Status::Unsupported("OpenVINO " + library_.version() +
                                 " takes no libraries of operators (CPU_EXTENSION_PATH)");
    }
    auto core = std::make_shared<Core>(table);
    Status status = library_.Take(table.core_create(core->out()));
    if (status.ok()) status = library_.PrepareCore(core->get());
    if (status.ok()) {
      status = library_.Take(table.core_add_extension(core->get(), settings_.extension.c_str()));
    }
    if (!status.ok()) {
      return Status::InvalidArg("the library of operators '" + settings_.extension +
                                "' can't be used: " + status.message());
    }
    own_core_ = std::move(core);
  }
  // Devices such as AUTO, MULTI:CPU and HETERO:CPU consist of others, and check these themselves.
  const std::string device = settings_.device.substr(0, settings_.device.find_first_of(".:("));
  if (device == "AUTO" || device == "MULTI" || device == "HETERO" || device == "BATCH") {
    return Status::Ok();
  }
  OvDevices devices{};
  Status status = library_.Take(table.core_get_available_devices(core(), &devices));
  if (!status.ok()) return status;
  std::string names;
  bool found = false;
  for (size_t i = 0; i < devices.size; i++) {
    const std::string name = devices.names[i];
    found = found || name.substr(0, name.find('.')) == device;
    names += (i == 0 ? "" : ", ") + name;
  }
  table.available_devices_free(&devices);
  if (found) return Status::Ok();
  return Status::Unavailable(Reason::kMissing, "OpenVINO has no device '" + settings_.device +
                                                   "' (TARGET_DEVICE) here: it has " +
                                                   (names.empty() ? "none" : names));
}

Status OpenVinoModel::Read(const ModelSpec& spec) {
  std::filesystem::path path = platform::NativePath(spec.path);
  if (!spec.files.empty()) {
    // The library would look for further files of a model in memory, such as its weights, in the
    // working directory.
    std::string fault;
    bool written = given_.Make(&fault);
    for (const auto& [name, bytes] : spec.files) {
      if (written) written = given_.Write(name, *bytes, &fault);
    }
    if (!written) {
      return Status::Unavailable(Reason::kMissing, "OpenVINO reads files only: " + fault);
    }
    path = given_.path() / path;
  }
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Status::NotFound("cannot read '" + spec.path + "': it does not exist");
  }
  Status status = library_.Take(library_.table().core_read_model(
      core(), platform::Utf8(path).c_str(), nullptr, network_.out()));
  library_.Did("read a file " + platform::Utf8(path.extension()));
  if (!status.ok()) {
    return Status::InvalidArg("OpenVINO cannot read the model: " + status.message());
  }
  operators_ = ReadOperators(path);
  auto inputs = ReadPorts(library_, network_.get(), Side::kInput);
  if (!inputs.ok()) return inputs.status();
  auto outputs = ReadPorts(library_, network_.get(), Side::kOutput);
  if (!outputs.ok()) return outputs.status();
  inputs_ = inputs.take();
  outputs_ = outputs.take();
  status = CheckNames(inputs_, "input");
  if (status.ok()) status = CheckNames(outputs_, "output");
  if (!status.ok()) return status;
  auto keeps_rows = KeepsRows(library_, network_.get(), inputs_);
  if (!keeps_rows.ok()) return keeps_rows.status();
  keeps_rows_ = keeps_rows.value();
  return Status::Ok();
}

ModelDescription OpenVinoModel::Describe() const {
  ModelDescription description;
  for (const PortFacts& port : inputs_) {
    description.inputs.push_back(openvino::Describe(library_, port, keeps_rows_));
  }
  for (const PortFacts& port : outputs_) {
    description.outputs.push_back(openvino::Describe(library_, port, keeps_rows_));
  }
  return description;
}

Status OpenVinoModel::Configure(const ModelIo& io, std::string_view) {
  if (io.max_batch_size > 0 && !operators_.keeps_state.empty()) {
    return Status::Unsupported(
        "the model keeps state between its runs (" + operators_.keeps_state +
        "), which the requests of a batch would share. Write max_batch_size: 0");
  }
  auto plan = MakePlan(library_, network_.get(), io, inputs_, outputs_,
                       {settings_.padding, settings_.reshape});
  if (!plan.ok()) return plan.status();
  plan.value().model = name_;
  return Compile(std::make_shared<const Plan>(plan.take()));
}

Status OpenVinoModel::Compile(std::shared_ptr<const Plan> plan) {
  const Table& table = library_.table();
  const auto& properties = settings_.properties;
  Compiled compiled(table);
  int result = kOvOk;
  if (table.core_compile_model_props) {
    std::vector<OvProperty> list;
    for (const auto& [key, value] : properties) list.push_back({key.c_str(), value.c_str()});
    result = table.core_compile_model_props(core(), network_.get(), settings_.device.c_str(),
                                            list.size(), list.data(), compiled.out());
  } else {
    // The library reads as many arguments as it is told.
    std::array<const char*, 16> text{};
    if (properties.size() * 2 > text.size()) return Status::InvalidArg("too many properties");
    for (size_t i = 0; i < properties.size(); i++) {
      text[2 * i] = properties[i].first.c_str();
      text[2 * i + 1] = properties[i].second.c_str();
    }
    result = table.core_compile_model(
        core(), network_.get(), settings_.device.c_str(), properties.size() * 2, compiled.out(),
        text[0], text[1], text[2], text[3], text[4], text[5], text[6], text[7], text[8], text[9],
        text[10], text[11], text[12], text[13], text[14], text[15]);
  }
  library_.Did("compile for " + settings_.device);
  if (Status status = library_.Take(result); !status.ok()) {
    return Status::InvalidArg("OpenVINO cannot compile the model for " + settings_.device + ": " +
                              status.message());
  }
  compiled_ = std::make_shared<const CompiledModel>(library_, std::move(plan), own_core_,
                                                    std::move(compiled));
  const std::string most = compiled_->Property("OPTIMAL_NUMBER_OF_INFER_REQUESTS");
  std::from_chars(most.data(), most.data() + most.size(), requests_);
  requests_ = std::clamp<uint32_t>(requests_, 1, kMostRequests);
  // The compiled model has all it needs.
  network_.Reset();
  return Status::Ok();
}

StatusOr<std::unique_ptr<Instance>> OpenVinoModel::CreateInstance(const InstanceSpec&) {
  if (requests_ == 1) {
    auto instance = std::make_unique<OneRequestInstance>(compiled_);
    if (Status status = instance->Prepare(); !status.ok()) return status;
    return std::unique_ptr<Instance>(std::move(instance));
  }
  auto instance = std::make_unique<ManyRequestsInstance>(compiled_, requests_);
  if (Status status = instance->Prepare(); !status.ok()) return status;
  return std::unique_ptr<Instance>(std::move(instance));
}

std::map<std::string, std::string> OpenVinoModel::Info() const {
  std::map<std::string, std::string> info{
      {"library", library_.path()}, {"version", library_.version()}, {"device", settings_.device}};
  if (!compiled_) return info;
  info["infer_requests"] = std::to_string(requests_);
  for (const char* key :
       {"EXECUTION_DEVICES", "INFERENCE_PRECISION_HINT", "NUM_STREAMS", "INFERENCE_NUM_THREADS"}) {
    if (std::string value = compiled_->Property(key); !value.empty()) info[key] = std::move(value);
  }
  return info;
}

}  // namespace tritonts::openvino
