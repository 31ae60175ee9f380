// A port's refusals: malformed submissions, and requests beyond the limit of bytes in flight.
#include "port_fixture.h"

namespace tritonts::test {

// --- Malformed submissions.

namespace {

struct Fault {
  const char* what;            // the end of the message
  std::vector<int32_t> words;  // after the uid
  bool other_uid = false;
};

// The version has one input with a batch dimension. The port has one slab, and block 0 of 8192
// bytes. Slot 0 is in use.
const std::vector<Fault>& Faults() {
  constexpr int32_t kBlock = layout::kBlock;
  constexpr int32_t kSlab = layout::kSlab;
  constexpr int32_t kSize = layout::kSlabBytes;
  static const std::vector<Fault> faults = {
      {"truncated record", {1, 1, 1, 0, 0}},
      {"unknown model version", {1, 1, 1, 0, 0, 1}, true},
      {"slot number above the limit", {1 << 24, 1, 1, 0, 0, 1}},
      {"slot number above the limit", {-1, 1, 1, 0, 0, 1}},
      {"slot already in use", {0, 9, 1, 0, 0, 1}},
      {"truncated input", {1, 1, 1, 1, 0, 1, 0, kSlab, 0, 0, 4}},
      {"truncated input", {1, 1, 1, 0xffff, 0, 1, 0, kSlab, 0, 0, 4, 1, 1}},
      {"truncated target", {1, 1, 1, 0x10000, 0, 1, 0, 0, 0, 0, 0}},
      {"truncated target", {1, 1, 1, -1, 0, 1, 0, kSlab, 0, 0, 4, 1, 1}},
      {"truncated shape", {1, 1, 1, 1, 0, 1, 0, kSlab, 0, 0, 4, 2, 1}},
      {"truncated shape", {1, 1, 1, 1, 0, 1, 0, kSlab, 0, 0, 4, -1, 1}},
      {"unknown input", {1, 1, 1, 1, 0, 1, 1, kSlab, 0, 0, 4, 1, 1}},
      {"unknown input", {1, 1, 1, 1, 0, 1, 0x10000, kSlab, 0, 0, 4, 1, 1}},
      {"unknown input", {1, 1, 1, 1, 0, 1, -1, kSlab, 0, 0, 4, 1, 1}},
      {"shape without a batch dimension", {1, 1, 1, 1, 0, 1, 0, kSlab, 0, 0, 4, 0}},
      {"input range outside its slab", {1, 1, 1, 1, 0, 1, 0, kSlab, 1, 0, 4, 1, 1}},
      {"input range outside its slab", {1, 1, 1, 1, 0, 1, 0, kSlab, -1, 0, 4, 1, 1}},
      {"input range outside its slab", {1, 1, 1, 1, 0, 1, 0, kSlab, 0, kSize - 3, 4, 1, 1}},
      {"input range outside its slab", {1, 1, 1, 1, 0, 1, 0, kSlab, 0, kSize + 1, 0, 1, 1}},
      {"input range outside its slab", {1, 1, 1, 1, 0, 1, 0, kSlab, 0, 64, -64, 1, 1}},
      {"input range outside its slab", {1, 1, 2, 1, 0, 1, 0, kSlab, 0, kSize - 4, 4, 1, 1}},
      {"unknown block", {1, 1, 1, 1, 0, 1, 0, kBlock, 1, 0, 4, 1, 1}},
      {"unknown block", {1, 1, 1, 1, 0, 1, 0, kBlock, -1, 0, 4, 1, 1}},
      {"one block for several requests", {1, 1, 2, 1, 0, 1, 0, kBlock, 0, 0, 4, 1, 1}},
      {"block smaller than its input", {1, 1, 1, 1, 0, 1, 0, kBlock, 0, 0, 8193, 1, 1}},
      {"block smaller than its input", {1, 1, 1, 1, 0, 1, 0, kBlock, 0, 1, 4, 1, 1}},
      {"unknown input source", {1, 1, 1, 1, 0, 1, 0, 3, 0, 0, 4, 1, 1}},
      {"unknown input source", {1, 1, 1, 1, 0, 1, 0, -1, 0, 0, 4, 1, 1}},
      {"expected 1 to 65536 requests in a group", {1, 1, 0, 0, 0, 1}},
      {"expected 1 to 65536 requests in a group", {1, 1, -1, 0, 0, 1}},
      {"truncated record", {1, 1, 1, 0, 2, 1, 0}},
      {"truncated record", {1, 1, 1, 0, -1, 1, 0}},
  };
  return faults;
}

}  // namespace

TEST(port_refuses_each_submission_that_makes_no_sense_and_takes_nothing_of_it) {
  PortBench bench;
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  bench.Write({1});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  uint32_t block = 0;
  CHECK(bench.client.port().inputs().Stage(8192, &block) != nullptr);
  CHECK_EQ(block, 0u);
  const auto uid = static_cast<int32_t>(bench.uid);
  int32_t slot = 10;
  for (const Fault& fault : Faults()) {
    // A good request comes first, in a slot of its own.
    std::vector<int32_t> words = {uid, slot++, 1, 1, 0, 0, 1};
    words.push_back(fault.other_uid ? uid + 1000 : uid);
    // Each submission has a new generation, as from JavaScript.
    std::vector<int32_t> rest = fault.words;
    rest[1] = slot;
    words.insert(words.end(), rest.begin(), rest.end());
    const Status status = bench.client.Submit(words);
    CHECK(status.code() == Code::kInternal);
    CHECK_EQ(status.message(), std::string("malformed submission: ") + fault.what);
  }
  bench.runs->Open();
  // Only the first request was accepted, and all slots named by others are free.
  bench.client.Take(1);
  slot = 10;
  std::vector<int32_t> words = {uid, 1, 1'000'000, 1, 0, 0, 1};
  for (size_t i = 0; i < Faults().size(); i++) {
    words.insert(words.end(), {uid, slot++, 2, 1, 0, 0, 1});
  }
  CHECK(bench.client.Submit(words).ok());
  CHECK(bench.runs->Started(2));
  CHECK(Eventually([&] { return bench.statistics().success.count == Faults().size() + 2; }));
}

TEST(port_refuses_a_slot_that_is_named_twice_in_a_submission) {
  PortBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  const auto uid = static_cast<int32_t>(bench.uid);
  const Status status = bench.client.Submit({uid, 0, 1, 1, 0, 0, 1, uid, 0, 2, 1, 0, 0, 1});
  CHECK_EQ(status.message(), "malformed submission: slot already in use");
}

TEST(port_forgets_a_block_that_is_not_sent) {
  PortBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  uint32_t one = 0;
  uint32_t two = 0;
  CHECK(bench.client.port().inputs().Stage(10'000, &one) != nullptr);
  bench.client.port().inputs().Unstage(one);
  bench.client.port().inputs().Unstage(one);
  bench.client.port().inputs().Unstage(77);
  CHECK(bench.client.port().inputs().Stage(10'000, &two) != nullptr);
  CHECK_EQ(one, two);
  const auto uid = static_cast<int32_t>(bench.uid);
  bench.client.port().inputs().Unstage(two);
  const Status status = bench.client.Submit(
      {uid, 0, 1, 1, 1, 0, 1, 0, layout::kBlock, static_cast<int32_t>(two), 0, 4, 2, 1, 1});
  CHECK_EQ(status.message(), "malformed submission: unknown block");
}

// --- Bytes in flight.

TEST(port_refuses_what_is_too_much_in_flight_for_now) {
  PortBench bench(false, 1000);
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(200), 1, {200, {}, 0}));
  const std::vector<float> rows(50);  // a range of 256 bytes, and 200 bytes of outputs
  const uint32_t first = bench.Write(rows);
  const uint32_t second = bench.Write(rows);
  const uint32_t third = bench.Write(rows);
  auto responses = bench.client.Take(1);
  CHECK_EQ(responses[0].slot, third);
  CHECK(responses[0].code == Code::kUnavailable);
  CHECK(responses[0].limited);
  CHECK_EQ(bench.server.server().in_flight_bytes(), 912u);
  bench.runs->Open();
  responses = bench.client.Take(2);
  CHECK(ResponseOf(first, responses).code == Code::kOk);
  CHECK(ResponseOf(second, responses).code == Code::kOk);
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
  bench.Write(rows);
  CHECK(bench.client.Take(1)[0].code == Code::kOk);
}

TEST(port_refuses_for_good_a_request_that_is_beyond_the_limit_alone) {
  PortBench bench(false, 1000);
  bench.ServeIdentity(ConfigOf(FloatIo(200)));
  const uint32_t large = bench.Write(std::vector<float>(200));
  const uint32_t small = bench.Write({1});
  const auto responses = bench.client.Take(2);
  CHECK(ResponseOf(large, responses).code == Code::kInvalidArg);
  CHECK(!ResponseOf(large, responses).limited);
  CHECK(ResponseOf(small, responses).code == Code::kOk);
}

}  // namespace tritonts::test
