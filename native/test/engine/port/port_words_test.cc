// Submissions and cancellations of random words: a port accepts them literally, or refuses them
// entirely.
#include <random>
#include <set>
#include <tuple>

#include "port_fixture.h"

namespace tritonts::test {

namespace {

using Words = std::vector<int32_t>;
// Identifies a request: slot, position, generation.
using Name = std::tuple<uint32_t, uint32_t, uint32_t>;

constexpr uint32_t kWordSlots = 24;
constexpr size_t kBlockBytes = 5000;

// A model with variable dims and an optional input, so that requests have shape keys.
ModelIo KeyedIo(uint32_t max_batch_size) {
  const std::vector<int64_t> dims =
      max_batch_size > 0 ? std::vector<int64_t>{-1, -1} : std::vector<int64_t>{-1};
  return {max_batch_size,
          {{"x", DataType::kFp32, dims, false}, {"z", DataType::kUint8, dims, true}},
          {{"y", DataType::kFp32, dims, false}, {"w", DataType::kFp32, {4, 4}, false}}};
}

class WordsBench {
 public:
  explicit WordsBench(uint32_t seed) : random_(seed), bench_(false, 100'000) {
    Script script;
    script.execute = [](uint32_t, Run& run) { run.RespondAll(Status::Ok()); };
    VersionConfig config = ConfigOf(KeyedIo(8), 2, {8, {}, 0});
    config.inline_budget_ns = 100'000;
    bench_.ServeScript(std::move(script), std::move(config));
    uids_ = {bench_.uid, bench_.server.Serve(bench_.scripted.get(), ConfigOf(KeyedIo(0)))};
    const uint32_t gone = bench_.server.Serve(&bench_.identity, ConfigOf(FloatIo()));
    Event retired;
    bench_.server.server().Retire(gone, [&](bool) { retired.Set(); });
    CHECK(Eventually([&] {
      bench_.client.Take();
      return retired.set();
    }));
    uids_.push_back(gone);
    for (int i = 0; i < 3; i++) bench_.client.AddSlab();
    port().inputs().DropSlab(1);
    StageBlocks();
  }

  // Submits words that are well-formed, or were before a mutation, and checks the result.
  void Play() {
    Words words = Some();
    for (uint32_t changes = Pick(4); changes > 0; changes--) Change(&words);
    const std::set<Name> expected = Fit(&words);
    const Status status = bench_.client.Submit(words, Pick(2) == 0);
    if (!status.ok()) {
      refused++;
      CHECK(status.code() == Code::kInternal);
      CHECK(status.message().starts_with("malformed submission: "));
      // Nothing was taken: no block, byte or slot.
      for (uint32_t id = 0; id < blocks_; id++) CHECK(TakesBlock(id));
      CHECK_EQ(bench_.server.server().in_flight_bytes(), 0u);
      CHECK(TakePages(port()).empty());
      Words all;
      for (uint32_t slot = 0; slot < kWordSlots; slot++) Append(&all, Record(uids_[0], slot, 1));
      const std::set<Name> every = Fit(&all);
      CHECK(bench_.client.Submit(all).ok());
      Await(every);
      return;
    }
    taken++;
    Words cancelled;
    while (Pick(2) == 0) Append(&cancelled, {Word(), Word(), Word(), Word()});
    if (Pick(3) == 0 && !expected.empty()) {
      const auto& [slot, position, generation] = *expected.begin();
      Append(&cancelled,
             {static_cast<int32_t>(slot), static_cast<int32_t>(generation), Word(), Word()});
    }
    port().CancelMany(cancelled.data(), cancelled.size());
    Await(expected);
    StageBlocks();
  }

  int taken = 0;
  int refused = 0;

 private:
  Port& port() { return bench_.client.port(); }
  uint32_t Pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  static void Append(Words* words, const Words& more) {
    words->insert(words->end(), more.begin(), more.end());
  }

  // A random word.
  int32_t Word() {
    constexpr int32_t kSize = layout::kSlabBytes;
    constexpr int32_t kWords[] = {0,         1,         2,       3,         4,    5,
                                  7,         8,         -1,      -2,        -64,  INT32_MIN,
                                  INT32_MAX, kSize - 4, kSize,   kSize + 1, 64,   65535,
                                  65536,     65537,     1 << 24, 5000,      8192, 16};
    return Pick(4) == 0 ? static_cast<int32_t>(random_()) : kWords[Pick(std::size(kWords))];
  }
  // A group without inputs.
  static Words Record(uint32_t uid, uint32_t slot, uint32_t requests) {
    return {static_cast<int32_t>(uid),
            static_cast<int32_t>(slot),
            0,
            static_cast<int32_t>(requests),
            0,
            0,
            1};
  }
  // Well-formed groups, except that slots, blocks and versions are random.
  Words Some() {
    Words words;
    for (uint32_t left = 1 + Pick(4); left > 0; left--) {
      const uint32_t version = Pick(8) == 0 ? 2 : Pick(2);
      const bool block = Pick(4) == 0;
      const uint32_t requests = block ? 1 : 1 + Pick(40);
      Words record = Record(uids_[version], Pick(kWordSlots), requests);
      for (int32_t index = 0; index < static_cast<int32_t>(Pick(3)); index++) {
        record[4]++;
        const auto size = static_cast<int32_t>(4 * (1 + Pick(16)));
        const auto place = static_cast<int32_t>(block ? Pick(blocks_) : 2 * Pick(2));
        Append(&record, {index, block ? layout::kBlock : layout::kSlab, place,
                         block ? 0 : static_cast<int32_t>(64 * Pick(1000)), size});
        if (version == 0) {
          Append(&record, {2, 1, size / 4});
        } else {
          Append(&record, {1, size / 4});
        }
      }
      while (Pick(3) == 0) {
        record[5]++;
        record.push_back(static_cast<int32_t>(Pick(2)));
      }
      Append(&words, record);
    }
    return words;
  }
  void Change(Words* words) {
    const uint32_t at = Pick(static_cast<uint32_t>(words->size()));
    const auto place = words->begin() + at;
    switch (Pick(6)) {
      case 0:
        words->insert(place, Word());
        break;
      case 1:
        if (words->size() > 1) words->erase(place);
        break;
      case 2:
        words->resize(at + 1);
        break;
      default:
        *place = Word();
    }
  }
  // Gives each group its own generation, as JavaScript does, and limits slots and requests to the
  // memory of a test. Returns the requests.
  std::set<Name> Fit(Words* words) {
    std::set<Name> names;
    SubmissionReader reader(words->data(), words->size());
    while (!reader.done()) {
      int32_t* const record = words->data() + (words->size() - reader.words().size());
      if (reader.words().size() >= 4) {
        const auto slot = static_cast<uint32_t>(record[1]);
        if (slot >= kWordSlots && slot < 1u << 24)
          record[1] = static_cast<int32_t>(slot % kWordSlots);
        record[2] = ++generation_;
        const auto requests = static_cast<uint32_t>(record[3]);
        if (requests <= GroupRecord::kMostRequests && requests > 300) record[3] = 300;
      }
      GroupRecord group;
      if (reader.Group(&group)) break;
      const auto past = [&] {
        for (uint32_t i = 0; i < group.targets; i++) {
          TargetRecord target;
          if (reader.Target(&target)) return false;
        }
        for (uint32_t i = 0; i < group.inputs; i++) {
          InputRecord input;
          if (reader.Input(group, &input)) return false;
        }
        std::span<const int32_t> wanted;
        if (reader.Wanted(group, &wanted)) return false;
        AttributesReader attributes;
        return reader.Attributes(group, &attributes) == nullptr;
      };
      if (!past()) break;
      for (uint32_t i = 0; i < group.requests; i++) {
        names.insert({group.slot, i, group.generation});
      }
    }
    return names;
  }
  // Takes responses until each of these requests has its final one, and checks that no others come.
  void Await(std::set<Name> names) {
    bool others = false;
    const auto take = [&] {
      for (CompletionPage* page : TakePages(port())) {
        std::vector<PortResponse> responses;
        ReadPage(*page, &responses);
        for (const PortResponse& response : responses) {
          const uint32_t slot = response.slot % PortClient::kPosition;
          const uint32_t position = response.slot / PortClient::kPosition;
          others =
              others || !response.final || names.erase({slot, position, response.generation}) == 0;
        }
        port().Recycle(page);
      }
      return names.empty();
    };
    CHECK(Eventually(take));
    CHECK(!others);
    CHECK_EQ(bench_.server.server().in_flight_bytes(), 0u);
  }
  bool TakesBlock(uint32_t id) {
    const bool staged = static_cast<bool>(port().inputs().Take(id));
    if (staged) port().inputs().PutBack(id);
    return staged;
  }
  // Stages all ids again.
  void StageBlocks() {
    constexpr uint32_t kBlocks = 3;
    for (uint32_t id = 0; id < blocks_; id++) port().inputs().Unstage(id);
    for (blocks_ = 0; blocks_ < kBlocks; blocks_++) {
      uint32_t id = 0;
      CHECK(port().inputs().Stage(kBlockBytes, &id) != nullptr);
      CHECK(id < kBlocks);
    }
  }

  std::mt19937 random_;
  PortBench bench_;
  std::vector<uint32_t> uids_;  // with a batch dimension, without one, and gone
  uint32_t blocks_ = 0;         // number of staged blocks, from id 0 on
  int32_t generation_ = 0;
};

}  // namespace

TEST(port_takes_random_words_as_what_they_say_or_refuses_them_whole) {
  WordsBench bench(20261123);
  for (int i = 0; i < 5000; i++) bench.Play();
  // Both happen often.
  CHECK(bench.taken > 1000);
  CHECK(bench.refused > 1000);
}

}  // namespace tritonts::test
