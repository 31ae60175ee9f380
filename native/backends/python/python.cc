#include "backends/python/python.h"

#include "backends/javascript/javascript.h"

namespace tritonts {

StatusOr<std::unique_ptr<Model>> PythonBackend::Load(const ModelSpec& spec) {
  return JavaScriptBackend::Get().Load(spec);
}

}  // namespace tritonts
