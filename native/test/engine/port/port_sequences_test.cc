// The sequences of a port's requests: what reaches the model, and what is malformed.
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "port_fixture.h"

namespace tritonts::test {

namespace {

// The words of a request's sequence.
std::vector<int32_t> MarkOf(const std::string& text, uint64_t number, int32_t flags) {
  std::vector<int32_t> words = {flags | static_cast<int32_t>(text.size() << 8)};
  if (text.empty()) {
    words.push_back(static_cast<int32_t>(number));
    words.push_back(static_cast<int32_t>(number >> 32));
  } else {
    words.resize(1 + (text.size() + 3) / 4);
    std::memcpy(words.data() + 1, text.data(), text.size());
  }
  return words;
}

// A record of requests with these sequences, and without inputs.
std::vector<int32_t> SequenceRecord(uint32_t uid, int32_t slot,
                                    const std::vector<std::vector<int32_t>>& marks) {
  const auto requests = static_cast<int32_t>(marks.size());
  std::vector<int32_t> words = {
      static_cast<int32_t>(uid), slot, 1, requests | layout::kMarkedBit, 0, 0, 1};
  for (const auto& mark : marks) words.insert(words.end(), mark.begin(), mark.end());
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
    for (const Request* request : run.requests()) marks.push_back(request->sequence());
  };
  bench.ServeScript(std::move(script), ConfigOf(FloatIo(1)));
  const std::string longest(kMostSequenceIdBytes, 'x');
  const std::vector<std::vector<int32_t>> records = {
      SequenceRecord(bench.uid, 1,
                     {MarkOf("", (uint64_t{1} << 63) + 7, layout::kSequenceStart),
                      MarkOf(longest, 0, layout::kSequenceEnd)}),
      SequenceRecord(bench.uid, 1, {MarkOf("", 0, layout::kSequenceStart | layout::kSequenceEnd)}),
      {static_cast<int32_t>(bench.uid), 1, 1, 1, 0, 0, 1},
  };
  size_t sent = 0;
  int32_t slot = 1;
  for (std::vector<int32_t> words : records) {
    words[1] = slot;
    CHECK(bench.client.Submit(words).ok());
    sent += slot == 1 ? 2 : 1;
    // Each request runs before the next one comes.
    CHECK(Eventually([&] {
      const std::lock_guard lock(mutex);
      return marks.size() == sent;
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

TEST(port_calls_records_malformed_whose_sequences_are_cut_or_too_long) {
  PortBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  const auto message = [&](const std::vector<int32_t>& words) {
    const Status status = bench.client.Submit(words);
    CHECK(status.code() == Code::kInternal);
    return status.message();
  };
  const std::string too_long(kMostSequenceIdBytes + 1, 'x');
  CHECK_EQ(message(SequenceRecord(bench.uid, 1, {MarkOf(too_long, 0, 0)})),
           "malformed submission: a correlation id is too long");
  std::vector<int32_t> two = SequenceRecord(bench.uid, 2, {MarkOf("", 7, 0), MarkOf("text", 0, 0)});
  for (size_t cut = 1; cut < 5; cut++) {
    two.pop_back();
    two[1] = static_cast<int32_t>(1 + cut);
    CHECK_EQ(message(two), "malformed submission: truncated sequence");
  }
}

}  // namespace tritonts::test
