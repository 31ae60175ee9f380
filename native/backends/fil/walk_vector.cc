#include "walk.h"

namespace tritonts::fil {

const Kernel* Avx2Kernel() {
  return nullptr;
}
const Kernel* Avx512Kernel() {
  return nullptr;
}

}  // namespace tritonts::fil
