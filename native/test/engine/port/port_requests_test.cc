// A port's requests: cancelled by the thousand, or refused as unserved and submitted again; and the
// memory left after a burst.
#include "port_fixture.h"

namespace tritonts::test {

namespace {

std::vector<int32_t> CancelWords(const PortClient& client, const std::vector<uint32_t>& slots) {
  std::vector<int32_t> words;
  for (const uint32_t slot : slots) {
    words.insert(words.end(), {static_cast<int32_t>(slot % PortClient::kPosition),
                               static_cast<int32_t>(client.generation(slot)),
                               static_cast<int32_t>(slot / PortClient::kPosition), 1});
  }
  return words;
}

}  // namespace

// --- Cancelling many.

TEST(port_cancels_many_requests_of_several_versions_at_once) {
  PortBench bench;
  bench.client.WriteGroups();
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {1, {}, 0}));
  const uint32_t other = bench.server.Serve(bench.scripted.get(), ConfigOf(FloatIo()));
  std::vector<uint32_t> slots;
  for (int i = 0; i < 100; i++) slots.push_back(bench.Write({1}));
  for (int i = 0; i < 100; i++) slots.push_back(bench.client.Write(other, 1, {FloatsInput({1})}));
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(2));
  std::vector<int32_t> words = CancelWords(bench.client, slots);
  // Records with a wrong generation, slot or request, and a truncated one.
  words.insert(words.end(), {0, 77, 0, 1, 1 << 22, 1, 0, 1, 0, 1, 1 << 30, 1, 0, 1});
  bench.client.port().CancelMany(words.data(), words.size());
  bench.runs->Open();
  const auto responses = bench.client.Take(200);
  for (const PortResponse& response : responses) CHECK(response.code == Code::kCancelled);
  CHECK(Eventually([&] {
    return bench.statistics().cancelled == 100 &&
           bench.server.server().FindVersion(other)->statistics().cancelled == 100;
  }));
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(port_tells_of_neighbours_that_were_cancelled_in_one_record) {
  PortBench bench;
  bench.client.WriteGroups();
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {1, {}, 0}));
  const uint32_t first = bench.client.Write(bench.uid, 1, {FloatsInput({1})}, {0});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  std::vector<uint32_t> slots;
  for (int i = 0; i < 60; i++) slots.push_back(bench.Write({1}));
  CHECK(bench.client.Flush().ok());
  const std::vector<int32_t> words = CancelWords(bench.client, slots);
  bench.client.port().CancelMany(words.data(), words.size());
  const auto pages = TakePages(bench.client.port());
  CHECK_EQ(pages.size(), 1u);
  CHECK_EQ(pages[0]->finals, 60u);
  CHECK_EQ(pages[0]->words, 7u);
  bench.client.port().Recycle(pages[0]);
  bench.runs->Open();
  CHECK_EQ(bench.client.Take(1)[0].slot, first);
}

// --- Unserved requests.

TEST(port_sends_a_request_again_that_a_version_did_not_serve_with_the_block_it_has) {
  for (const bool gone : {false, true}) {
    PortBench bench;
    bench.ServeIdentity(ConfigOf(Vectors()));
    const uint32_t next = bench.server.Serve(&bench.identity, ConfigOf(Vectors()));
    // The port has cached the first version.
    bench.client.Write(bench.uid, 0, {{0, {1}, "abcd"}});
    bench.client.Take(1);
    const auto old = bench.server.server().FindVersion(bench.uid);
    if (gone) {
      Event retired;
      bench.server.server().Retire(bench.uid, [&](bool) { retired.Set(); });
      CHECK(Eventually([&] {
        bench.client.Take();
        return retired.set();
      }));
    } else {
      old->Close();
    }
    uint32_t id = 0;
    constexpr int32_t kFloats = 30'000;
    const std::string bytes = std::string(size_t{kFloats} * 4, 'b');
    Block* block = bench.client.port().inputs().Stage(bytes.size(), &id);
    std::memcpy(block->data(), bytes.data(), bytes.size());
    const auto words = [&](uint32_t uid, int32_t generation) {
      return std::vector<int32_t>{
          static_cast<int32_t>(uid), 5, generation,  1, 1,      0, 0, 0, layout::kBlock,
          static_cast<int32_t>(id),  0, kFloats * 4, 1, kFloats};
    };
    const auto response = [&] {
      std::vector<PortResponse> responses;
      CHECK(Eventually([&] {
        for (CompletionPage* page : TakePages(bench.client.port())) {
          ReadPage(*page, &responses);
          bench.client.port().Recycle(page);
        }
        return !responses.empty();
      }));
      return responses.front();
    };
    CHECK(bench.client.Submit(words(bench.uid, 1), true).ok());
    const PortResponse refused = response();
    CHECK(refused.code == Code::kUnavailable);
    CHECK(refused.unserved);
    CHECK(refused.final);
    CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
    CHECK(bench.client.Submit(words(next, 2)).ok());
    const PortResponse served = response();
    CHECK(served.code == Code::kOk);
    CHECK(!served.unserved);
    CHECK_EQ(served.generation, 2u);
    CHECK(served.outputs[0].bytes == bytes);
    // The block is no longer staged.
    CHECK_EQ(bench.client.Submit(words(next, 3)).message(), "malformed submission: unknown block");
  }
}

TEST(port_lets_go_of_the_block_of_a_request_that_is_refused_for_another_reason) {
  PortBench bench(false, 1000);
  bench.ServeIdentity(ConfigOf(Vectors()));
  bench.client.Write(bench.uid, 0, {{0, {5000}, std::string(20'000, 'x')}});
  const auto responses = bench.client.Take(1);
  CHECK(responses[0].code == Code::kInvalidArg);
  CHECK(!responses[0].unserved);
  uint32_t id = 77;
  CHECK(bench.client.port().inputs().Stage(20'000, &id) != nullptr);
  CHECK_EQ(id, 0u);
}

TEST(port_keeps_blocks_staged_where_it_took_nothing_of_a_submission) {
  PortBench bench;
  bench.ServeIdentity(ConfigOf(Vectors()));
  const auto uid = static_cast<int32_t>(bench.uid);
  uint32_t id = 0;
  CHECK(bench.client.port().inputs().Stage(20'000, &id) != nullptr);
  const std::vector<int32_t> good = {uid, 0, 1, 1, 1, 0, 0, 0, layout::kBlock, 0, 0, 4, 1, 1};
  std::vector<int32_t> words = good;
  words.push_back(uid);
  CHECK_EQ(bench.client.Submit(words).message(), "malformed submission: truncated record");
  // The same block twice is malformed, too.
  words = good;
  words.insert(words.end(), good.begin(), good.end());
  words[good.size() + 1] = 1;
  words[2] = 2;
  CHECK_EQ(bench.client.Submit(words).message(), "malformed submission: unknown block");
  words = good;
  words[2] = 3;
  CHECK(bench.client.Submit(words).ok());
  CHECK(Eventually([&] { return !TakePages(bench.client.port()).empty(); }));
}

// --- Memory.

TEST(port_gives_the_memory_of_a_burst_back) {
  PortBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  std::vector<int32_t> words;
  for (int32_t slot = 0; slot < 20; slot++) {
    words.insert(words.end(), {static_cast<int32_t>(bench.uid), slot, 1, 1000, 0, 0, 1});
  }
  CHECK(bench.client.Submit(words).ok());
  size_t answered = 0;
  CHECK(Eventually([&] {
    for (CompletionPage* page : TakePages(bench.client.port())) {
      answered += page->finals;
      bench.client.port().Recycle(page);
    }
    return answered == 20'000;
  }));
  uint32_t id = 0;
  bench.client.port().inputs().Stage(100'000, &id);
  bench.client.port().inputs().Unstage(id);
  CHECK_EQ(bench.client.port().request_capacity(), 20'000u);
  CHECK(bench.client.port().inputs().idle_bytes() > 0);
  bench.client.port().Shrink();
  CHECK(bench.client.port().request_capacity() <= 1024);
  CHECK_EQ(bench.client.port().inputs().idle_bytes(), 0u);
  // The port still works.
  bench.client.Write(bench.uid, 1, {FloatsInput({4})});
  bench.client.words()[2] = 2;
  CHECK(bench.client.Take(1)[0].code == Code::kOk);
}

TEST(port_keeps_the_requests_that_are_in_flight_when_it_gives_memory_back) {
  PortBench bench;
  bench.client.WriteGroups();
  bench.runs->Shut();
  bench.ServeRuns(ConfigOf(FloatIo(), 1, {8, {}, 0}));
  for (int i = 0; i < 3000; i++) bench.Write({1});
  CHECK(bench.client.Flush().ok());
  bench.client.port().Shrink();
  CHECK(bench.client.port().request_capacity() >= 3000);
  bench.runs->Open();
  for (const PortResponse& response : bench.client.Take(3000)) CHECK(response.code == Code::kOk);
}

TEST(port_uses_the_numbers_of_dropped_slabs_again) {
  PortBench bench;
  InputMemory& inputs = bench.client.port().inputs();
  for (int i = 0; i < 3; i++) CHECK(inputs.AddSlab() != nullptr);
  const Block* last = inputs.slab(2);
  inputs.DropSlab(1);
  inputs.DropSlab(7);
  CHECK(inputs.slab(1) == nullptr);
  CHECK(inputs.slab(2) == last);
  Block* added = inputs.AddSlab();
  CHECK(inputs.slab(1) == added);
  CHECK_EQ(inputs.slabs(), 3u);
  inputs.DropSlab(1);
  bench.ServeIdentity(ConfigOf(FloatIo()));
  const auto uid = static_cast<int32_t>(bench.uid);
  CHECK_EQ(
      bench.client.Submit({uid, 0, 1, 1, 1, 0, 1, 0, layout::kSlab, 1, 0, 4, 2, 1, 1}).message(),
      "malformed submission: input range outside its slab");
}

}  // namespace tritonts::test
