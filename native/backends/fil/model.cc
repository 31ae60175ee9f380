#include "model.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "instance.h"
#include "platform/dynamic_library.h"
#include "platform/error_text.h"
#include "row_pool.h"

namespace tritonts::fil {

namespace {

constexpr const char* kInput = "input__0";
constexpr const char* kOutput = "output__0";
constexpr const char* kShapOutput = "treeshap_output";

StatusOr<std::string> ReadFile(const std::string& path) {
  const auto refuse = [&path](const std::error_code& error) {
    return Status::NotFound("cannot read '" + path + "': " + platform::ErrorText(error));
  };
  const std::filesystem::path place = platform::NativePath(path);
  std::error_code error;
  const auto status = std::filesystem::status(place, error);
  if (error) return refuse(error);
  if (!std::filesystem::is_regular_file(status)) {
    return Status::InvalidArg("expected the model's file, but '" + path + "' is " +
                              (std::filesystem::is_directory(status) ? "a folder" : "no file"));
  }
  const uintmax_t size = std::filesystem::file_size(place, error);
  if (error) return refuse(error);
  std::string bytes(static_cast<size_t>(size), '\0');
  std::ifstream file(place, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) {
    return Status::NotFound("cannot read all of '" + path + "', " + std::to_string(size) +
                            " bytes");
  }
  return bytes;
}

StatusOr<Forest> ReadModel(const ModelSpec& spec, Format format) {
  if (!spec.files.empty()) {
    const auto file = spec.files.find(spec.path);
    if (file == spec.files.end()) {
      return Status::NotFound("the version has no file '" + spec.path + "'");
    }
    return ReadForest(format, *file->second);
  }
  auto bytes = ReadFile(spec.path);
  if (!bytes.ok()) return bytes.status();
  return ReadForest(format, bytes.value());
}

// Probabilities of classes are a softmax of their margins, also where the model's own answer is the
// class. Leaves with a value for each class already have averages of probabilities.
void AnswerProbabilities(Forest* forest) {
  const bool has_vectors = !forest->trees.empty() && !forest->trees.front().leaf_vectors.empty();
  if (forest->columns > 1 && forest->transform == Transform::kMaxIndex) {
    forest->transform =
        has_vectors && forest->averages ? Transform::kIdentity : Transform::kSoftmax;
  } else if (forest->columns > 1 && forest->transform == Transform::kIdentity && !has_vectors) {
    forest->transform = Transform::kSoftmax;
  }
}

TensorDescription Describe(const char* name, size_t width) {
  TensorDescription tensor;
  tensor.name = name;
  tensor.datatype = DataType::kFp32;
  tensor.type_name = "float";
  tensor.dims = {-1, static_cast<int64_t>(width)};
  tensor.dim_names = {"batch", ""};
  return tensor;
}

}  // namespace

StatusOr<std::unique_ptr<Model>> ForestModel::Load(const ModelSpec& spec) {
  auto settings = ReadSettings(spec.settings);
  if (!settings.ok()) return settings.status();
  auto read = ReadModel(spec, settings.value().format);
  if (!read.ok()) return read.status();
  Forest& forest = read.value();
  const Settings& chosen = settings.value();
  if (forest.features == 0) return Status::Unsupported("the model has no features");
  if (chosen.is_classifier && chosen.predict_proba) AnswerProbabilities(&forest);

  auto loaded = std::make_shared<LoadedForest>();
  loaded->model = spec.name;
  loaded->settings = chosen;
  auto compiled = Compile(forest);
  if (!compiled.ok()) return compiled.status();
  loaded->compiled = compiled.take();
  loaded->evaluator = std::make_unique<const Evaluator>(loaded->compiled);
  if (chosen.is_classifier && !chosen.predict_proba) {
    loaded->rule = {Answer::kClass, chosen.threshold};
  } else if (chosen.is_classifier && forest.columns == 1 && chosen.output_columns == 2) {
    loaded->rule = {Answer::kTwoColumns, chosen.threshold};
  }
  if (chosen.treeshap_output) {
    auto shap = TreeShap::Make(std::move(forest));
    if (!shap.ok()) {
      return shap.status().With("output 'treeshap_output': " + shap.status().message());
    }
    loaded->shap = shap.take();
  }
  return std::unique_ptr<Model>(new ForestModel(std::move(loaded)));
}

ModelDescription ForestModel::Describe() const {
  ModelDescription description;
  description.inputs.push_back(fil::Describe(kInput, loaded_->compiled.features));
  description.outputs.push_back(fil::Describe(kOutput, loaded_->rule.width(loaded_->compiled)));
  if (loaded_->shap) {
    description.outputs.push_back(fil::Describe(kShapOutput, loaded_->shap->width()));
  }
  return description;
}

Status ForestModel::Configure(const ModelIo& io, std::string_view) {
  loaded_->batching = io.max_batch_size > 0;
  const std::string about = "model '" + loaded_->model + "': ";
  if (io.inputs.size() != 1 || io.inputs.front().name != kInput) {
    return Status::InvalidArg(about + "expected '" + kInput + "' as the only input");
  }
  if (io.inputs.front().datatype != DataType::kFp32) {
    return Status::InvalidArg(about + "input '" + kInput + "': expected TYPE_FP32");
  }
  for (uint32_t i = 0; i < io.outputs.size(); i++) {
    const TensorSpec& output = io.outputs[i];
    if (output.datatype != DataType::kFp32) {
      return Status::InvalidArg(about + "output '" + output.name + "': expected TYPE_FP32");
    }
    if (output.name == kOutput) {
      loaded_->output = i;
    } else if (output.name == kShapOutput && loaded_->shap) {
      loaded_->shap_output = i;
    } else {
      return Status::InvalidArg(about + "unknown output '" + output.name + "': expected '" +
                                kOutput + (loaded_->shap ? "' or 'treeshap_output'" : "'"));
    }
  }
  return Status::Ok();
}

StatusOr<std::unique_ptr<Instance>> ForestModel::CreateInstance(const InstanceSpec&) {
  return std::unique_ptr<Instance>(new ForestInstance(loaded_));
}

std::map<std::string, std::string> ForestModel::Info() const {
  return {{"trees", std::to_string(loaded_->compiled.trees.size())},
          {"kernel", std::string(Kernels().front()->name)}};
}

std::vector<MemoryUse> ForestModel::Memory() const {
  return {{MemoryKind::kHost, 0, loaded_->compiled.bytes()}};
}

}  // namespace tritonts::fil
