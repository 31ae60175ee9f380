// The backend for models in JavaScript. Each instance has an inbox, from which the environment that
// runs the model takes its batches (binding/instance_wrap.h).
#include "inbox/inbox_backend.h"

namespace tritonts::javascript {

Backend* MakeBackend() {
  return new InboxBackend();
}

}  // namespace tritonts::javascript
