// A model's own decision about which requests run together (Triton: custom batching). A model has
// one only if its backend brings it (Model::batch_hook).
#pragma once

namespace tritonts {

class Request;

// Asked while a batch is formed: Begin, Includes for each candidate in the order of the queue, End.
// Several batches may be formed from the same requests before one runs, each with calls of its own.
// One thread at a time calls it, under the version's lock, and that may be a JS thread: it must be
// short, and must not call the engine. It throws nothing.
class BatchHook {
 public:
  virtual ~BatchHook() = default;
  virtual void Begin() = 0;
  // Whether a queued request joins the batch. The first candidate joins in any case. The answer no
  // closes the batch.
  virtual bool Includes(const Request& request) = 0;
  virtual void End() = 0;
};

}  // namespace tritonts
