// The C API used by many threads at once, in any order that its rules allow, and in some that they
// refuse.
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "c_api_fixture.h"

namespace tritonts::test {

namespace {

// A request, with what must hold for it: as many final responses and releases as submissions.
struct StormRequest {
  tritonts_request* handle = nullptr;
  std::atomic<uint64_t> submitted{0};
  std::atomic<uint64_t> finals{0};
  std::atomic<uint64_t> released{0};
  std::atomic<uint32_t> again{0};  // how often its release submits it again
  std::mutex* keeping = nullptr;
  std::vector<tritonts_response*>* kept = nullptr;
  float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float place[8] = {};

  static void OnResponse(tritonts_request*, tritonts_response* response, uint32_t flags,
                         void* user) {
    auto* const self = static_cast<StormRequest*>(user);
    // In flight, so this has no effect.
    CHECK(Contains(TextOf(Api().request_delete(self->handle)), "in flight"));
    if ((flags & TRITONTS_RESPONSE_FINAL) != 0) self->finals++;
    if (!response) return;
    if (reinterpret_cast<uintptr_t>(response) / 64 % 3 != 0) {
      return Api().response_delete(response);
    }
    const std::lock_guard lock(*self->keeping);
    self->kept->push_back(response);
  }
  static void OnRelease(tritonts_request* request, uint32_t, void* user) {
    auto* const self = static_cast<StormRequest*>(user);
    if (self->again == 0) {
      self->released++;
      return;
    }
    // Claimed first, so that it is never quiet meanwhile.
    self->submitted++;
    self->again--;
    self->released++;
    self->Send(request);
  }
  void Submit(tritonts_request* request) {
    submitted++;
    Send(request);
  }
  void Send(tritonts_request* request) {
    if (tritonts_error* const error = Api().submit(&request, 1, nullptr)) {
      Api().error_delete(error);
      again = 0;
      submitted--;
    }
  }
  bool quiet() const { return again == 0 && released == submitted; }
};

class Storm {
 public:
  static constexpr size_t kRequests = 24;

  Storm(ApiBench* bench, uint32_t seed) : bench_(bench), random_(seed) {
    for (size_t i = 0; i < kRequests; i++) {
      StormRequest& one = requests_.emplace_back();
      one.keeping = &mutex_;
      one.kept = &kept_;
      CHECK_API(Api().request_new(bench->model, &one.handle));
      CHECK_API(Api().request_set_callbacks(one.handle, StormRequest::OnResponse,
                                            StormRequest::OnRelease, &one));
    }
  }

  // Does something.
  void Step() {
    StormRequest& one = Pick();
    const size_t what = Number(9);
    // Only its cancellation is allowed while it is in flight, and what is refused.
    if (!one.quiet() && what != 3 && what != 5 && what != 6) return;
    switch (what) {
      case 0:
      case 1: {
        const auto rows = static_cast<int64_t>(Number(10)) - 1;  // -1 to 8
        const int64_t dims[] = {rows, 1};
        Ignore(Api().request_set_input(one.handle, "x", TRITONTS_FP32, dims, Number(8) ? 2 : 0,
                                       one.values,
                                       static_cast<size_t>(std::max<int64_t>(0, rows)) * 4));
        break;
      }
      case 2: {
        Api().request_remove_outputs(one.handle);
        if (Number(2)) Ignore(Api().request_set_output(one.handle, "y", one.place, 4 * Number(9)));
        break;
      }
      case 3:
        Api().request_cancel(one.handle);
        break;
      case 4: {
        one.submitted++;
        one.again = static_cast<uint32_t>(Number(4));
        one.Send(one.handle);
        break;
      }
      case 5: {
        // Some may be in flight, or the same.
        tritonts_request* all[6];
        StormRequest* of[6];
        for (size_t i = 0; i < 6; i++) {
          of[i] = &Pick();
          all[i] = of[i]->handle;
          of[i]->submitted++;
        }
        size_t accepted = 0;
        Ignore(Api().submit(all, 6, &accepted));
        for (size_t i = accepted; i < 6; i++) of[i]->submitted--;
        break;
      }
      case 6: {
        std::vector<tritonts_response*> kept;
        {
          const std::lock_guard lock(mutex_);
          kept.swap(kept_);
        }
        for (tritonts_response* response : kept) Api().response_delete(response);
        break;
      }
      case 7:
        Api().request_remove_inputs(one.handle);
        break;
      default:
        Ignore(Api().request_set_timeout(one.handle, Number(2) ? UINT64_MAX : 1));
        break;
    }
  }
  StormRequest& Pick() { return requests_[Number(kRequests)]; }
  void Cancel(size_t index) { Api().request_cancel(requests_[index].handle); }
  // Returns how many submissions were accepted.
  uint64_t End() {
    uint64_t accepted = 0;
    for (StormRequest& one : requests_) {
      CHECK(Eventually([&] { return one.quiet(); }));
      accepted += one.submitted;
      CHECK_EQ(one.finals.load(), one.submitted.load());
      CHECK_API(Api().request_delete(one.handle));
    }
    for (tritonts_response* response : kept_) Api().response_delete(response);
    return accepted;
  }

 private:
  static void Ignore(tritonts_error* error) { Api().error_delete(error); }
  size_t Number(size_t below) { return random_() % below; }

  ApiBench* const bench_;
  std::minstd_rand random_;
  std::deque<StormRequest> requests_;
  std::mutex mutex_;  // guards kept_
  std::vector<tritonts_response*> kept_;
};

}  // namespace

TEST(c_api_ends_each_submission_once_whatever_many_threads_do) {
  for (uint32_t seed = 1; seed <= 6; seed++) {
    ApiBench bench;
    Script script;
    std::atomic<uint32_t> batches{0};
    script.execute = [&batches](uint32_t, Run& run) {
      if (batches++ % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
      for (uint32_t i = 0; i < run.requests().size(); i++) {
        const Request& request = *run.requests()[i];
        const InputTensor& input = *request.input(0);
        auto place = run.Output(i, 0, DataType::kFp32, {input.shape.data(), input.shape.size()});
        if (place.ok()) {
          char* at = static_cast<char*>(place.value().data);
          for (size_t k = 0; k < request.chunks(input); k++) {
            const Buffer chunk = request.chunk(input, k);
            if (chunk.size > 0) std::memcpy(at, chunk.data, chunk.size);
            at += chunk.size;
          }
        }
      }
      run.RespondAll(Status::Ok());
    };
    bench.Open(script, ConfigOf(FloatIo(), 2, Dynamic(8)));
    std::deque<Storm> storms;
    for (uint32_t i = 0; i < 4; i++) storms.emplace_back(&bench, seed * 100 + i);
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (Storm& storm : storms) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10000; i++) storm.Step();
      });
    }
    // Cancels what others send.
    std::thread cancels([&] {
      std::minstd_rand random(seed);
      while (!over) {
        storms[random() % storms.size()].Cancel(random() % Storm::kRequests);
      }
    });
    if (seed % 2 == 0) {
      CHECK(Eventually([&] { return batches >= 10; }));
      if (seed % 4 == 0) Api().model_delete(std::exchange(bench.model, nullptr));
      CHECK_EQ(bench.Detach(), "");
    }
    for (std::thread& thread : threads) thread.join();
    over = true;
    cancels.join();
    uint64_t accepted = 0;
    for (Storm& storm : storms) accepted += storm.End();
    CHECK(accepted >= 10);
  }
}

}  // namespace tritonts::test
