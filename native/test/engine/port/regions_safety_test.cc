// Regions are memory of others, who may write at any time, and whose requests may name anything.
#include "engine/request/region_use.h"
#include "region_fixture.h"

namespace tritonts::test {

namespace {

// A model with one input and one output of a type. Its run notes where its input lies, and whether
// its output lies in `memory`. It adds nothing to what it reads.
struct Seen {
  const void* input = nullptr;
  const void* output = nullptr;
};

Script Looking(Seen* seen, DataType datatype) {
  Script script;
  script.execute = [seen, datatype](uint32_t, Run& run) {
    const Buffer chunk = run.requests()[0]->chunk(*run.input(0, 0));
    const int64_t shape[] = {1, 1};
    auto place = run.Output(0, 0, datatype, shape);
    seen->input = chunk.data;
    seen->output = place.value().data;
    std::memcpy(place.value().data, chunk.data, chunk.size);
    run.RespondAll(Status::Ok());
  };
  return script;
}

ModelIo IoOf(DataType datatype) {
  ModelIo io = FloatIo();
  io.inputs[0].datatype = io.outputs[0].datatype = datatype;
  return io;
}

const char* At(const BlockRef& memory, size_t offset) {
  return static_cast<const char*>(memory->data()) + offset;
}

}  // namespace

TEST(port_copies_values_of_regions_that_a_model_checks_before_it_uses_them) {
  for (const DataType datatype :
       {DataType::kBool, DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kInt64,
        DataType::kUint8, DataType::kUint16, DataType::kUint32, DataType::kUint64, DataType::kFp16,
        DataType::kBf16, DataType::kFp32, DataType::kFp64}) {
    RegionBench bench;
    Seen seen;
    bench.ServeScript(Looking(&seen, datatype), ConfigOf(IoOf(datatype)));
    const BlockRef memory = RegionMemory::Of("\1bcdefgh" + std::string(56, '\0') + "________");
    const uint32_t region = bench.Register("r", memory);
    const uint64_t size = ByteSize(datatype);
    bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {region, 0, size})}, {},
                       {{0, {region, 64, size}}});
    CHECK(bench.client.Take(1)[0].code == Code::kOk);
    const bool shared = MayBeShared(datatype);
    CHECK_EQ(seen.input == At(memory, 0), shared);
    CHECK_EQ(seen.output == At(memory, 64), shared);
    CHECK_EQ(BytesAt(memory, 64, size), std::string("\1bcdefgh").substr(0, size));
  }
}

TEST(port_refuses_bytes_of_regions_that_are_no_truth_values) {
  RegionBench bench;
  Seen seen;
  bench.ServeScript(Looking(&seen, DataType::kBool), ConfigOf(IoOf(DataType::kBool)));
  const uint32_t region = bench.Register("r", RegionMemory::Of(std::string("\2", 1)));
  bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {region, 0, 1})});
  const auto answers = bench.client.Take(1);
  CHECK(answers[0].code == Code::kInvalidArg);
  CHECK(Contains(answers[0].message, "expected a byte of 0 or 1 for each BOOL"));
}

TEST(port_copies_inputs_if_outputs_may_go_to_the_same_bytes_of_a_file) {
  RegionBench bench;
  Seen seen;
  bench.ServeScript(Looking(&seen, DataType::kFp32), ConfigOf(FloatIo()));
  const BlockRef memory = RegionMemory::Of(BytesOf<float>({3}));
  const platform::FileRange bytes{1, 2, 100, 4};
  const uint32_t first = bench.Register("first", memory, bytes);
  const uint32_t apart = bench.Register("apart", RegionMemory::Make(4), {1, 2, 104, 4});
  const auto ask = [&](uint32_t target) {
    bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {first, 0, 4})}, {}, {{0, {target, 0, 4}}});
    CHECK(bench.client.Take(1)[0].code == Code::kOk);
    return seen.input == memory->data();
  };
  CHECK(ask(apart));
  const uint32_t again = bench.Register("again", RegionMemory::Make(4), {1, 2, 98, 4});
  CHECK(!ask(again));
  CHECK(!ask(apart));
  // Without a target nothing is copied.
  bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {first, 0, 4})});
  CHECK(bench.client.Take(1)[0].code == Code::kOk);
  CHECK(seen.input == memory->data());
}

TEST(port_refuses_bytes_of_regions_before_it_copies_them) {
  constexpr uint64_t kLimit = 1 << 20;
  RegionBench bench(false, kLimit);
  bench.ServeIdentity(ConfigOf(IoOf(DataType::kInt32)));
  const uint32_t region = bench.Register("r", RegionMemory::Make(4 * kLimit));
  const size_t before = bench.client.port().inputs().idle_bytes();
  // Bytes that do not fit the shape.
  uint32_t slot = bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {region, 0, kLimit / 2})});
  auto responses = bench.client.Take(1);
  CHECK(ResponseOf(slot, responses).code == Code::kInvalidArg);
  CHECK_EQ(ResponseOf(slot, responses).message,
           "model 'm', input 'x': expected 4 bytes for shape [1,1] but received 524288");
  // More than the limit of all bytes in flight.
  slot = bench.client.Write(bench.uid, 2 * kLimit / 4,
                            {FloatsAt(0, 2 * kLimit / 4, {region, 0, 2 * kLimit})});
  responses = bench.client.Take(1);
  CHECK(ResponseOf(slot, responses).code == Code::kInvalidArg);
  CHECK(ResponseOf(slot, responses).message.find("maxInFlightBytes is 1048576") !=
        std::string::npos);
  CHECK_EQ(bench.client.port().inputs().idle_bytes(), before);
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
}

TEST(port_calls_records_malformed_that_give_an_output_two_targets) {
  RegionBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  const uint32_t region = bench.Register("r", RegionMemory::Make(8));
  bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {region, 0, 4})}, {},
                     {{0, {region, 0, 4}}, {0, {region, 4, 4}}});
  const Status status = bench.client.Flush();
  CHECK(status.code() == Code::kInternal);
  CHECK_EQ(status.message(), "malformed submission: an output with two targets");
}

TEST(port_takes_no_bytes_from_the_end_of_a_region) {
  RegionBench bench;
  ModelIo io = FloatIo();
  io.inputs[0].dims = io.outputs[0].dims = {-1, -1};
  bench.ServeIdentity(ConfigOf(io));
  const uint32_t region = bench.Register("r", RegionMemory::Make(4));
  bench.client.Write(bench.uid, 1, {{0, {1, 0}, "", PortRange{region, 4, 0}}});
  CHECK(bench.client.Take(1)[0].code == Code::kOk);
}

TEST(regions_end_with_their_server) {
  std::atomic<bool> freed{false};
  ServerBench server;
  RegionTable& regions = server.server().regions();
  CHECK(regions.Add("r", RegionMemory::Make(8, &freed)).ok());
  server.Close(0);
  CHECK(freed.load());
  const auto late = regions.Add("late", RegionMemory::Make(8));
  CHECK(late.status().code() == Code::kUnavailable);
  CHECK_EQ(late.status().message(), "shared memory region 'late': the server is closed");
}

}  // namespace tritonts::test
