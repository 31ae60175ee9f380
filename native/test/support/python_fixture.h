// A channel of a Python model, with a thread of the test instead of the stub.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "inbox/inbox_backend.h"
#include "inbox/inboxes.h"
#include "port_fixture.h"
#include "python/channel.h"

namespace tritonts::test {

using python::Channel;
using python::ChannelOptions;
using python::Kind;
using python::Message;
using python::RingReader;
using python::RingWriter;

// The stub's side of a channel's memory.
class FakeStub {
 public:
  explicit FakeStub(int descriptor) : descriptor_(dup(descriptor)) {
    struct stat file{};
    fstat(descriptor_, &file);
    size_ = static_cast<size_t>(file.st_size);
    base_ = static_cast<char*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0));
    std::memcpy(&page_, base_, sizeof(page_));
    down = RingReader(base_ + page_.ring_down, page_.ring_slots);
    up = RingWriter(base_ + page_.ring_up, page_.ring_slots);
  }
  ~FakeStub() {
    munmap(base_, size_);
    close(descriptor_);
  }

  // Waits for a batch. Returns false if `stop` is set.
  bool Take(Message* message, const std::atomic<bool>& stop) {
    while (!stop) {
      if (down.Peek(message) == RingReader::Result::kMessage) {
        down.Done();
        return message->kind == static_cast<uint32_t>(Kind::kExecute);
      }
      down.Sleep(1'000'000, [] { return false; });
    }
    return false;
  }
  int64_t* words(uint64_t offset) { return reinterpret_cast<int64_t*>(base_ + offset); }
  // Writes words to the heap "up". Each body overwrites the previous one, which must have been
  // read.
  Message Body(Kind kind, uint32_t number, const std::vector<int64_t>& body, uint64_t word) {
    if (!body.empty()) std::memcpy(base_ + page_.heap_up, body.data(), body.size() * 8);
    return {static_cast<uint32_t>(kind), number, page_.heap_up, body.size(), word};
  }
  void Send(const Message& message) {
    while (up.Write(message) == RingWriter::Result::kFull) up.AwaitRoom(1'000'000);
  }
  // Waits until all messages are read, or `stop` is set.
  void Settle(const std::atomic<bool>& stop) {
    while (!stop && up.read() != up.written()) std::this_thread::yield();
  }

  // Returns a batch's FP32 inputs [N, 1] as outputs, for each request or for all together.
  void Echo(const Message& batch, bool together) {
    const int64_t* word = words(batch.offset);
    const int64_t requests = word[0];
    const int64_t stretches = word[1];
    std::vector<int64_t> body;
    if (together) body = {4, 1, 0, static_cast<int64_t>(DataType::kFp32), 1, 1, 0, 0};
    std::vector<char> data;
    int64_t position = 0;
    word += 2;
    for (int64_t i = 0; i < stretches; i++) {
      const int64_t alike = word[0];
      const int64_t rows = word[1];
      word += 8 + word[7];
      word += 1;
      const int64_t rank = word[1];
      const int64_t size = word[2 + rank];
      const int64_t place = word[3 + rank];
      word += 4 + rank;
      for (int64_t k = 0; k < alike; k++) {
        if (together) {
          data.insert(data.end(), base_ + place + k * size, base_ + place + (k + 1) * size);
        } else {
          const std::vector<int64_t> one = {
              1,    position,        1, 1, 0, static_cast<int64_t>(DataType::kFp32), 2, rows, 1,
              size, place + k * size};
          body.insert(body.end(), one.begin(), one.end());
        }
        position++;
      }
    }
    CHECK_EQ(position, requests);
    if (together) {
      body[6] = static_cast<int64_t>(data.size());
      body[7] = static_cast<int64_t>(page_.heap_up + 4096);
      std::memcpy(base_ + page_.heap_up + 4096, data.data(), data.size());
    }
    Send(Body(Kind::kAnswer, batch.batch, body, 1));
  }

  const python::ControlPage& page() const { return page_; }
  char* base() { return base_; }
  size_t size() const { return size_; }

  RingReader down;
  RingWriter up;

 private:
  const int descriptor_;
  size_t size_ = 0;
  char* base_ = nullptr;
  python::ControlPage page_{};
};

struct ChannelBench {
  explicit ChannelBench(bool decoupled = false) {
    number = ReservedInboxes::Get().Reserve("m", {"m_0"}, 1, "process");
    ModelSpec spec{"m", 1, "", {{"inboxes", std::to_string(number)}}};
    auto opened = bench.server.Open(&backend, std::move(spec));
    CHECK(opened.ok());
    bench.uid = opened.value();
    ModelIo io;
    io.max_batch_size = 8;
    io.inputs = {{"x", DataType::kFp32, {-1, 1}, false}};
    io.outputs = {{"y", DataType::kFp32, {-1, 1}, false}};
    VersionConfig config = ConfigOf(io);
    config.decoupled = decoupled;
    CHECK(bench.server.Start(bench.uid, std::move(config)).ok());
  }
  ~ChannelBench() {
    if (channel) channel->Stop();
    bench.client.Detach();
    bench.server.Close(0);
    ReservedInboxes::Get().Forget(number);
  }
  // Creates a new channel, as for a restarted process.
  FakeStub* Begin(ChannelOptions options = {}) {
    if (channel) channel->Stop();
    std::string fault;
    channel = Channel::Create(options, ReservedInboxes::Get().Find(number)->list[0],
                              bench.server.shared(), &fault);
    CHECK_EQ(fault, std::string());
    broken = false;
    CHECK(channel->Start([this](const char*) { broken = true; }) == Channel::Started::kYes);
    stub = std::make_unique<FakeStub>(channel->descriptor());
    channel->CloseDescriptor();
    channel->Up();
    return stub.get();
  }

  InboxBackend backend;
  uint32_t number = 0;
  PortBench bench;
  std::atomic<bool> broken{false};
  std::shared_ptr<Channel> channel;
  std::unique_ptr<FakeStub> stub;
};

}  // namespace tritonts::test
