// Channels of Python models, with a thread of this process instead of the stub: one that serves,
// and ones that violate the protocol.
#if defined(__linux__)

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "engine/base/clock.h"
#include "engine/port/input_memory.h"
#include "python_fixture.h"

namespace tritonts::test {

TEST(python_channel_brings_batches_and_answers) {
  for (const bool together : {false, true}) {
    for (const auto place :
         {platform::SharedMemory::Place::kAny, platform::SharedMemory::Place::kFile}) {
      ChannelBench bench;
      ChannelOptions options;
      options.place = place;
      FakeStub* const stub = bench.Begin(options);
      std::atomic<bool> stop{false};
      std::thread serving([&] {
        Message message;
        while (stub->Take(&message, stop)) stub->Echo(message, together);
      });
      for (int round = 0; round < 50; round++) {
        std::map<uint32_t, float> slots;
        for (int i = 0; i < 5; i++) {
          const auto value = static_cast<float>(10 * round + i);
          slots[bench.bench.Write({value, -value})] = value;
        }
        CHECK(bench.bench.client.Flush().ok());
        for (const PortResponse& response : bench.bench.client.Take(5)) {
          CHECK(response.code == Code::kOk);
          const float value = slots.at(response.slot);
          CHECK_EQ(response.outputs.at(0).bytes, BytesOf<float>({value, -value}));
        }
      }
      stop = true;
      serving.join();
    }
  }
}

TEST(python_channel_memory_cannot_be_made_shorter) {
  std::string fault;
  platform::SharedMemory memory;
  CHECK(memory.Create("test", size_t{1} << 20, size_t{1} << 16, platform::SharedMemory::Place::kAny,
                      &fault));
  CHECK(ftruncate(memory.descriptor(), 0) != 0);
  CHECK(memory.Commit(0, 4096, &fault));
  CHECK(!memory.Commit(memory.size(), 4096, &fault));
}

TEST(python_channel_queues_again_what_a_process_that_ended_had_not_read) {
  ChannelBench bench;
  FakeStub* stub = bench.Begin();
  bench.bench.Write({1});
  CHECK(bench.bench.client.Flush().ok());
  // The batch was sent, but not read.
  CHECK(Eventually([&] { return stub->down.HasMessage(); }));
  stub = bench.Begin();
  std::atomic<bool> stop{false};
  Message message;
  CHECK(stub->Take(&message, stop));
  stub->Echo(message, false);
  CHECK(bench.bench.client.Take(1)[0].code == Code::kOk);
  // A batch that was read fails.
  bench.bench.Write({2});
  CHECK(bench.bench.client.Flush().ok());
  CHECK(stub->Take(&message, stop));
  bench.channel->Stop();
  CHECK(bench.bench.client.Take(1)[0].code == Code::kUnavailable);
}

TEST(python_channel_is_broken_by_what_no_stub_sends) {
  ChannelBench bench;
  const auto most = static_cast<int64_t>(uint64_t{1} << 62);
  const auto fp32 = static_cast<int64_t>(DataType::kFp32);
  const auto bytes = static_cast<int64_t>(DataType::kBytes);
  const std::vector<std::vector<int64_t>> bodies = {
      {99},
      {1},
      {1, 0, 1},
      {1, 5, 1, 0},
      {1, -1, 1, 0},
      {1, 0, 1, 1},
      {1, 0, 1, most},
      {1, 0, 1, 1, 0, fp32, 2, 1, 1, 4},
      {1, 0, 1, 1, 0, fp32, 2, 1, 1, 4, 0},
      {1, 0, 1, 1, 0, fp32, 2, 1, 1, 4, most},
      {1, 0, 1, 1, 0, fp32, 2, 1, 1, -4, 1 << 20},
      {1, 0, 1, 1, 0, fp32, 2, 1, 1, most, 1 << 20},
      {1, 0, 1, 1, 0, fp32, most, 1, 1, 4, 0},
      {1, 0, 1, 1, 0, fp32, -1, 1, 1, 4, 0},
      {1, 0, 1, 1, 0, 77, 2, 1, 1, 4, 0},
      {1, 0, 1, 1, most, fp32, 2, 1, 1, 4, 0},
      {2, 0, 2, 8, 0},
      {2, 7, 2, 0, 1 << 20},
      {2, -2, 2, 0, 1 << 20},
      {2, 0, 2, most, 1 << 20},
      {3, 4},
      {3},
      {4, 1, 0, bytes, 1, 1, 0, 0},
      {4, -1},
  };
  std::atomic<bool> stop{false};
  for (const std::vector<int64_t>& body : bodies) {
    FakeStub* const stub = bench.Begin();
    bench.bench.Write({1});
    CHECK(bench.bench.client.Flush().ok());
    Message message;
    CHECK(stub->Take(&message, stop));
    stub->Send(stub->Body(Kind::kAnswer, message.batch, body, 1));
    CHECK(Eventually([&] { return bench.broken.load(); }));
    bench.channel->Stop();
    CHECK(bench.bench.client.Take(1)[0].code != Code::kOk);
  }
}

TEST(python_channel_is_broken_by_answers_to_batches_that_the_stub_does_not_have) {
  ChannelBench bench(true);
  std::atomic<bool> stop{false};
  for (const Kind kind : {Kind::kAnswer, Kind::kPart}) {
    FakeStub* const stub = bench.Begin();
    bench.bench.Write({1});
    CHECK(bench.bench.client.Flush().ok());
    Message message;
    CHECK(stub->Take(&message, stop));
    stub->Send(stub->Body(kind, message.batch + 1, {3, 0}, 1));
    CHECK(Eventually([&] { return bench.broken.load(); }));
    bench.channel->Stop();
    CHECK(bench.bench.client.Take(1)[0].code == Code::kUnavailable);
  }
}

TEST(python_channel_takes_no_message_of_a_batch_that_has_ended_for_a_later_one) {
  ChannelBench bench;
  std::atomic<bool> stop{false};
  FakeStub* const stub = bench.Begin();
  const auto next = [&](Message* message) {
    bench.bench.Write({1});
    CHECK(bench.bench.client.Flush().ok());
    CHECK(stub->Take(message, stop));
  };
  Message first;
  Message second;
  next(&first);
  stub->Echo(first, false);
  CHECK(bench.bench.client.Take(1)[0].code == Code::kOk);
  // The new batch is in the same slot.
  next(&second);
  CHECK(second.batch != first.batch);
  const auto ask = [&](Kind kind, uint32_t number) {
    const uint64_t word = stub->page().heap_up + (size_t{512} << 10);
    auto* const reply = reinterpret_cast<python::Reply*>(stub->base() + word);
    reply->state.store(0);
    stub->Send({static_cast<uint32_t>(kind), number, 0, 0, word});
    CHECK(Eventually([&] { return reply->state.load() != 0; }));
    return reply->state.load();
  };
  CHECK_EQ(ask(Kind::kAskCancelled, second.batch), 2u);
  CHECK_EQ(ask(Kind::kAskCancelled, first.batch), 1u);
  CHECK_EQ(ask(Kind::kAskRoom, first.batch), 2u);
  CHECK(!bench.broken);
  stub->Send(stub->Body(Kind::kAnswer, first.batch, {3, 0}, 1));
  CHECK(Eventually([&] { return bench.broken.load(); }));
  bench.channel->Stop();
  CHECK(bench.bench.client.Take(1)[0].code == Code::kUnavailable);
}

TEST(python_channel_takes_no_more_memory_for_calls_than_the_stub_has) {
  ChannelBench bench;
  const int64_t uid = bench.bench.uid;
  const auto fp32 = static_cast<int64_t>(DataType::kFp32);
  FakeStub* const stub = bench.Begin();
  const auto word = static_cast<int64_t>(stub->page().heap_up + (size_t{512} << 10));
  const auto beyond = static_cast<int64_t>(stub->page().heap_up);
  // The addresses exist, but not the memory.
  const int64_t size = int64_t{4} << 30;
  stub->Send(stub->Body(Kind::kCall, 0,
                        {0, -1, uid, 0, 0, 0, 0, 0, 0, 0, 1, 0, fp32, 2, size / 4, 1, size, beyond},
                        static_cast<uint64_t>(word)));
  CHECK(Eventually([&] { return bench.broken.load(); }));
}

TEST(python_inputs_are_pieces_of_memory_that_the_processes_of_a_version_see) {
  const auto inputs = std::make_shared<python::SharedInputs>();
  CHECK(!inputs->Acquire(100'000));
  std::string fault;
  CHECK(inputs->Prepare("test", 1 << 20, 1 << 20, platform::SharedMemory::Place::kAny, &fault));
  CHECK(inputs->Prepare("test", 1 << 20, 1 << 20, platform::SharedMemory::Place::kAny, &fault));
  BlockRef one = inputs->Acquire(100'000);
  BlockRef two = inputs->Acquire(0);
  CHECK(one && two);
  CHECK(one->kind() == MemoryKind::kShared);
  std::memset(one->data(), 7, one->size());
  const int64_t offset = inputs->OffsetOf(one->data(), one->size());
  CHECK(offset > 0);
  CHECK(inputs->OffsetOf(&offset, sizeof(offset)) < 0);
  char seen = 0;
  CHECK_EQ(pread(inputs->descriptor(), &seen, 1, offset + 99'999), ssize_t{1});
  CHECK_EQ(int{seen}, 7);
  CHECK(inputs->used() >= 100'000);
  one.reset();
  CHECK(inputs->used() < 100'000);
  inputs->ShrinkIfIdle(~uint64_t{0} >> 1);
  two.reset();
  CHECK_EQ(inputs->used(), uint64_t{0});
}

TEST(port_input_memory_of_one_version_is_copied_for_another) {
  const auto inputs = std::make_shared<python::SharedInputs>();
  std::string fault;
  CHECK(inputs->Prepare("test", 1 << 20, 1 << 20, platform::SharedMemory::Place::kAny, &fault));
  InputMemory memory;
  uint32_t id = 0;
  Block* const staged = memory.Stage(70'000, &id, 1, inputs->Acquire(70'000));
  CHECK(staged && staged->kind() == MemoryKind::kShared);
  std::memset(staged->data(), 5, 70'000);
  CHECK(memory.Take(id, 1).get() == staged);
  memory.PutBack(id);
  const BlockRef other = memory.Take(id, 2);
  CHECK(other && other->kind() == MemoryKind::kHost);
  CHECK_EQ(int{static_cast<const char*>(other->data())[69'999]}, 5);
  CHECK_EQ(inputs->used(), uint64_t{0});
}

TEST(python_channel_is_broken_by_an_answer_that_lends_what_is_not_its_own) {
  ChannelBench bench;
  FakeStub* const stub = bench.Begin();
  // The release word would lie before the heap.
  Message message = stub->Body(Kind::kAnswer, 0, {3, 0}, 4);
  message.offset = stub->page().heap_up;
  stub->Send(message);
  CHECK(Eventually([&] { return bench.broken.load(); }));
}

TEST(python_channel_reads_nothing_back_of_what_it_writes_for_the_stub) {
  ChannelBench bench;
  FakeStub* const stub = bench.Begin();
  std::atomic<bool> stop{false};
  // Modifies tensors' ranks in answers to calls while they are written.
  std::thread spoiling([&] {
    for (int64_t rank = 0; !stop; rank += 1'000'003) {
      auto* const words = stub->words(stub->page().heap_down);
      for (size_t i = 0; i < (size_t{4} << 20) / 64; i++) {
        static_cast<volatile int64_t*>(words)[8 * i] = rank;
      }
    }
  });
  const std::vector<float> data = {1, 2};
  const OutputTensor output{0, DataType::kFp32, -1, {}, data.data(), 8, MemoryKind::kHost, nullptr};
  std::string fault;
  for (int i = 0; i < 15'000; i++) {
    const std::vector<uint64_t> words = {1, 1, 0, 0, 0, 0, 0, 1, 0, 11, 2, 1, 2, 8, 0};
    CHECK(bench.channel->Place(words, {&output, 1}, "", "ab", &fault) != 0);
  }
  stop = true;
  spoiling.join();
}

TEST(python_channel_answers_reach_a_thread_that_polls) {
  ChannelBench bench;
  FakeStub* const stub = bench.Begin();
  std::atomic<bool> stop{false};
  std::thread serving([&] {
    Message message;
    while (stub->Take(&message, stop)) stub->Echo(message, false);
  });
  CHECK(!bench.channel->has_work());
  for (int round = 0; round < 200; round++) {
    const auto value = static_cast<float>(round);
    bench.bench.Write({value});
    CHECK(bench.bench.client.Flush().ok());
    Polling polling;
    // Sometimes polling ends before the answer comes; the channel's thread then takes it.
    for (int i = 0; i < round % 4 * 50; i++) polling.Poll();
    if (round % 3 == 0) {
      CHECK(Eventually([&] {
        polling.Poll();
        return !bench.channel->has_work();
      }));
    }
    polling.Stop();
    const PortResponse response = bench.bench.client.Take(1)[0];
    CHECK_EQ(response.outputs.at(0).bytes, BytesOf<float>({value}));
  }
  stop = true;
  serving.join();
  // An ended channel is not polled.
  Polling polling;
  polling.Poll();
  bench.channel->Stop();
  polling.Poll();
}

TEST(python_channel_answers_do_not_wait_for_a_thread_that_polls_and_is_held_up) {
  ChannelBench bench;
  FakeStub* const stub = bench.Begin();
  std::atomic<bool> stop{false};
  std::thread serving([&] {
    Message message;
    while (stub->Take(&message, stop)) stub->Echo(message, false);
  });
  // If each round waited for the channel thread's own look, all would take a minute.
  const uint64_t limit = NowNs() + 30'000'000'000;
  for (int round = 0; round < 60; round++) {
    const auto value = static_cast<float>(round);
    bench.bench.Write({value});
    CHECK(bench.bench.client.Flush().ok());
    bench.channel->StartPolling();
    bench.channel->Poll();
    const PortResponse response = bench.bench.client.Take(1)[0];
    CHECK_EQ(response.outputs.at(0).bytes, BytesOf<float>({value}));
    bench.channel->StopPolling();
  }
  CHECK(NowNs() < limit);
  stop = true;
  serving.join();
}

TEST(python_channel_tells_of_outputs_that_are_not_the_models) {
  ChannelBench bench;
  FakeStub* const stub = bench.Begin();
  const auto place = static_cast<int64_t>(stub->page().heap_up + 4096);
  const auto fp32 = static_cast<int64_t>(DataType::kFp32);
  std::atomic<bool> stop{false};
  for (const std::vector<int64_t>& body : {
           std::vector<int64_t>{1, 0, 1, 1, 3, fp32, 2, 1, 1, 4, place},
           std::vector<int64_t>{1, 0, 1, 1, 0, 8, 2, 1, 1, 4, place},
           std::vector<int64_t>{1, 0, 1, 1, 0, fp32, 2, 2, 1, 8, place},
           std::vector<int64_t>{1, 0, 1, 1, 0, fp32, 2, 1, 1, 8, place},
           std::vector<int64_t>{1, 0, 1, 1, 0, fp32, 2, 1, int64_t{1} << 60, 4, place},
           std::vector<int64_t>{1, 0, 1, 1, 0, static_cast<int64_t>(DataType::kBytes), 2, 1, 1, 9,
                                place},
           std::vector<int64_t>{},
       }) {
    bench.bench.Write({1});
    CHECK(bench.bench.client.Flush().ok());
    Message message;
    CHECK(stub->Take(&message, stop));
    stub->Send(stub->Body(Kind::kAnswer, message.batch, body, 1));
    CHECK(bench.bench.client.Take(1)[0].code == Code::kInternal);
    CHECK(!bench.broken);
  }
}

TEST(python_channel_survives_garbage) {
  std::random_device seeds;
  const auto seed = seeds();
  std::mt19937 random(seed);
  const auto up = [&random](uint64_t most) { return random() % (most + 1); };
  ChannelBench bench(true);
  for (int round = 0; round < 150; round++) {
    FakeStub* const stub = bench.Begin();
    const int count = 1 + static_cast<int>(up(6));
    PortClient client(bench.bench.server.shared());
    for (int i = 0; i < count; i++) {
      client.Write(bench.bench.uid, 1, {FloatsInput({static_cast<float>(i)})});
    }
    CHECK(client.Flush().ok());
    const auto page = stub->page();
    const auto number = [&]() -> uint64_t {
      switch (up(6)) {
        case 0:
          return up(8);
        case 1:
          return page.heap_up + 8 * up(64);
        case 2:
          return page.heap_down + 64 * up(64);
        case 3:
          return page.size - up(64);
        case 4:
          return uint64_t{1} << up(63);
        case 5:
          return static_cast<uint64_t>(-static_cast<int64_t>(up(8)));
        default:
          return (uint64_t{random()} << 32) | random();
      }
    };
    for (int i = 0; i < 60 && !bench.broken; i++) {
      std::vector<int64_t> body(up(24));
      for (int64_t& word : body) word = static_cast<int64_t>(number());
      // Some bodies begin with valid words.
      if (!body.empty() && up(2) > 0) body[0] = 1 + static_cast<int64_t>(up(3));
      if (body.size() > 4 && up(1) == 0) {
        body[1] = static_cast<int64_t>(up(2));
        body[3] = static_cast<int64_t>(up(2));
      }
      Message message = stub->Body(Kind::kAnswer, static_cast<uint32_t>(up(2)), body, up(3));
      if (up(3) > 0) message.kind = static_cast<uint32_t>(16 + up(8));
      if (up(4) == 0) message.offset = number();
      if (up(4) == 0) message.size = number();
      if (up(1) == 0) message.word = number();
      if (up(2) == 0) message.word = page.heap_up + 8 * up(512);
      const uint64_t what = up(40);
      if (what == 0) {
        // Invalid counters.
        auto* const ring = reinterpret_cast<python::RingHeader*>(stub->base() + page.ring_up);
        ring->tail.store(static_cast<uint32_t>(number()));
      } else if (what == 1) {
        auto* const ring = reinterpret_cast<python::RingHeader*>(stub->base() + page.ring_down);
        ring->head.store(static_cast<uint32_t>(number()));
      } else if (what == 2) {
        auto* const ring = reinterpret_cast<python::RingHeader*>(stub->base() + page.ring_up);
        ring->bell.store(static_cast<uint32_t>(number()));
        ring->sleeping.store(static_cast<uint32_t>(number()));
      }
      if (stub->up.Write(message) != RingWriter::Result::kWritten) break;
      if (up(3) == 0) stub->Settle(bench.broken);
    }
    bench.channel->Stop();
    // Batches that the stub has not read are requeued, so they do not end: the client detaches.
    client.Detach();
  }
  CHECK(Eventually([&] { return bench.bench.server.server().in_flight_bytes() == 0; }));
}

TEST(offset_heap_places_are_apart_and_join_again) {
  uint64_t committed = 0;
  python::OffsetHeap heap(
      4096, uint64_t{1} << 24, 4096,
      [&](uint64_t offset, uint64_t size, std::string*) {
        CHECK_EQ(offset, 4096 + committed);
        committed += size;
        return true;
      },
      [&](uint64_t offset, uint64_t size) {
        CHECK_EQ(offset + size, 4096 + committed);
        committed -= size;
      });
  std::mt19937 random(1);
  std::map<uint64_t, uint64_t> taken;
  std::string fault;
  for (int i = 0; i < 20000; i++) {
    if (random() % 2 == 0 || taken.empty()) {
      const uint64_t size = random() % (random() % 8 == 0 ? 300'000 : 3000);
      const uint64_t place = heap.Allocate(size, &fault);
      if (place == 0) continue;
      CHECK(place % 64 == 0 && place >= 4096 && place + size <= 4096 + committed);
      const auto next = taken.lower_bound(place);
      CHECK(next == taken.end() || place + size <= next->first);
      if (next != taken.begin()) {
        const auto before = std::prev(next);
        CHECK(before->first + before->second <= place);
      }
      taken[place] = size;
    } else {
      auto one = taken.begin();
      std::advance(one, static_cast<long>(random() % taken.size()));
      CHECK(heap.Free(one->first));
      CHECK(!heap.Free(one->first));
      taken.erase(one);
    }
    if (random() % 500 == 0) heap.Shrink(64 << 10);
  }
  for (const auto& [place, size] : taken) CHECK(heap.Free(place));
  CHECK_EQ(heap.used(), uint64_t{0});
  heap.Shrink(0);
  CHECK_EQ(committed, uint64_t{0});
  CHECK_EQ(heap.Allocate(uint64_t{1} << 30, &fault), uint64_t{0});
  CHECK(fault.find("no room") != std::string::npos);
}

}  // namespace tritonts::test

#endif
