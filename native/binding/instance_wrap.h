// An instance of a JavaScript model, as the environment that runs it sees it. Batches come in and
// results go out as words and bytes in memory that JavaScript created. JS thread only, except the
// wake-up.
//
// The words of a batch (Next):
//   slot, stretches, then for each stretch of requests that share a header:
//     requests, extra (~index of { id, priority, timeoutUs, parameters } among the objects, or 0),
//     sequence (0: none; else kInSequence and flags, and two words follow: the id as a number, or
//     ~index of a text among the objects and 0),
//     wanted outputs, index of each, inputs,
//     for each input: index, rank, dims, bytes per request, place
//   `place` is the offset of the first request's bytes, followed by the others'; or ~index of the
//   first request's ArrayBuffer among the objects, followed by the others'.
// The words of results (Answer) are any number of these items:
//   0, outputs, for each: index, datatype, rank, dims without rows, bytes, offset   (all requests)
//   1, request, outputs, for each: index, datatype, rank, dims, bytes, place        (one request)
//   2, request or -1 for all, code, ~index of the message                           (an error)
//   3, the rest as for 1                                          (a response that is not final)
//   4, request                                                       (the end of its responses)
//   5, request                                                       (it is to be queued again)
//   6, request, number of words, parameters of its next response, as in port_layout.h
//   `place` is an offset, or ~index of a typed array among the objects.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/waiting/spin.h"
#include "inbox/inbox.h"
#include "setup.h"
#include "wrapped.h"

namespace tritonts {

class InstanceWrap : public Wrapped<InstanceWrap> {
 public:
  static Napi::Function Define(Napi::Env env);
  // Attaches to an inbox. `wake` is called without arguments when Next or Readers may have a
  // result. `cores`: the number of cores on which its thread may spin. Empty if attaching fails.
  static Napi::Value Create(Napi::Env env, std::shared_ptr<Inbox> inbox, const Napi::Function& wake,
                            bool holds_loop, uint32_t cores);

  ~InstanceWrap() { Detach(); }
  void Finalize(napi_env) {}
  // Detaches; idempotent. The environment's cleanup hook also calls it.
  void Detach();

 private:
  static void Wake(napi_env env, napi_value wake, void* context, void* data);

  Napi::Value SetMemory(const Napi::CallbackInfo& info);
  void Up(const Napi::CallbackInfo& info);
  // Returns the number of words of a batch, or one of the constants below.
  Napi::Value Next(const Napi::CallbackInfo& info);
  // Fails the batch for which Next found the memory too small, because JavaScript cannot get more.
  void Refuse(const Napi::CallbackInfo& info);
  void RefuseEntered();
  Napi::Value Answer(const Napi::CallbackInfo& info);
  Napi::Value Cancelled(const Napi::CallbackInfo& info);
  // A batch's execute has returned; its responses follow.
  void Part(const Napi::CallbackInfo& info);
  // Returns how many responses may be sent to a request now. 0: Readers will list the request when
  // there is room. -1: the request has no reader.
  Napi::Value Room(const Napi::CallbackInfo& info);
  // Writes slot and position of requests whose callers have read or left, and returns their number.
  // -1: check all requests.
  Napi::Value Readers(const Napi::CallbackInfo& info);
  Napi::Value CallerOf(const Napi::CallbackInfo& info);
  void DetachBuffers(const Napi::CallbackInfo& info);
  void DetachFromJs(const Napi::CallbackInfo& info);

  // Writes a batch. Returns false if the memory is too small; needs_words_ and needs_bytes_ then
  // have the required sizes. Throws std::bad_alloc, before any call of the batch has been taken.
  bool Write(Napi::Env env, const Run& run, Napi::Array objects);
  // Reads results. Returns false if they are malformed. Does not throw: `shape_` has capacity for
  // all dims.
  bool Read(Napi::Env env, Run& run, const int32_t* at, const int32_t* end, Napi::Array objects);
  bool ReadTogether(Run& run, const int32_t** at, const int32_t* end);
  bool ReadOne(Napi::Env env, Run& run, const int32_t** at, const int32_t* end, Napi::Array objects,
               bool final);
  bool ReadEnd(Run& run, const int32_t** at, const int32_t* end);
  bool ReadAgain(Run& run, const int32_t** at, const int32_t* end);
  bool ReadParameters(Run& run, const int32_t** at, const int32_t* end);
  bool ReadError(Run& run, const int32_t** at, const int32_t* end, Napi::Array objects);
  // Declares output `words` of a request with the shape `shape_`. Returns the error if that fails.
  Status Declare(Napi::Env env, Run& run, uint32_t request, const int32_t* words, size_t size,
                 int32_t place, Napi::Array objects);
  // Takes the next batch, after a spin if that is worthwhile.
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
  Napi::ObjectReference self_;  // set until it is detached
  Memory words_;
  Memory bytes_;
  size_t needs_words_ = 0;
  size_t needs_bytes_ = 0;
  uint32_t entered_ = 0;        // a batch that waits for larger memory
  Run* entered_run_ = nullptr;  // null: none
  std::vector<int64_t> shape_;
  uint32_t cores_ = 0;
  SpinPolicy spin_;
  Spin spun_ = Spin::kNone;        // the result of this wait's spin
  uint64_t waiting_since_ns_ = 0;  // 0: not waiting
  bool detached_ = false;
};

}  // namespace tritonts
