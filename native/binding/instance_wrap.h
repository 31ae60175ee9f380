// An instance of a JavaScript model as the environment that runs it holds it: batches in, results
// out, as words and bytes in memory that JavaScript made. JS thread only, but for the wake-up.
//
// The words of a batch (Next):
//   slot, stretches, then for each stretch of requests that share a header:
//     requests, extra (~index of { id, priority, timeoutUs, parameters } among the objects, or 0),
//     wanted outputs, each one's index, inputs,
//     for each input: index, rank, dims, bytes of a request, place
//   `place` is the offset of the first request's bytes, the others follow; or ~index of the first
//   request's ArrayBuffer among the objects, where the others follow.
// The words of results (Answer), any number of:
//   0, outputs, for each: index, datatype, rank, dims without rows, bytes, offset   (all requests)
//   1, request, outputs, for each: index, datatype, rank, dims, bytes, place        (one request)
//   2, request or -1 for all, code, ~index of the message                           (an error)
//   3, as 1                                                       (a response that others follow)
//   4, request                                                       (the end of its responses)
//   `place` is an offset, or ~index of a typed array among the objects.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/javascript/inbox.h"
#include "engine/waiting/spin.h"
#include "setup.h"
#include "wrapped.h"

namespace tritonts {

class InstanceWrap : public Wrapped<InstanceWrap> {
 public:
  static Napi::Function Define(Napi::Env env);
  // Attaches to an inbox. `wake` is called with nothing when there may be something to take.
  // `cores` is how many of the process's its thread may spin on. Empty where that cannot be.
  static Napi::Value Create(Napi::Env env, std::shared_ptr<Inbox> inbox, const Napi::Function& wake,
                            bool holds_loop, uint32_t cores);

  ~InstanceWrap() { Detach(); }
  void Finalize(napi_env) {}
  // Ends the connection; idempotent. Also called by the environment's cleanup hook.
  void Detach();

 private:
  static void Wake(napi_env env, napi_value wake, void* context, void* data);

  Napi::Value SetMemory(const Napi::CallbackInfo& info);
  void Up(const Napi::CallbackInfo& info);
  // How many words: a batch; or one of the words below.
  Napi::Value Next(const Napi::CallbackInfo& info);
  // There is no memory for the batch that Next found the memory too small for.
  void Refuse(const Napi::CallbackInfo& info);
  void RefuseEntered();
  Napi::Value Answer(const Napi::CallbackInfo& info);
  Napi::Value Cancelled(const Napi::CallbackInfo& info);
  // A batch's execute has returned, and its responses follow.
  void Part(const Napi::CallbackInfo& info);
  // How many responses may be sent to a request now. None: it is listed for Readers when there is
  // room. -1: nobody reads.
  Napi::Value Room(const Napi::CallbackInfo& info);
  // Writes slot and position of requests whose callers have read, or have left, and returns how
  // many. -1: any may have.
  Napi::Value Readers(const Napi::CallbackInfo& info);
  Napi::Value CallerOf(const Napi::CallbackInfo& info);
  void DetachBuffers(const Napi::CallbackInfo& info);
  void DetachFromJs(const Napi::CallbackInfo& info);

  // Writes a batch. False: the memory is too small, and needs_ says what is needed. Throws
  // std::bad_alloc, and then no call of the batch has been taken.
  bool Write(Napi::Env env, const Run& run, Napi::Array objects);
  // Reads results. False: they are malformed. Nothing of them throws: `shape_` has room for all.
  bool Read(Napi::Env env, Run& run, const int32_t* at, const int32_t* end, Napi::Array objects);
  bool ReadTogether(Run& run, const int32_t** at, const int32_t* end);
  bool ReadOne(Napi::Env env, Run& run, const int32_t** at, const int32_t* end, Napi::Array objects,
               bool final);
  bool ReadEnd(Run& run, const int32_t** at, const int32_t* end);
  bool ReadError(Run& run, const int32_t** at, const int32_t* end, Napi::Array objects);
  // Declares output `words` of a request, which has `shape_`. Not ok: why that is not possible.
  Status Declare(Napi::Env env, Run& run, uint32_t request, const int32_t* words, size_t size,
                 int32_t place, Napi::Array objects);
  // Takes the next batch, after a spin if that is worth it.
  Inbox::Next Look(uint32_t* slot, Run** run);

  struct Signal {
    napi_threadsafe_function function = nullptr;
  };
  struct Memory {
    Napi::Reference<Napi::ArrayBuffer> buffer;
    char* data = nullptr;
    size_t size = 0;
  };

  std::shared_ptr<Inbox> inbox_;
  std::shared_ptr<Signal> signal_;
  Napi::ObjectReference self_;  // until it is detached
  Memory words_;
  Memory bytes_;
  size_t needs_words_ = 0;
  size_t needs_bytes_ = 0;
  uint32_t entered_ = 0;        // a batch that waits for memory
  Run* entered_run_ = nullptr;  // null: there is none
  std::vector<int64_t> shape_;
  uint32_t cores_ = 0;
  SpinPolicy spin_;
  Spin spun_ = Spin::kNone;        // how the spin of this wait ended
  uint64_t waiting_since_ns_ = 0;  // 0: it does not wait
  bool detached_ = false;
};

}  // namespace tritonts
