// The sequences of a port's requests: what reaches the model, and what is malformed.
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "port_fixture.h"

namespace tritonts::test {

namespace {

// A record with a sequence, and without inputs.
std::vector<int32_t> SequenceRecord(uint32_t uid, int32_t slot, int32_t requests,
                                    const std::string& text, const std::vector<int32_t>& value) {
  const size_t text_words = (text.size() + 3) / 4;
  const auto attributes = static_cast<int32_t>(5 + 3 + text_words + value.size());
  std::vector<int32_t> words = {
      static_cast<int32_t>(uid), slot, 1, requests, 0, attributes << 16, 1, 0, 0, 0, 0, 1};
  words.insert(words.end(), {layout::kSequenceParameter, static_cast<int32_t>(text.size()),
                             static_cast<int32_t>(4 * value.size())});
  const size_t at = words.size();
  words.resize(at + text_words);
  std::memcpy(words.data() + at, text.data(), text.size());
  words.insert(words.end(), value.begin(), value.end());
  return words;
}

}  // namespace

TEST(port_gives_a_request_its_sequence_and_the_next_one_none) {
  PortBench bench;
  std::mutex mutex;
  std::vector<SequenceMark> marks;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    const std::lock_guard lock(mutex);
    for (const Request* request : run.requests()) marks.push_back(request->header->sequence);
  };
  bench.ServeScript(std::move(script), ConfigOf(FloatIo(1)));
  const std::string longest(kMostSequenceIdBytes, 'x');
  const auto high = static_cast<int32_t>(0x80000000u);
  const std::vector<std::vector<int32_t>> records = {
      SequenceRecord(bench.uid, 1, 1, "", {7, high, layout::kSequenceStart}),
      SequenceRecord(bench.uid, 1, 1, longest, {0, 0, layout::kSequenceEnd}),
      SequenceRecord(bench.uid, 1, 1, "", {0, 0, layout::kSequenceStart | layout::kSequenceEnd}),
      {static_cast<int32_t>(bench.uid), 1, 1, 1, 0, 0, 1},
  };
  int32_t slot = 1;
  for (std::vector<int32_t> words : records) {
    words[1] = slot;
    CHECK(bench.client.Submit(words).ok());
    // Each request runs before the next one comes.
    CHECK(Eventually([&] {
      const std::lock_guard lock(mutex);
      return marks.size() == static_cast<size_t>(slot);
    }));
    slot++;
  }
  const std::lock_guard lock(mutex);
  CHECK_EQ(marks[0].id.number, (uint64_t{1} << 63) + 7);
  CHECK(marks[0].id.text.empty() && marks[0].start && !marks[0].end);
  CHECK_EQ(marks[1].id.text, longest);
  CHECK(marks[1].id.number == 0 && !marks[1].start && marks[1].end);
  CHECK(marks[2].id.none() && marks[2].start && marks[2].end);
  CHECK(!marks[3].any());
}

TEST(port_calls_records_malformed_whose_sequence_is_of_several_requests_or_too_long) {
  PortBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  const std::string too_long(kMostSequenceIdBytes + 1, 'x');
  const auto message = [&](const std::vector<int32_t>& words) {
    const Status status = bench.client.Submit(words);
    CHECK(status.code() == Code::kInternal);
    return status.message();
  };
  CHECK_EQ(message(SequenceRecord(bench.uid, 1, 2, "", {7, 0, 0})),
           "malformed submission: requests of a sequence in one group");
  CHECK_EQ(message(SequenceRecord(bench.uid, 2, 1, too_long, {0, 0, 0})),
           "malformed submission: a correlation id is too long");
  CHECK_EQ(message(SequenceRecord(bench.uid, 3, 1, "", {7, 0})),
           "malformed submission: unknown parameter kind");
  CHECK_EQ(message(SequenceRecord(bench.uid, 4, 1, "", {7, 0, 0, 0})),
           "malformed submission: unknown parameter kind");
}

}  // namespace tritonts::test
