// Where a run lets outputs be written: to the sink's memory, to a block, or to a device.
#include "fake_device.h"
#include "run_fixture.h"

namespace tritonts::test {

namespace {

// A sink that provides memory for outputs.
class PlacingSink final : public ResponseSink {
 public:
  void Deliver(std::span<const Response> responses) override {
    for (const Response& response : responses) {
      for (const OutputTensor& output : response.outputs) {
        in_place = in_place && output.data == memory.data();
      }
      if (response.final) response.request->set_state(Request::State::kIdle);
      delivered++;
    }
  }
  Buffer Place(const Request&, uint32_t output, size_t size, MemoryKind) override {
    asked++;
    if (output != 0 || size > sizeof(memory)) return {};
    return {memory.data(), size, MemoryKind::kHost, 0, {}};
  }

  std::array<float, 4> memory = {};
  int asked = 0;
  int delivered = 0;
  bool in_place = true;
};

}  // namespace

TEST(run_writes_an_output_of_one_request_where_its_sink_wants_it) {
  PlacingSink sink;
  RunBench bench;
  Requests requests(&sink);
  bench.Begin({requests.Add(2)});
  auto place = bench.run.Output(Run::kAll, 0, DataType::kFp32, kOne);
  CHECK(place.value().data == sink.memory.data());
  CHECK_EQ(place.value().size, 8u);
  CHECK(bench.run.Output(0, 1, DataType::kFp32, Dims{2, 1}).value().owner);
  CHECK_EQ(sink.asked, 2);
  Request* request = bench.run.requests()[0];
  request->header->wanted = {0};
  // The sink is not asked for an output that the request does not want.
  CHECK(bench.run.Output(0, 2, DataType::kFp32, Dims{2, 1}).ok());
  CHECK_EQ(sink.asked, 2);
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK(sink.in_place);
  CHECK_EQ(sink.delivered, 1);
}

TEST(run_writes_an_output_of_several_requests_to_one_block) {
  PlacingSink sink;
  RunBench bench;
  Requests requests(&sink);
  bench.Begin({requests.Add(1), requests.Add(1)});
  const auto place = bench.run.Output(Run::kAll, 0, DataType::kFp32, kOne).take();
  CHECK(place.owner);
  CHECK_EQ(place.size, 8u);
  CHECK_EQ(sink.asked, 0);
  bench.run.RespondAll(Status::Internal("no"));
  bench.End();
}

TEST(run_has_no_place_for_an_output_whose_size_its_shape_does_not_tell) {
  RunBench bench;
  bench.Begin({bench.requests.Add(1)});
  CHECK(bench.run.Output(0, 0, DataType::kBytes, kOneRow).status().code() == Code::kInternal);
  CHECK(bench.run.Output(0, 0, DataType::kFp32, Dims{1, -1}).status().code() == Code::kInternal);
  CHECK(bench.run.Output(0, 0, DataType::kFp32, Dims{1, int64_t{1} << 44}).status().code() ==
        Code::kInternal);
  bench.run.RespondAll(Status::Ok());
  bench.End();
}

TEST(run_writes_an_output_to_the_devices_memory_and_the_sink_gets_it_in_the_hosts) {
  FakeDevice device;
  RunBench bench(true, false, &device);
  bench.Begin({bench.requests.Add(1), bench.requests.Add(1)});
  auto place = bench.run.Output(Run::kAll, 0, DataType::kFp32, kOne, MemoryKind::kDevice).take();
  CHECK(place.kind == MemoryKind::kDevice);
  std::vector<float> values = {1, 2};
  CHECK(device.Copy({values.data(), 8, MemoryKind::kHost, 0, {}}, place).ok());
  const BlockRef own = device.Put(BytesOf<float>({5}));
  bench.run.SetRequestOutput(1, 1, DataType::kFp32, kOneRow, own->data(), 4, own.get());
  bench.run.RespondAll(Status::Ok());
  const Statistics& statistics = bench.End();
  CHECK_EQ(bench.sink.Of(0).outputs.at(0).bytes, BytesOf<float>({1}));
  CHECK_EQ(bench.sink.Of(1).outputs.at(0).bytes, BytesOf<float>({2}));
  CHECK_EQ(bench.sink.Of(1).outputs.at(1).bytes, BytesOf<float>({5}));
  CHECK_EQ(statistics.success.count, 2u);
}

TEST(run_fails_an_output_that_nobody_can_fetch) {
  FakeDevice device;
  device.copies = false;
  RunBench bench;
  bench.Begin({bench.requests.Add(1)});
  const BlockRef block = device.Put(BytesOf<float>({5}));
  bench.run.SetRequestOutput(0, 0, DataType::kFp32, kOneRow, block->data(), 4, block.get());
  bench.run.RespondAll(Status::Ok());
  const Statistics& statistics = bench.End();
  const Status status = bench.sink.Of(0).status;
  CHECK(status.code() == Code::kUnsupported);
  CHECK_EQ(status.message(),
           "model 'm', output 0: cannot copy from memory of device 0 to host memory");
  CHECK_EQ(statistics.fail.count, 1u);
  CHECK_EQ(statistics.success.count, 0u);
}

TEST(run_leaves_an_output_on_the_device_for_a_sink_that_takes_it_there) {
  class DeviceSink final : public ResponseSink {
   public:
    void Deliver(std::span<const Response> responses) override {
      kind = responses[0].outputs[0].kind;
      responses[0].request->set_state(Request::State::kIdle);
    }
    bool Takes(const Request&, uint32_t, MemoryKind, int) const override { return true; }
    MemoryKind kind = MemoryKind::kHost;
  };
  DeviceSink sink;
  FakeDevice device;
  RunBench bench;
  Requests requests(&sink);
  bench.Begin({requests.Add(1)});
  const BlockRef block = device.Put(BytesOf<float>({5}));
  bench.run.SetOutput(0, DataType::kFp32, kOne, block->data(), 4, block.get());
  bench.run.RespondAll(Status::Ok());
  bench.End();
  CHECK(sink.kind == MemoryKind::kDevice);
  CHECK_EQ(device.copied.load(), 0);
}

}  // namespace tritonts::test
