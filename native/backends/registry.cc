#include "registry.h"

#include <algorithm>
#include <utility>

#include "identity/identity.h"
#include "javascript/javascript.h"
#include "onnxruntime/onnxruntime.h"
#include "python/python.h"
#include "tensorrt/tensorrt.h"
#if defined(TRITONTS_FAULTS)
#include "../test/support/fault_backend.h"
#include "../test/support/stream_backend.h"
#endif

namespace tritonts {

namespace {

using Entry = std::pair<const char*, Backend*>;

const std::vector<Entry>& Entries() {
  // The backends are never destroyed, because threads may still run at exit.
  static const auto* const entries = new std::vector<Entry>{
      {"onnxruntime", OnnxRuntimeBackend()},
      {"identity", new IdentityBackend()},
      {"javascript", &JavaScriptBackend::Get()},
      {"python", new PythonBackend()},
      {"tensorrt", new TensorRtBackend()},
#if defined(TRITONTS_FAULTS)
      {"fault", new FaultBackend()},
      {"stream", new StreamBackend()},
#endif
  };
  return *entries;
}

}  // namespace

Backend* FindBackend(const std::string& name) {
  const auto known = std::find_if(Entries().begin(), Entries().end(),
                                  [&](const Entry& entry) { return entry.first == name; });
  return known == Entries().end() ? nullptr : known->second;
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const Entry& entry : Entries()) names.push_back(entry.first);
  return names;
}

}  // namespace tritonts
