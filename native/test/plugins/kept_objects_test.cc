// What a plug-in has for longer than the call that it got it from: inputs, outputs, responses,
// factories. The plug-in `hooked` leaves the requests of its batches to the test.
#include <atomic>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "platform/dynamic_library.h"
#include "plugin_fixture.h"
#include "plugin_server_fixture.h"

namespace tritonts::test {

namespace {

using Batched = std::vector<TRITONBACKEND_Request*>;
using OnBatch = std::function<TRITONSERVER_Error*(const Batched& requests)>;

constexpr uint32_t kLast = TRITONSERVER_RESPONSE_COMPLETE_FINAL;
constexpr int64_t kOneFloat[] = {1, 1};

constexpr const char* kDecoupled = R"(,"model_transaction_policy":{"decoupled":true})";

// Input x, optional input z, output y.
VersionConfig HookedConfig(bool decoupled) {
  ModelIo io = FloatIo();
  io.inputs[0].dims = io.outputs[0].dims = {-1, -1};
  io.inputs.push_back({"z", DataType::kFp32, {-1, -1}, true});
  VersionConfig config = ConfigOf(io, 1, Dynamic(8));
  config.decoupled = decoupled;
  return config;
}

// A version whose batches a test has.
class HookedVersion : public PluginVersion {
 public:
  explicit HookedVersion(bool decoupled = false)
      : PluginVersion("hooked", HookedConfig(decoupled),
                      PluginConfig({}, decoupled ? kDecoupled : "")) {
    const auto library = platform::DynamicLibrary::Open(std::string(TRITONTS_FAKES) +
                                                        "/plugins/hooked/libtriton_hooked.so");
    CHECK(library.has_value());
    hook_ = static_cast<Hook*>(library->Symbol("hooked_execute"));
    CHECK(hook_ != nullptr);
    *hook_ = Execute;
    version_of_hook = this;
  }
  ~HookedVersion() {
    // Its thread may be in `on_batch` after the response.
    if (!over()) End();
    *hook_ = nullptr;
  }

  // Ends the version, and with it the instance.
  void End() {
    version().Close();
    CHECK(Eventually([this] { return version().drained(); }));
    Destroy();
  }

  OnBatch on_batch;  // set while no batch runs

 private:
  using Hook = TRITONSERVER_Error* (*)(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request**,
                                       uint32_t);
  static TRITONSERVER_Error* Execute(TRITONBACKEND_ModelInstance*, TRITONBACKEND_Request** requests,
                                     uint32_t count) {
    return version_of_hook->on_batch({requests, requests + count});
  }
  static inline HookedVersion* version_of_hook = nullptr;
  Hook* hook_ = nullptr;
};

TRITONBACKEND_Response* NewResponse(TRITONBACKEND_Request* request) {
  TRITONBACKEND_Response* response = nullptr;
  CHECK_TRITON(Triton().TRITONBACKEND_ResponseNew(&response, request));
  return response;
}

// Adds output y to a response.
TRITONBACKEND_Output* NewOutput(TRITONBACKEND_Response* response) {
  TRITONBACKEND_Output* output = nullptr;
  CHECK_TRITON(Triton().TRITONBACKEND_ResponseOutput(response, &output, "y", TRITONSERVER_TYPE_FP32,
                                                     kOneFloat, 2));
  return output;
}

// Asks for the buffer of an output. What the call says; "": it has given one.
std::string AskForBuffer(TRITONBACKEND_Output* output, void** place = nullptr) {
  void* unused = nullptr;
  TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  return TextOf(Triton().TRITONBACKEND_OutputBuffer(output, place ? place : &unused, sizeof(float),
                                                    &kind, &device));
}

std::string AskForAttributes(TRITONBACKEND_Output* output) {
  TRITONSERVER_BufferAttributes* attributes = nullptr;
  return TextOf(Triton().TRITONBACKEND_OutputBufferAttributes(output, &attributes));
}

// Sends a response with this value as output y.
void SendFloat(TRITONBACKEND_Response* response, float value, uint32_t flags = kLast) {
  void* place = nullptr;
  CHECK_EQ(AskForBuffer(NewOutput(response), &place), "");
  if (place) std::memcpy(place, &value, sizeof(value));
  CHECK_TRITON(Triton().TRITONBACKEND_ResponseSend(response, flags, nullptr));
}

void ReleaseAll(TRITONBACKEND_Request* request) {
  CHECK_TRITON(Triton().TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
}

void AnswerFloat(TRITONBACKEND_Request* request, float value) {
  SendFloat(NewResponse(request), value);
  ReleaseAll(request);
}

// The shape and the first byte's address of an input; the text of an error.
std::string Describe(TRITONBACKEND_Input* input) {
  const int64_t* shape = nullptr;
  uint32_t rank = 0;
  uint64_t size = 0;
  std::string text = TextOf(Triton().TRITONBACKEND_InputProperties(input, nullptr, nullptr, &shape,
                                                                   &rank, &size, nullptr));
  if (!text.empty()) return text;
  const void* data = nullptr;
  TRITONSERVER_MemoryType kind = TRITONSERVER_MEMORY_CPU;
  int64_t device = 0;
  text = TextOf(Triton().TRITONBACKEND_InputBuffer(input, 0, &data, &size, &kind, &device));
  if (!text.empty()) return text;
  text = Show(std::vector<int64_t>(shape, shape + rank)) + ":";
  for (uint64_t i = 0; i < size / sizeof(float); i++) {
    text += " " + Show(static_cast<const float*>(data)[i]);
  }
  return text;
}

// A sink with memory of its own for output y, as a C caller or a region has.
class OwnMemorySink final : public ResponseSink {
 public:
  void Deliver(std::span<const Response> responses) override {
    std::lock_guard lock(mutex_);
    for (const Response& response : responses) {
      CHECK(response.final);
      codes_.push_back(response.status.code());
      response.request->set_state(Request::State::kIdle);
    }
  }
  Buffer Place(const Request&, uint32_t, size_t size, MemoryKind) override {
    CHECK(size <= sizeof(value));
    return {&value, size, MemoryKind::kHost, 0, {}};
  }
  std::vector<Code> codes() {
    std::lock_guard lock(mutex_);
    return codes_;
  }

  float value = 0;

 private:
  std::mutex mutex_;
  std::vector<Code> codes_;
};

}  // namespace

TEST(plugin_gets_no_buffer_after_a_final_response_nor_after_the_end_of_its_instance) {
  for (const bool decoupled : {true, false}) {
    TRITONBACKEND_ResponseFactory* factory = nullptr;
    TRITONBACKEND_Response* kept = nullptr;
    TRITONBACKEND_Output* output = nullptr;
    HookedVersion version(decoupled);
    version.on_batch = [&](const Batched& requests) {
      CHECK_TRITON(Triton().TRITONBACKEND_ResponseFactoryNew(&factory, requests[0]));
      CHECK_TRITON(Triton().TRITONBACKEND_ResponseNewFromFactory(&kept, factory));
      output = NewOutput(kept);
      SendFloat(NewResponse(requests[0]), 3);
      ReleaseAll(requests[0]);
      CHECK(Contains(AskForBuffer(output), "after the final response of its request"));
      return nullptr;
    };
    CHECK_EQ(version.Answer(version.Make(3)).outputs[0].bytes, BytesOf(Floats{3}));
    version.End();
    // The objects that the plug-in has not given back are still there.
    CHECK(Contains(AskForBuffer(output), "after the final response of its request"));
    bool cancelled = false;
    CHECK_TRITON(Triton().TRITONBACKEND_ResponseFactoryIsCancelled(factory, &cancelled));
    CHECK(cancelled);
    TRITONBACKEND_Response* late = nullptr;
    CHECK_TRITON(Triton().TRITONBACKEND_ResponseNewFromFactory(&late, factory));
    CHECK(Contains(AskForBuffer(NewOutput(late)), "after the final response of its request"));
    CHECK_TRITON(Triton().TRITONBACKEND_ResponseDelete(late));
    CHECK(Contains(TextOf(Triton().TRITONBACKEND_ResponseSend(kept, 0, nullptr)),
                   "after the final one of its request"));
    CHECK(Contains(AskForBuffer(output), "sent or deleted before"));
    CHECK(Contains(TextOf(Triton().TRITONBACKEND_ResponseFactorySendFlags(factory, kLast)),
                   "after the final response"));
    CHECK_TRITON(Triton().TRITONBACKEND_ResponseFactoryDelete(factory));
  }
}

TEST(plugin_gets_no_buffer_of_a_batch_for_a_request_that_has_ended) {
  HookedVersion version;
  // Both requests are in one batch, behind one that holds the instance.
  Event go;
  version.on_batch = [&](const Batched& requests) {
    if (requests.size() == 1) {
      CHECK(go.Wait());
      AnswerFloat(requests[0], 1);
      return nullptr;
    }
    CHECK_EQ(requests.size(), 2u);
    TRITONBACKEND_Response* const kept = NewResponse(requests[0]);
    TRITONBACKEND_Output* const output = NewOutput(kept);
    AnswerFloat(requests[0], 2);
    CHECK(Contains(AskForBuffer(output), "after the final response of its request"));
    CHECK_TRITON(Triton().TRITONBACKEND_ResponseDelete(kept));
    AnswerFloat(requests[1], 3);
    return nullptr;
  };
  Request* const first = version.Make(1);
  version.Submit({first});
  Request* const second = version.Make(2);
  Request* const third = version.Make(3);
  version.Submit({second, third});
  go.Set();
  CHECK_EQ(version.AnswerTo(first).outputs[0].bytes, BytesOf(Floats{1}));
  CHECK_EQ(version.AnswerTo(second).outputs[0].bytes, BytesOf(Floats{2}));
  CHECK_EQ(version.AnswerTo(third).outputs[0].bytes, BytesOf(Floats{3}));
}

TEST(plugin_that_keeps_an_input_reads_that_of_the_request_that_it_has_now) {
  HookedVersion version;
  TRITONBACKEND_Request* known = nullptr;
  TRITONBACKEND_Input* kept = nullptr;
  std::vector<std::string> told;
  version.on_batch = [&](const Batched& requests) {
    if (!known) {
      known = requests[0];
      CHECK_TRITON(Triton().TRITONBACKEND_RequestInput(known, "z", &kept));
    }
    // Where the object of the first request is used again.
    if (requests[0] == known) told.push_back(Describe(kept));
    AnswerFloat(requests[0], 0);
    CHECK(Contains(Describe(kept), "does not have this request any more") || requests[0] != known);
    return nullptr;
  };
  const auto send = [&](const Floats& z) {
    Request* const request = version.Make(1);
    if (!z.empty()) {
      version.requests.Input(request, 1, DataType::kFp32, {1, static_cast<int64_t>(z.size())},
                             BytesOf(z));
    }
    CHECK_EQ(version.Answer(request).status.message(), "");
  };
  const auto until = [&](size_t count, const Floats& z) {
    for (int i = 0; i < 100 && told.size() < count; i++) send(z);
    CHECK_EQ(told.size(), count);
  };
  send({1.5});
  until(2, {2.5, 3.5});
  until(3, {});
  CHECK_EQ(told.at(0), "[1, 1]: 1.5");
  CHECK_EQ(told.at(1), "[1, 2]: 2.5 3.5");
  CHECK(Contains(told.at(2), "no input at its position"));
}

TEST(plugin_that_keeps_an_output_gets_no_buffer_for_another_response) {
  HookedVersion version;
  version.on_batch = [&](const Batched& requests) {
    TRITONBACKEND_Response* const first = NewResponse(requests[0]);
    TRITONBACKEND_Output* const output = NewOutput(first);
    CHECK_TRITON(Triton().TRITONBACKEND_ResponseDelete(first));
    TRITONBACKEND_Response* const second = NewResponse(requests[0]);
    // The object is used again, and has no output yet.
    CHECK(second == first);
    CHECK(Contains(AskForBuffer(output), "sent or deleted before"));
    TRITONBACKEND_Output* const used = NewOutput(second);
    CHECK(Contains(AskForAttributes(used), "expected a call of TRITONBACKEND_OutputBuffer"));
    CHECK_EQ(AskForBuffer(used), "");
    CHECK_EQ(AskForAttributes(used), "");
    CHECK_TRITON(Triton().TRITONBACKEND_ResponseDelete(second));
    CHECK(Contains(AskForAttributes(used), "sent or deleted before"));
    // A response without outputs.
    CHECK_TRITON(Triton().TRITONBACKEND_ResponseSend(NewResponse(requests[0]), kLast, nullptr));
    ReleaseAll(requests[0]);
    return nullptr;
  };
  const SeenResponse seen = version.Answer(version.Make(1));
  CHECK_EQ(seen.status.message(), "");
  CHECK(seen.outputs.empty());
}

TEST(plugin_that_forgets_a_response_after_an_error_does_not_keep_its_version) {
  HookedVersion version;
  TRITONBACKEND_Response* forgotten = nullptr;
  void* place = nullptr;
  version.on_batch = [&](const Batched& requests) {
    forgotten = NewResponse(requests[0]);
    CHECK_EQ(AskForBuffer(NewOutput(forgotten), &place), "");
    return Triton().TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "execute has failed");
  };
  CHECK(Contains(version.Answer(version.Make(1)).status.message(), "execute has failed"));
  version.End();
  // Its buffer is its own until it is deleted.
  if (place) std::memset(place, 1, sizeof(float));
  CHECK_TRITON(Triton().TRITONBACKEND_ResponseDelete(forgotten));
}

TEST(plugin_with_an_unsent_response_in_memory_of_the_sender_keeps_that_from_being_given_back) {
  // By how the other response ends the request, and how the unsent one ends.
  for (const bool fails : {false, true}) {
    for (const bool sends : {false, true}) {
      HookedVersion version;
      OwnMemorySink own;
      TRITONBACKEND_Response* unsent = nullptr;
      void* place = nullptr;
      Event released;
      version.on_batch = [&](const Batched& requests) {
        unsent = NewResponse(requests[0]);
        CHECK_EQ(AskForBuffer(NewOutput(unsent), &place), "");
        TRITONBACKEND_Response* const sent = NewResponse(requests[0]);
        if (fails) {
          TRITONSERVER_Error* const late =
              Triton().TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "it takes too long");
          CHECK_TRITON(Triton().TRITONBACKEND_ResponseSend(sent, kLast, late));
          Triton().TRITONSERVER_ErrorDelete(late);
        } else {
          SendFloat(sent, 8);
        }
        ReleaseAll(requests[0]);
        released.Set();
        return nullptr;
      };
      Request* const request = version.Make(1);
      request->header->sink = &own;
      version.Submit({request});
      CHECK(released.Wait());
      CHECK(place == &own.value);
      // Somebody else still fills the buffer.
      CHECK(own.codes().empty());
      if (place) std::memset(place, 1, sizeof(float));
      if (sends) {
        CHECK(Contains(TextOf(Triton().TRITONBACKEND_ResponseSend(unsent, kLast, nullptr)),
                       "after the final one of its request"));
      } else {
        CHECK_TRITON(Triton().TRITONBACKEND_ResponseDelete(unsent));
      }
      CHECK(Eventually([&] { return !own.codes().empty(); }));
      CHECK_EQ(Show(own.codes()), Show(std::vector<Code>{fails ? Code::kInternal : Code::kOk}));
      version.End();
    }
  }
}

TEST(plugin_answers_on_its_own_thread_after_the_unload_has_begun) {
  for (const bool decoupled : {true, false}) {
    HookedVersion version(decoupled);
    TRITONBACKEND_Request* held = nullptr;
    Event taken;
    version.on_batch = [&](const Batched& requests) {
      held = requests[0];
      taken.Set();
      return nullptr;
    };
    Request* const request = version.Make(5);
    version.Submit({request});
    CHECK(taken.Wait());
    version.version().Close();
    CHECK(!version.version().drained());
    std::thread([held] { AnswerFloat(held, 5); }).join();
    CHECK_EQ(version.AnswerTo(request).outputs[0].bytes, BytesOf(Floats{5}));
    version.End();
  }
}

TEST(plugin_whose_version_was_abandoned_may_go_on_with_its_objects) {
  HookedVersion version;
  TRITONBACKEND_Request* held = nullptr;
  TRITONBACKEND_Response* response = nullptr;
  TRITONBACKEND_Input* input = nullptr;
  Event taken;
  version.on_batch = [&](const Batched& requests) {
    held = requests[0];
    response = NewResponse(held);
    CHECK_TRITON(Triton().TRITONBACKEND_RequestInput(held, "x", &input));
    taken.Set();
    return nullptr;
  };
  Request* const request = version.Make(6);
  version.Submit({request});
  CHECK(taken.Wait());
  version.Abandon();
  CHECK(version.AnswerTo(request).abandoned);
  CHECK_EQ(Describe(input), "[1, 1]: 6");
  // There is no buffer for it any more.
  CHECK(Contains(AskForBuffer(NewOutput(response)), "Cancelled"));
  CHECK_TRITON(Triton().TRITONBACKEND_ResponseSend(response, kLast, nullptr));
  ReleaseAll(held);
  CHECK_EQ(version.sink.AllOf(request->header->slot).size(), 1u);
}

namespace {

// Whether a request with memory of its sender has ended, and whether a plug-in may still write
// there.
struct LentFloat {
  float value = 0;
  std::atomic<bool> lent{false};
  std::atomic<int> finals{0};
};

// A sink whose requests each have memory for output y. Checks when they end.
class LendingSink final : public ResponseSink {
 public:
  explicit LendingSink(size_t requests) : floats(requests) {}
  void Deliver(std::span<const Response> responses) override {
    for (const Response& response : responses) {
      LentFloat& one = floats[response.request->header->slot];
      CHECK(response.final);
      CHECK(!one.lent);
      response.request->set_state(Request::State::kIdle);
      one.finals++;
    }
  }
  Buffer Place(const Request& request, uint32_t, size_t size, MemoryKind) override {
    return {&floats[request.header->slot].value, size, MemoryKind::kHost, 0, {}};
  }

  std::vector<LentFloat> floats;
};

// Does what a plug-in may do with a request, and some of what it may not, in an order that the seed
// decides. In the end nothing is left of the request.
void Juggle(TRITONBACKEND_Request* request, LendingSink* sink, uint32_t seed) {
  std::minstd_rand random(seed);
  const TritonFunctions& triton = Triton();
  const auto ignore = [&](TRITONSERVER_Error* error) { triton.TRITONSERVER_ErrorDelete(error); };
  struct Made {
    TRITONBACKEND_Response* response = nullptr;
    LentFloat* lent = nullptr;
  };
  std::vector<Made> responses;
  TRITONBACKEND_ResponseFactory* factory = nullptr;
  ignore(triton.TRITONBACKEND_ResponseFactoryNew(&factory, request));
  const auto take = [&] {
    const Made made = responses.back();
    responses.pop_back();
    if (made.lent) made.lent->lent = false;
    return made.response;
  };
  for (int step = 0; step < 8; step++) {
    switch (random() % 6) {
      case 0: {
        Made made;
        ignore(triton.TRITONBACKEND_ResponseNewFromFactory(&made.response, factory));
        TRITONBACKEND_Output* output = nullptr;
        ignore(triton.TRITONBACKEND_ResponseOutput(made.response, &output, "y",
                                                   TRITONSERVER_TYPE_FP32, kOneFloat, 2));
        void* place = nullptr;
        if (AskForBuffer(output, &place).empty()) {
          for (LentFloat& one : sink->floats) {
            if (place == &one.value) made.lent = &one;
          }
          // No other response has it at the time.
          if (made.lent) CHECK(!made.lent->lent.exchange(true));
          std::memset(place, 1, sizeof(float));
        }
        responses.push_back(made);
        break;
      }
      case 1:
        if (responses.empty()) break;
        ignore(triton.TRITONBACKEND_ResponseSend(take(), random() % 2 ? kLast : 0, nullptr));
        break;
      case 2:
        if (responses.empty()) break;
        ignore(triton.TRITONBACKEND_ResponseDelete(take()));
        break;
      case 3:
        ignore(triton.TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
        break;
      case 4:
        ignore(triton.TRITONBACKEND_ResponseFactorySendFlags(factory, kLast));
        break;
      default:
        if (responses.size() > 1) std::swap(responses.front(), responses.back());
        break;
    }
  }
  while (!responses.empty()) ignore(triton.TRITONBACKEND_ResponseDelete(take()));
  ignore(triton.TRITONBACKEND_RequestRelease(request, TRITONSERVER_REQUEST_RELEASE_ALL));
  ignore(triton.TRITONBACKEND_ResponseFactoryDelete(factory));
}

}  // namespace

TEST(plugin_that_juggles_with_its_objects_ends_each_request_once) {
  constexpr size_t kRequests = 1500;
  HookedVersion version;
  LendingSink sink(kRequests);
  std::atomic<uint32_t> seed{1};
  version.on_batch = [&](const Batched& requests) {
    std::vector<std::thread> threads;
    for (size_t i = 1; i < requests.size(); i++) {
      threads.emplace_back([&, request = requests[i]] { Juggle(request, &sink, seed++); });
    }
    Juggle(requests[0], &sink, seed++);
    for (std::thread& thread : threads) thread.join();
    return nullptr;
  };
  for (size_t i = 0; i < kRequests; i += 5) {
    std::vector<Request*> sent;
    for (int k = 0; k < 5; k++) {
      sent.push_back(version.Make(1));
      sent.back()->header->sink = &sink;
    }
    version.Submit(sent);
  }
  for (LentFloat& one : sink.floats) CHECK(Eventually([&] { return one.finals > 0; }));
  version.End();
  for (LentFloat& one : sink.floats) CHECK_EQ(one.finals.load(), 1);
}

}  // namespace tritonts::test
