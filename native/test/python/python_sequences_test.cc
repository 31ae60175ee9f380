// Sequences in the messages of Python models: in batches, and in calls.
#if defined(__linux__)

#include <cstring>
#include <string>
#include <vector>

#include "python_fixture.h"

namespace tritonts::test {

namespace {

// An entry of parameters.
std::string EntryOf(uint32_t type, const std::string& name, const std::string& value) {
  const uint32_t numbers[] = {type, static_cast<uint32_t>(name.size()),
                              static_cast<uint32_t>(value.size())};
  return std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers)) + name + value;
}

std::string SequenceValue(uint64_t number, uint32_t flags) {
  std::string value(python::kSequenceBytes, '\0');
  std::memcpy(value.data(), &number, 8);
  std::memcpy(value.data() + 8, &flags, 4);
  return value;
}

// A call of no model with these parameters.
void SendCall(FakeStub* stub, const std::string& parameters) {
  const uint64_t place = stub->page().heap_up + 4096;
  const uint64_t word = stub->page().heap_up + (size_t{512} << 10);
  reinterpret_cast<python::Reply*>(stub->base() + word)->state.store(0);
  std::memcpy(stub->base() + place, parameters.data(), parameters.size());
  const auto size = static_cast<int64_t>(parameters.size());
  stub->Send(stub->Body(Kind::kCall, 0,
                        {0, -1, 12345, 1, 0, 0, 0, static_cast<int64_t>(place), size, 0, 0}, word));
}

}  // namespace

TEST(python_batches_have_the_sequence_of_a_request) {
  ChannelBench bench;
  FakeStub* const stub = bench.Begin();
  bench.bench.Write({1});
  // A sequence that begins, behind the record that was just written.
  std::vector<int32_t>& words = bench.bench.client.words();
  words[3] |= layout::kMarkedBit;
  words.insert(words.end(), {layout::kSequenceStart | 3 << 8, 0});
  std::memcpy(words.data() + words.size() - 1, "abc", 3);
  CHECK(bench.bench.client.Flush().ok());
  std::atomic<bool> stop{false};
  Message message;
  CHECK(stub->Take(&message, stop));
  const int64_t* const stretch = stub->words(message.offset) + 2;
  const std::string said(stub->base() + stretch[4], static_cast<size_t>(stretch[5]));
  CHECK_EQ(said, EntryOf(python::kSequenceType, "abc", SequenceValue(0, python::kSequenceStart)));
  stub->Echo(message, false);
  CHECK(bench.bench.client.Take(1)[0].code == Code::kOk);
}

TEST(python_channel_is_broken_by_a_call_with_a_malformed_sequence) {
  ChannelBench bench;
  const std::string value = SequenceValue(5, 3);
  const std::string longest(kMostSequenceIdBytes, 'x');
  // A well-formed call, of a model that does not exist, is answered.
  for (const std::string& text : {std::string(), longest}) {
    FakeStub* const stub = bench.Begin();
    SendCall(stub, EntryOf(python::kSequenceType, text, value));
    const uint64_t word = stub->page().heap_up + (size_t{512} << 10);
    const auto* const reply = reinterpret_cast<python::Reply*>(stub->base() + word);
    CHECK(Eventually([&] { return reply->state.load() != 0; }));
    CHECK(!bench.broken);
  }
  for (const std::string& parameters :
       {EntryOf(python::kSequenceType, longest + "x", value),
        EntryOf(python::kSequenceType, "", value.substr(0, 8)),
        EntryOf(python::kSequenceType, "", value + "four"), EntryOf(5, "", value.substr(0, 8)),
        EntryOf(python::kSequenceType, "", value).substr(0, 20)}) {
    SendCall(bench.Begin(), parameters);
    CHECK(Eventually([&] { return bench.broken.load(); }));
  }
}

}  // namespace tritonts::test

#endif
