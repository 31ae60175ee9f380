// The files of a version whose devices use different files (Triton: cc_model_filenames). Any of
// them must be able to answer a request, so all must have the same tensors.
//
// Settings:
//   file.<device>   the file of a device (-1: the CPU), if it is not ModelSpec::path
//   written_dims    names of the tensors whose dims the configuration states, one per line.
//                   Their dims may be dynamic in one file and fixed in another. Dims of other
//                   tensors would be completed from a file, and must be the same in all files
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

// Returns the path of a device's file (-1: the CPU).
const std::string& PathOf(const ModelSpec& spec, int device);

// Returns the spec for one device: `path` is its file, and `files` lacks the files of other
// devices.
ModelSpec SpecOf(const ModelSpec& spec, int device);

// "input 'x'"
std::string TensorText(bool is_input, const std::string& name);
// INVALID_ARG: describes a difference between two files.
Status Unlike(const std::string& what, const std::string& file, const std::string& has,
              const std::string& other, const std::string& other_has);

// The descriptions of all files, as the runtime reports them. A value.
class DescribedFiles {
 public:
  explicit DescribedFiles(const ModelSpec& spec);

  bool Has(const std::string& file) const;
  // Adds a file. INVALID_ARG, naming both files and the tensor, if its tensors differ from the
  // first file's.
  Status Add(const std::string& file, ModelDescription description);
  // Returns a description that holds for all files. At least one file must have been added.
  ModelDescription Describe() const;
  // INVALID_ARG if a file does not accept the configured dims. The caller has compared the
  // configuration with Describe() before.
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
