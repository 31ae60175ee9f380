// The files of a version whose devices take different ones (Triton: cc_model_filenames). All of
// them answer the same requests, so they must have the same tensors.
//
// Settings:
//   file.<device>   the file of a device (-1: the CPU), where it is not ModelSpec::path
//   written_dims    names of the tensors whose dims the configuration has, one a line. Their dims
//                   may be dynamic in one file and fixed in another one. Those of others would be
//                   completed from a file, and must be the same in all
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backend.h"

namespace tritonts {

inline constexpr std::string_view kFileOfDevice = "file.";
inline constexpr char kWrittenDims[] = "written_dims";

// The file of a device (-1: the CPU).
const std::string& PathOf(const ModelSpec& spec, int device);

// The spec of one device: `path` is its file, and those of other devices are not among `files`.
ModelSpec SpecOf(const ModelSpec& spec, int device);

// "input 'x'"
std::string TensorText(bool is_input, const std::string& name);
// INVALID_ARG for what two files do not have alike.
Status Unlike(const std::string& what, const std::string& file, const std::string& has,
              const std::string& other, const std::string& other_has);

// The files, as the runtime describes them. A value.
class DescribedFiles {
 public:
  explicit DescribedFiles(const ModelSpec& spec);

  bool Has(const std::string& file) const;
  // INVALID_ARG, which names both files and the tensor: it has other tensors than the first one.
  Status Add(const std::string& file, ModelDescription description);
  // What all of them have in common. There is one at least.
  ModelDescription Describe() const;
  // INVALID_ARG: configured dims are not those of a file. The configuration was compared with
  // Describe() before.
  Status CheckDims(const ModelIo& io) const;

 private:
  struct File {
    std::string path;
    ModelDescription description;
  };
  Status Compare(const File& other, bool is_input) const;

  std::set<std::string> written_;
  std::vector<File> files_;
};

}  // namespace tritonts
