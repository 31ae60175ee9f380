#include "model.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "instance.h"
#include "platform/dynamic_library.h"
#include "types.h"

namespace tritonts::tensorflow {

namespace {

constexpr const char* kDefaultSignature = "serving_default";

// Signatures that initialise a model or train it.
bool IsInternal(const std::string& signature) {
  return signature == "__saved_model_init_op" || signature == "__saved_model_train_op";
}

TensorDescription DescribeTensor(const SignatureTensor& port, bool has_rows) {
  TensorDescription tensor;
  tensor.name = port.name;
  tensor.datatype = TypeOf(port.type);
  tensor.type_name = TypeName(port.type);
  tensor.has_rank = port.has_rank;
  tensor.dims = port.dims;
  tensor.dim_names.resize(port.dims.size());
  if (has_rows && !port.dims.empty()) tensor.dim_names[0] = "batch";
  return tensor;
}

}  // namespace

StatusOr<std::unique_ptr<Model>> TensorFlowModel::Load(const ModelSpec& spec) {
  auto settings = ReadSettings(spec.settings);
  if (!settings.ok()) return settings.status();
  auto library = Library::Open(settings.value().library);
  if (!library.ok()) return library.status();
  for (const std::string& path : settings.value().operators) {
    if (Status status = library.value()->LoadOperators(path); !status.ok()) return status;
  }
  std::unique_ptr<TensorFlowModel> model(
      new TensorFlowModel(spec.name, *library.value(), settings.take()));
  if (Status status = model->Read(spec); !status.ok()) return status;
  return std::unique_ptr<Model>(std::move(model));
}

Status TensorFlowModel::Read(const ModelSpec& spec) {
  std::filesystem::path path = platform::NativePath(spec.path);
  if (!spec.files.empty()) {
    std::string fault;
    bool written = given_.Make(&fault);
    for (const auto& [name, bytes] : spec.files) {
      if (written) written = given_.Write(name, *bytes, &fault);
    }
    if (!written) {
      return Status::Unavailable(Reason::kMissing, "TensorFlow reads files only: " + fault);
    }
    path = given_.path() / path;
  }
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  if (!std::filesystem::exists(path, error)) {
    return Status::NotFound("cannot read '" + spec.path + "': it does not exist");
  }
  if (is_folder == settings_.graphdef) {
    return Status::InvalidArg("expected " +
                              std::string(settings_.graphdef
                                              ? "a file with a GraphDef, but '"
                                              : "the folder of a SavedModel, but '") +
                              spec.path + "' is a " + (is_folder ? "folder" : "file"));
  }
  path_ = platform::Utf8(path);
  GraphContent content;
  auto session = NewSession(&content);
  if (!session.ok()) return session.status();
  session_ = session.take();
  if (!content.readable) {
    return Status::InvalidArg("the graph of the model cannot be read: it is malformed");
  }
  const auto index = path / "variables" / "variables.index";
  if (!settings_.graphdef && content.HasSavedVariables() &&
      !std::filesystem::exists(index, error)) {
    return Status::InvalidArg(
        "the model has variables, but their values are missing: there is no '" +
        platform::Utf8(index) + "'. Copy the folder variables, too");
  }
  Status status = settings_.graphdef ? DescribeGraph(content) : ChooseSignature(content);
  if (!status.ok()) return status;
  std::vector<std::string> outputs;
  for (const SignatureTensor& output : signature_.outputs) outputs.push_back(output.place);
  if (settings_.graphdef) outputs = content.Last();  // all operations, as any may be an output
  operators_ = FactsOf(content.KindsFor(outputs),
                       [this](const std::string& kind) { return session_->HasState(kind); });
  return Status::Ok();
}

StatusOr<std::shared_ptr<Session>> TensorFlowModel::NewSession(GraphContent* content) const {
  return Session::Load(library_, settings_, path_, content);
}

Status TensorFlowModel::ChooseSignature(const GraphContent& content) {
  const auto& signatures = content.signatures;
  auto found =
      signatures.find(settings_.signature.empty() ? kDefaultSignature : settings_.signature);
  if (found == signatures.end() && settings_.signature.empty()) {
    found = std::find_if(signatures.begin(), signatures.end(),
                         [](const auto& one) { return !IsInternal(one.first); });
  }
  if (found == signatures.end()) {
    std::string names;
    for (const auto& [name, signature] : signatures) {
      if (!IsInternal(name)) names += (names.empty() ? "'" : ", '") + name + "'";
    }
    return Status::InvalidArg(
        "the model has no signature" +
        (settings_.signature.empty() ? std::string()
                                     : " '" + settings_.signature + "' (TF_SIGNATURE_DEF)") +
        (names.empty() ? std::string(", and no other one") : "; it has " + names));
  }
  signature_ = found->second;
  for (auto* const tensors : {&signature_.inputs, &signature_.outputs}) {
    for (SignatureTensor& tensor : *tensors) {
      if (tensor.place.empty()) continue;  // refused if it is configured
      auto output = session_->Find(tensor.place);
      if (!output.ok()) return output.status();
      // A signature may leave the shape out, or have no dims where the graph does not know the
      // rank.
      if (!tensor.dims.empty()) continue;
      std::vector<int64_t> dims;
      tensor.has_rank = session_->ShapeOf(output.value(), &dims) && tensor.has_rank;
      if (!tensor.has_shape) tensor.dims = dims;
    }
  }
  return Status::Ok();
}

Status TensorFlowModel::DescribeGraph(const GraphContent& content) {
  const Table& table = library_.table();
  const auto describe = [&](const std::string& name) -> StatusOr<SignatureTensor> {
    auto output = session_->Find(name);
    if (!output.ok()) return output.status();
    SignatureTensor tensor;
    tensor.name = name;
    tensor.place = name + ":0";
    tensor.type = table.OperationOutputType(output.value());
    tensor.has_rank = session_->ShapeOf(output.value(), &tensor.dims);
    return tensor;
  };
  for (const auto& [name, node] : content.nodes) {
    if (node.op != "Placeholder") continue;
    auto tensor = describe(name);
    if (!tensor.ok()) return tensor.status();
    signature_.inputs.push_back(tensor.take());
  }
  for (const std::string& name : content.Last()) {
    TfOperation* const operation = table.GraphOperationByName(session_->graph(), name.c_str());
    if (!operation || table.OperationNumOutputs(operation) == 0) continue;
    if (content.nodes.at(name).op == "Placeholder") continue;
    auto tensor = describe(name);
    if (!tensor.ok()) return tensor.status();
    signature_.outputs.push_back(tensor.take());
  }
  return Status::Ok();
}

ModelDescription TensorFlowModel::Describe() const {
  const auto has_rows = [](const std::vector<SignatureTensor>& tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const SignatureTensor& tensor) {
      return tensor.dims.empty() || tensor.dims[0] < 0;
    });
  };
  const bool rows = has_rows(signature_.inputs) && has_rows(signature_.outputs);
  ModelDescription description;
  if (!operators_.rows_vary.empty()) {
    description.rows_vary = "the model has the operation " + operators_.rows_vary;
  }
  for (const SignatureTensor& input : signature_.inputs) {
    description.inputs.push_back(DescribeTensor(input, rows));
  }
  for (const SignatureTensor& output : signature_.outputs) {
    description.outputs.push_back(DescribeTensor(output, rows));
  }
  return description;
}

Status TensorFlowModel::Configure(const ModelIo& io, std::string_view) {
  auto plan = MakePlan(*session_, io, signature_, settings_.graphdef);
  if (!plan.ok()) return plan.status();
  plan.value().model = name_;
  plan.value().in_caller = settings_.inter_op_threads == 1;
  plan.value().keeps = !operators_.keeps.empty();
  plan_ = std::make_shared<const Plan>(plan.take());
  return Status::Ok();
}

StatusOr<std::unique_ptr<Instance>> TensorFlowModel::CreateInstance(const InstanceSpec&) {
  if (users_ == settings_.share) {
    auto session = NewSession(nullptr);
    if (!session.ok()) return session.status();
    session_ = session.take();
    users_ = 0;
  }
  users_++;
  auto instance = std::make_unique<TensorFlowInstance>(session_, plan_);
  if (Status status = instance->Prepare(); !status.ok()) return status;
  return std::unique_ptr<Instance>(std::move(instance));
}

std::map<std::string, std::string> TensorFlowModel::Info() const {
  std::map<std::string, std::string> info = {
      {"library", library_.path()},
      {"version", library_.version()},
      {"intra_op_threads", std::to_string(settings_.intra_op_threads)},
      {"inter_op_threads", std::to_string(settings_.inter_op_threads)}};
  if (!settings_.operators.empty()) {
    info.emplace("never_inline",
                 "the model has operators of libraries of its own (op_library_filename)");
  } else if (!operators_.time_varies.empty()) {
    info.emplace("never_inline", "the model has the operation " + operators_.time_varies);
  }
  return info;
}

}  // namespace tritonts::tensorflow
