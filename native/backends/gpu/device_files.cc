#include "device_files.h"

#include <algorithm>
#include <sstream>

namespace tritonts {

namespace {

using Tensors = std::vector<TensorDescription>;

const Tensors& TensorsOf(const ModelDescription& description, bool is_input) {
  return is_input ? description.inputs : description.outputs;
}

const TensorDescription* Find(const Tensors& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const auto& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

std::string DimsText(const std::vector<int64_t>& dims) {
  std::string text;
  for (const int64_t dim : dims) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return "[" + text + "]";
}

std::string ShapeText(const TensorDescription& tensor) {
  return tensor.has_rank ? "dims " + DimsText(tensor.dims) : "no fixed number of dims";
}

// Returns the first difference besides dims, in words: of the first tensor, and of the second. Two
// empty strings if there is none.
std::pair<std::string, std::string> Kinds(const TensorDescription& one,
                                          const TensorDescription& other) {
  if (one.datatype != other.datatype || one.type_name != other.type_name)
    return {one.type_name, other.type_name};
  const auto optional = [](const auto& tensor) { return tensor.optional ? "optional" : "needed"; };
  if (one.optional != other.optional) return {optional(one), optional(other)};
  const auto place = [](const auto& tensor) {
    return tensor.is_shape_tensor ? "a shape tensor" : "none";
  };
  if (one.is_shape_tensor != other.is_shape_tensor) return {place(one), place(other)};
  return {};
}

// Whether some concrete dims satisfy both tensors.
bool DimsMeet(const TensorDescription& one, const TensorDescription& other) {
  return one.has_rank && other.has_rank && one.dims.size() == other.dims.size() &&
         std::equal(one.dims.begin(), one.dims.end(), other.dims.begin(),
                    [](int64_t a, int64_t b) { return a == b || a < 0 || b < 0; });
}

// Clears the dim names that the two tensors do not share.
void MergeDimNames(const TensorDescription& other, TensorDescription* tensor) {
  for (size_t i = 0; i < tensor->dim_names.size(); i++) {
    std::string& name = tensor->dim_names[i];
    if (i >= other.dim_names.size() || other.dim_names[i] != name) name.clear();
  }
}

}  // namespace

const std::string& PathOf(const ModelSpec& spec, int device) {
  const auto own = spec.settings.find(std::string(kFileOfDevice) + std::to_string(device));
  return own == spec.settings.end() ? spec.path : own->second;
}

ModelSpec SpecOf(const ModelSpec& spec, int device) {
  ModelSpec own = spec;
  own.path = PathOf(spec, device);
  if (own.path != spec.path) own.files.erase(spec.path);
  for (const auto& [key, file] : spec.settings)
    if (key.starts_with(kFileOfDevice) && file != own.path) own.files.erase(file);
  return own;
}

std::string TensorText(bool is_input, const std::string& name) {
  return (is_input ? "input '" : "output '") + name + "'";
}

Status Unlike(const std::string& what, const std::string& file, const std::string& has,
              const std::string& other, const std::string& other_has) {
  return Status::InvalidArg("the files of cc_model_filenames differ: " + what + ": '" + file +
                            "' has " + has + ", and '" + other + "' " + other_has);
}

DescribedFiles::DescribedFiles(const ModelSpec& spec) {
  const auto written = spec.settings.find(kWrittenDims);
  if (written == spec.settings.end()) return;
  std::istringstream lines(written->second);
  for (std::string name; std::getline(lines, name);) written_.insert(name);
}

bool DescribedFiles::Has(const std::string& file) const {
  return std::any_of(files_.begin(), files_.end(),
                     [&](const File& one) { return one.path == file; });
}

Status DescribedFiles::Add(const std::string& file, ModelDescription description) {
  File added{file, std::move(description)};
  if (!files_.empty()) {
    for (const bool is_input : {true, false})
      if (Status status = Compare(added, is_input); !status.ok()) return status;
  }
  files_.push_back(std::move(added));
  return Status::Ok();
}

Status DescribedFiles::Compare(const File& other, bool is_input) const {
  const File& first = files_.front();
  const Tensors& tensors = TensorsOf(first.description, is_input);
  const Tensors& others = TensorsOf(other.description, is_input);
  for (const TensorDescription& added : others) {
    if (!Find(tensors, added.name))
      return Unlike(TensorText(is_input, added.name), first.path, "none", other.path, "has it");
  }
  for (const TensorDescription& tensor : tensors) {
    const std::string what = TensorText(is_input, tensor.name);
    const TensorDescription* const added = Find(others, tensor.name);
    if (!added) return Unlike(what, first.path, "it", other.path, "has none");
    const auto [kind, added_kind] = Kinds(tensor, *added);
    if (kind != added_kind) return Unlike(what, first.path, kind, other.path, added_kind);
    if (tensor.has_rank == added->has_rank && tensor.dims == added->dims) continue;
    if (!DimsMeet(tensor, *added) || !written_.contains(tensor.name))
      return Unlike(what, first.path, ShapeText(tensor), other.path, ShapeText(*added));
  }
  return Status::Ok();
}

ModelDescription DescribedFiles::Describe() const {
  ModelDescription common = files_.front().description;
  for (const File& file : files_) {
    const ModelDescription& other = file.description;
    if (common.rows_vary.empty()) common.rows_vary = other.rows_vary;
    if (common.most_rows && other.most_rows)
      common.most_rows = std::min(*common.most_rows, *other.most_rows);
    for (TensorDescription& tensor : common.inputs)
      MergeDimNames(*Find(other.inputs, tensor.name), &tensor);
    for (TensorDescription& tensor : common.outputs)
      MergeDimNames(*Find(other.outputs, tensor.name), &tensor);
  }
  return common;
}

Status DescribedFiles::CheckDims(const ModelIo& io) const {
  const auto fit = [](const TensorSpec& spec, const TensorDescription& tensor) {
    return std::equal(tensor.dims.begin(), tensor.dims.end(), spec.dims.begin(),
                      [](int64_t has, int64_t wanted) { return has < 0 || has == wanted; });
  };
  for (size_t i = 1; i < files_.size(); i++) {
    for (const bool is_input : {true, false}) {
      for (const TensorSpec& spec : is_input ? io.inputs : io.outputs) {
        const TensorDescription* const tensor =
            Find(TensorsOf(files_[i].description, is_input), spec.name);
        // A configured rank that differs from the file's was accepted against the first file, and
        // all files have its rank.
        if (!tensor || tensor->dims.size() != spec.dims.size() || fit(spec, *tensor)) continue;
        return Status::InvalidArg(TensorText(is_input, spec.name) + " is configured with dims " +
                                  DimsText(spec.dims) + ", but '" + files_[i].path + "' has " +
                                  DimsText(tensor->dims));
      }
    }
  }
  return Status::Ok();
}

}  // namespace tritonts
