// The backend for models in Python. Each instance has an inbox, from which the channel of its
// process takes the batches (python/channel.h).
#include "inbox/inbox_backend.h"

namespace tritonts::python {

Backend* MakeBackend() {
  return new InboxBackend();
}

}  // namespace tritonts::python
