#include "version.h"

namespace tritonts::tensorrt {

namespace {

// The first RTX version whose objects were verified: they equal those of TensorRT 11.
constexpr int32_t kFirstRtxMinor = 7;

}  // namespace

StatusOr<Version> VersionOf(const platform::DynamicLibrary& library, const std::string& file) {
  using Tell = int32_t (*)();
  const auto tell = reinterpret_cast<Tell>(library.Symbol("getInferLibVersion"));
  if (!tell) {
    return Status::Unavailable(
        Reason::kMissing, file + " is a library, but not TensorRT's: it has no getInferLibVersion");
  }
  Version version;
  version.number = tell();
  // Before 10, the major version is in the thousands.
  const bool old = version.number < 10000;
  version.major = version.number / (old ? 1000 : 10000);
  const int32_t rest = version.number % (old ? 1000 : 10000);
  version.minor = rest / 100;
  version.text = std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
                 std::to_string(rest % 100);
  // Only this function distinguishes RTX from a TensorRT 1.
  const auto major = reinterpret_cast<Tell>(library.Symbol("getInferLibMajorVersion"));
  version.rtx = major && major() == 1;
  if (version.rtx) version.text = "for RTX " + version.text;
  version.compatible_only = library.Symbol("createInferBuilder_INTERNAL") == nullptr;
  if (version.rtx ? version.minor >= kFirstRtxMinor : version.major == 11) {
    version.table = kTable11;
    version.named_objects = true;
  } else if (!version.rtx && version.major == 10) {
    version.table = Table10(version.minor);
  } else {
    return Status::Unsupported(file + " is TensorRT " + version.text +
                               "; supported are 10.x, 11.x, and for RTX 1.7 or newer: install "
                               "one of these and build the plan with it");
  }
  return version;
}

}  // namespace tritonts::tensorrt
