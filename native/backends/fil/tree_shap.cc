#include "tree_shap.h"

namespace tritonts::fil {

StatusOr<std::unique_ptr<const TreeShap>> TreeShap::Make(Forest) {
  return Status::Unsupported("SHAP values are not available");
}

void TreeShap::Explain(const Rows&, float*) const {}

double TreeShap::EstimatedNs(size_t) const {
  return 0;
}

}  // namespace tritonts::fil
