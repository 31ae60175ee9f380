// How senders build requests, and which requests are admitted.
#include "engine/request/request_builder.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/request/admission.h"
#include "engine/request/budget.h"
#include "engine_fixture.h"

namespace tritonts::test {

namespace {

// An executor that only records its calls.
class NotingExecutor final : public Executor {
 public:
  const std::string& name() const override { return name_; }
  const ModelIo& io() const override { return io_; }
  uint64_t KnownOutputBytes(uint64_t) const override { return 0; }
  void SetQueueKeys(RequestHeader* header) const override {
    header->level = header->priority + 100;
  }
  std::shared_ptr<CallPlaces> call_places() const override { return places; }
  void Submit(std::span<Request* const>, uint64_t, InlineTime*) noexcept override {}
  void Cancel(std::span<Request* const>) noexcept override {}

  std::shared_ptr<CallPlaces> places;

 private:
  const std::string name_ = "m";
  const ModelIo io_;
};

const Status kNoMemory = Status::Unavailable(Reason::kNoMemory, "no memory");

// Requests with a header each, which are charged these bytes.
std::vector<Request*> Accounted(Requests* requests, const std::vector<uint64_t>& bytes) {
  std::vector<Request*> all;
  for (const uint64_t one : bytes) {
    Request* const request = requests->Add();
    request->header->accounted_bytes = one;
    request->Prepare();
    all.push_back(request);
  }
  return all;
}

}  // namespace

TEST(a_builder_leaves_nothing_of_the_last_use_of_a_header) {
  NotingExecutor executor;
  RecordingSink sink;
  BlockPool pool(0);
  RequestHeader header;
  BlockRef block = pool.Acquire(64);
  CHECK(block);
  auto outer = std::make_shared<CallPlaces>("caller");
  outer->Add(1);
  const auto caller = CallGraph::Get().Begin(outer, {});
  {
    RequestBuilder builder({&header, &sink, &executor, 5, 6});
    InputTensor& input = builder.AddInput(3, DataType::kFp32);
    input.shape.push_back(16);
    builder.Keep(&input, block, 60);
    builder.SetRows(4);
    builder.Want(2);
    builder.SetAttributes(7, 8, 1);
    builder.AddParameter("name", int64_t{9});
    builder.CallBy(CallGraph::Get().Name(caller, 0), "m");
    builder.Finish();
  }
  CHECK_EQ(header.inputs()[0].byte_size(), 60u);
  CHECK(header.inputs()[0].first_chunks[0].owner);
  CHECK_EQ(header.level, 107u);
  CHECK_EQ(header.timeout_ns, 8000u);
  CHECK(header.call);
  NotingExecutor other;
  RequestBuilder builder({&header, &sink, &other, 15, 16, 2});
  CHECK(header.executor == &other);
  CHECK_EQ(header.arrival_ns, 15u);
  CHECK_EQ(header.flush, 16u);
  CHECK_EQ(header.requests, 2u);
  CHECK_EQ(header.batch_size, 1u);
  CHECK_EQ(header.priority, 0u);
  CHECK_EQ(header.timeout_ns, 0u);
  CHECK(header.parameters.empty());
  CHECK(header.wanted.empty());
  CHECK(!header.call);
  CHECK(header.inputs().empty());
  InputTensor& again = builder.AddInput(1, DataType::kInt8);
  CHECK(again.shape.empty());
  CHECK(again.first_chunks.empty());
  char bytes[4] = {};
  builder.Lend(&again, bytes, 2);
  CHECK(!again.first_chunks[0].owner);
  builder.SetRows(0);
  CHECK_EQ(header.batch_size, 1u);
  builder.Finish();
  CHECK_EQ(header.level, 100u);
  caller->End();
}

TEST(a_builder_takes_a_timeout_beyond_all_nanoseconds_as_the_longest_one) {
  NotingExecutor executor;
  RecordingSink sink;
  RequestHeader header;
  RequestBuilder builder({&header, &sink, &executor});
  builder.SetAttributes(0, UINT64_MAX);
  CHECK_EQ(header.timeout_ns, UINT64_MAX / 1000 * 1000);
}

TEST(a_request_that_serves_another_one_says_the_same) {
  NotingExecutor executor;
  RecordingSink sink;
  auto places = std::make_shared<CallPlaces>("caller");
  places->Add(1);
  const auto caller = CallGraph::Get().Begin(places, {});
  RequestHeader outer;
  outer.flush = 4;
  outer.priority = 2;
  outer.timeout_ns = 3;
  outer.parameters.push_back({"name", std::string("value")});
  outer.call = Call::Make(CallGraph::Get().Name(caller, 0), "e");
  outer.requests = 3;
  outer.AddMarks();
  outer.marks()[1].id.number = 8;
  outer.marks()[2].id.text = "id";
  outer.marks()[2].end = true;
  Request second;
  second.header = &outer;
  second.position = 1;
  outer.marks()[1].place = reinterpret_cast<Sequence*>(&second);
  RequestHeader header;
  RequestBuilder builder({&header, &sink, &executor, 5, 0, 2, &second});
  builder.Finish();
  CHECK_EQ(header.flush, 4u);
  CHECK_EQ(header.priority, 2u);
  CHECK_EQ(header.timeout_ns, 3u);
  CHECK_EQ(header.parameters.size(), 1u);
  CHECK_EQ(header.level, 102u);
  CHECK(header.call && header.call != outer.call);
  CHECK_EQ(header.marks().size(), 2u);
  CHECK_EQ(header.marks()[0].id.number, 8u);
  CHECK(!header.marks()[0].place);
  CHECK_EQ(header.marks()[1].id.text, "id");
  CHECK(header.marks()[1].end && !header.marks()[0].end);
  RequestBuilder next({&header, &sink, &executor});
  CHECK(header.marks().empty());
  caller->End();
}

TEST(a_budget_admits_in_order_what_fits_and_says_why_it_refuses_the_rest) {
  NotingExecutor executor;
  RecordingSink sink;
  Requests requests(&sink);
  Budget budget(100);
  // 200 never fits; the second 60 and the 50 do not fit now.
  std::vector<Request*> all = Accounted(&requests, {60, 200, 60, 50, 40});
  const size_t left = Admission(executor, kNoMemory).Charge(&budget, all);
  CHECK_EQ(left, 2u);
  CHECK_EQ(all[0]->header->slot, 0u);
  CHECK_EQ(all[1]->header->slot, 4u);
  CHECK(all[0]->charged && all[1]->charged);
  CHECK_EQ(budget.used(), 100u);
  CHECK_EQ(sink.responses().size(), 3u);
  CHECK(sink.Of(1).status.code() == Code::kInvalidArg);
  for (const uint32_t slot : {2u, 3u}) {
    CHECK(sink.Of(slot).status.code() == Code::kUnavailable);
    CHECK(sink.Of(slot).status.message().find("model 'm': too much in flight") == 0);
  }
  CHECK(sink.Of(2).status.message().find("of 60 bytes") != std::string::npos);
  CHECK(sink.Of(3).status.message().find("of 50 bytes") != std::string::npos);
}

TEST(a_call_that_could_wait_for_itself_is_refused_and_others_are_admitted) {
  RecordingSink sink;
  Requests requests(&sink);
  NotingExecutor executor;
  executor.places = std::make_shared<CallPlaces>("m");
  executor.places->Add(1);
  const auto caller = CallGraph::Get().Begin(executor.places, {});
  Request* const free = requests.Add();
  Request* const bound = requests.Add();
  Request* const last = requests.Add();
  bound->header->call = Call::Make(CallGraph::Get().Name(caller, 0), "m");
  std::vector<Request*> all{free, bound, last};
  for (Request* request : all) request->Prepare();
  const size_t left = Admission(executor, kNoMemory).AdmitCalls(all);
  CHECK_EQ(left, 2u);
  CHECK(all[0] == free);
  CHECK(all[1] == last);
  CHECK_EQ(sink.responses().size(), 1u);
  CHECK(!sink.Of(1).status.ok());
  CHECK(bound->state() == Request::State::kIdle);
  CHECK(free->state() == Request::State::kSubmitted);
  bound->header->call.reset();
  caller->End();
}

}  // namespace tritonts::test
