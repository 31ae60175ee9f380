// Inputs of a port's requests that come from regions, and outputs that go there.
#include <atomic>
#include <thread>

#include "engine/batch/collector.h"
#include "ensemble_fixture.h"
#include "fake_device.h"
#include "region_fixture.h"

namespace tritonts::test {

namespace {

// A model that returns `count` tensors of floats as they are.
ModelIo PassIo(size_t count) {
  ModelIo io;
  io.max_batch_size = 8;
  for (size_t i = 0; i < count; i++) {
    io.inputs.push_back({"x" + std::to_string(i), DataType::kFp32, {-1, 1}, true});
    io.outputs.push_back({"y" + std::to_string(i), DataType::kFp32, {-1, 1}, false});
  }
  return io;
}

// A model whose instances read and write the memory of a fake device.
class DeviceBackend final : public Backend {
 public:
  explicit DeviceBackend(FakeDevice* device) : device_(device) {}
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec&) override {
    return std::unique_ptr<Model>(new DeviceModel(device_));
  }
  bool may_run_on_js_thread() const override { return false; }

  // How many inputs were used where they lay.
  static inline std::atomic<int> in_place{0};

 private:
  class DeviceInstance final : public Instance {
   public:
    explicit DeviceInstance(FakeDevice* device) : device_(device) {}
    bool Takes(uint32_t, MemoryKind, int) const override { return true; }
    MemoryCopier* memory() override { return device_; }
    void Execute(Run& run) override {
      Gathered input;
      Status status = Gather(run, 0, true, &input, MemoryKind::kDevice, 0);
      if (!status.ok()) return run.RespondAll(status);
      if (!input.copied) in_place++;
      const BlockRef output = device_->Allocate(MemoryKind::kDevice, 0, input.buffer.size);
      std::memcpy(output->data(), input.buffer.data, input.buffer.size);
      const int64_t tail[] = {1};
      run.SetOutput(0, DataType::kFp32, tail, output->data(), input.buffer.size, output.get());
      run.RespondAll(Status::Ok());
    }

   private:
    FakeDevice* const device_;
  };
  class DeviceModel final : public Model {
   public:
    explicit DeviceModel(FakeDevice* device) : device_(device) {}
    ModelDescription Describe() const override { return {}; }
    Status Configure(const ModelIo&, std::string_view) override { return Status::Ok(); }
    StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec&) override {
      return std::unique_ptr<Instance>(new DeviceInstance(device_));
    }

   private:
    FakeDevice* const device_;
  };
  FakeDevice* const device_;
};

}  // namespace

TEST(port_takes_inputs_from_slabs_blocks_regions_and_devices_in_one_request) {
  FakeDevice device;
  RegionBench bench;
  bench.ServeIdentity(ConfigOf(PassIo(4)));
  const uint32_t host = bench.Register("host", RegionMemory::Of(BytesOf<float>({1, 2, 3, 4})));
  const uint32_t on_device = bench.Register("device", device.Put(BytesOf<float>({5, 6, 7})));
  bench.client.Write(bench.uid, 2,
                     {FloatsIn(0, {10, 11}), FloatsAt(1, 2, {host, 8, 8}),
                      FloatsAt(2, 2, {on_device, 4, 8}), FloatsIn(3, {12, 13})});
  bench.client.Write(bench.uid, 1, {FloatsAt(2, 1, {on_device, 0, 4})});
  const auto responses = bench.client.Take(2);
  const PortResponse& response = ResponseOf(0, responses);
  CHECK(response.code == Code::kOk);
  CHECK_EQ(response.outputs.size(), 4u);
  for (const PortResponse::Output& output : response.outputs) {
    const std::vector<std::vector<float>> expected = {{10, 11}, {3, 4}, {6, 7}, {12, 13}};
    CHECK_EQ(output.bytes, BytesOf(expected[output.index]));
    CHECK_EQ(output.shape, (std::vector<int64_t>{2, 1}));
  }
  CHECK_EQ(ResponseOf(1, responses).outputs[0].bytes, BytesOf<float>({5}));
}

TEST(port_takes_a_block_and_a_region_in_one_request) {
  RegionBench bench;
  ModelIo io = PassIo(2);
  for (TensorSpec& spec : io.inputs) spec.dims = {-1, -1};
  for (TensorSpec& spec : io.outputs) spec.dims = {-1, -1};
  bench.ServeIdentity(ConfigOf(io));
  const uint32_t host = bench.Register("host", RegionMemory::Of(BytesOf<float>({1, 2})));
  const std::string large = BytesOf(std::vector<float>(20'000, 7));
  bench.client.Write(bench.uid, 1,
                     {{0, {1, 20'000}, large}, {1, {1, 2}, "", PortRange{host, 0, 8}}});
  const auto responses = bench.client.Take(1);
  CHECK(responses[0].code == Code::kOk);
  for (const PortResponse::Output& output : responses[0].outputs) {
    CHECK_EQ(output.bytes, output.index == 0 ? large : BytesOf<float>({1, 2}));
  }
}

TEST(port_writes_outputs_to_regions_and_tells_their_shapes_and_sizes) {
  for (const bool placed : {false, true}) {
    Script script;
    script.execute = [placed](uint32_t, Run& run) {
      for (uint32_t i = 0; i < run.requests().size(); i++) {
        const int64_t shape[] = {2, 1};
        const std::string bytes = BytesOf<float>({4, 5});
        for (const uint32_t output : {0u, 1u}) {
          if (!placed) {
            run.SetRequestOutput(i, output, DataType::kFp32, shape, bytes.data(), 8, nullptr);
            continue;
          }
          auto place = run.Output(i, output, DataType::kFp32, shape);
          CHECK(place.ok());
          // Only the place in the region is other processes' memory.
          CHECK((place.value().kind == MemoryKind::kShared) == (output == 1));
          std::memcpy(place.value().data, bytes.data(), 8);
        }
        run.Respond(i, Status::Ok());
      }
    };
    RegionBench bench;
    bench.ServeScript(std::move(script), ConfigOf(PassIo(2)));
    const BlockRef memory = RegionMemory::Make(64);
    const uint32_t region = bench.Register("out", memory);
    bench.client.Write(bench.uid, 2, {FloatsIn(0, {1, 2})}, {}, {{1, {region, 16, 32}}});
    const auto responses = bench.client.Take(1);
    CHECK(responses[0].code == Code::kOk);
    CHECK_EQ(responses[0].outputs.size(), 2u);
    const PortResponse::Output& page = responses[0].outputs[0];
    CHECK(!page.stored);
    CHECK_EQ(page.bytes, BytesOf<float>({4, 5}));
    const PortResponse::Output& stored = responses[0].outputs[1];
    CHECK(stored.stored);
    CHECK_EQ(stored.size, 8u);
    CHECK_EQ(stored.shape, (std::vector<int64_t>{2, 1}));
    CHECK(stored.datatype == DataType::kFp32);
    CHECK_EQ(BytesAt(memory, 0, 64),
             std::string(16, '\0') + BytesOf<float>({4, 5}) + std::string(40, '\0'));
  }
}

TEST(port_writes_large_outputs_to_regions) {
  RegionBench bench;
  ModelIo io = FloatIo();
  io.inputs[0].dims = io.outputs[0].dims = {-1, -1};
  bench.ServeIdentity(ConfigOf(io));
  constexpr size_t kSize = 200'000;
  const BlockRef memory = RegionMemory::Make(kSize);
  const uint32_t region = bench.Register("out", memory);
  const std::string bytes(kSize, 'x');
  bench.client.Write(bench.uid, 1, {{0, {1, kSize / 4}, bytes}}, {}, {{0, {region, 0, kSize}}});
  const auto responses = bench.client.Take(1);
  CHECK(responses[0].outputs[0].stored);
  CHECK_EQ(responses[0].outputs[0].size, kSize);
  CHECK(BytesAt(memory, 0, kSize) == bytes);
}

TEST(port_takes_the_requests_of_a_group_from_neighbouring_ranges) {
  RegionBench bench;
  bench.ServeIdentity(ConfigOf(PassIo(2)));
  const BlockRef memory = RegionMemory::Make(128);
  std::atomic<bool> freed{false};
  const uint32_t in = bench.Register("in", RegionMemory::Of(BytesOf<float>({1, 2, 3}), &freed));
  const uint32_t out = bench.Register("out", memory);
  const uint32_t slot = bench.client.Write(
      bench.uid, 1, {FloatsAt(0, 1, {in, 0, 4}), {1, {1, 1}, BytesOf<float>({7, 8, 9})}}, {},
      {{0, {out, 4, 16}}}, 3);
  const auto responses = bench.client.Take(3);
  for (uint32_t i = 0; i < 3; i++) {
    const PortResponse& response = ResponseOf(slot + i * PortClient::kPosition, responses);
    CHECK(response.code == Code::kOk);
    CHECK(response.outputs[0].stored);
    CHECK_EQ(response.outputs[1].bytes, BytesOf<float>({static_cast<float>(7 + i)}));
    CHECK_EQ(BytesAt(memory, 4 + i * 16, 4), BytesOf<float>({static_cast<float>(1 + i)}));
  }
  // The range of a group is checked as a whole.
  bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {in, 0, 4})}, {}, {}, 4);
  for (const PortResponse& response : bench.client.Take(4)) {
    CHECK(response.code == Code::kInvalidArg);
  }
  CHECK(bench.Unregister(in));
  CHECK(freed);
}

TEST(port_answers_a_batch_of_which_some_requests_write_to_regions) {
  RegionBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo(), 1, Dynamic(8)));
  const BlockRef memory = RegionMemory::Make(64);
  const uint32_t region = bench.Register("out", memory);
  for (int round = 0; round < 20; round++) {
    std::memset(memory->data(), 0, 64);
    std::vector<uint32_t> slots;
    for (uint32_t i = 0; i < 6; i++) {
      const auto value = static_cast<float>(round + i);
      std::vector<PortTarget> targets;
      // The last one has too little room.
      if (i % 2 == 1) targets.push_back({0, {region, i * 8, i == 5 ? 2u : 4u}});
      slots.push_back(bench.client.Write(bench.uid, 1, {FloatsIn(0, {value})}, {}, targets));
    }
    const auto responses = bench.client.Take(6);
    for (uint32_t i = 0; i < 6; i++) {
      const std::string expected = BytesOf<float>({static_cast<float>(round + i)});
      const PortResponse& response = ResponseOf(slots[i], responses);
      if (i == 5) {
        CHECK(response.code == Code::kInvalidArg);
        CHECK_EQ(response.message,
                 "shared memory size specified with the request for output 'y' (2 bytes) should be "
                 "at least 4 bytes to hold the results");
        CHECK_EQ(BytesAt(memory, i * 8, 4), std::string(4, '\0'));
        continue;
      }
      CHECK(response.code == Code::kOk);
      CHECK(response.outputs[0].stored == (i % 2 == 1));
      CHECK_EQ(i % 2 == 1 ? BytesAt(memory, i * 8, 4) : response.outputs[0].bytes, expected);
    }
  }
}

TEST(port_refuses_only_the_requests_whose_regions_or_ranges_do_not_exist) {
  RegionBench bench;
  bench.ServeIdentity(ConfigOf(PassIo(2)));
  const uint32_t region = bench.Register("in", RegionMemory::Make(16));
  const uint64_t huge = uint64_t{1} << 40;
  const std::string large(100'000, 'x');
  struct Case {
    PortRange source;
    PortRange target;
    Code code;
    std::string message;
  };
  const std::vector<Case> cases = {
      {{99, 4, 4},
       {region, 0, 4},
       Code::kNotFound,
       "shared memory region 99 is not registered, but a request names 4 bytes at its offset 4"},
      {{region, 16, 4},
       {region, 0, 4},
       Code::kInvalidArg,
       "shared memory region 'in' has 16 bytes, but a request names 4 bytes at offset 16"},
      {{region, huge, 4},
       {region, 0, 4},
       Code::kInvalidArg,
       "shared memory region 'in' has 16 bytes, but a request names 4 bytes at offset "
       "1099511627776"},
      {{region, 0, 4},
       {region, 8, UINT64_MAX},
       Code::kInvalidArg,
       "shared memory region 'in' has 16 bytes, but a request names 18446744073709551615 bytes at "
       "offset 8"},
      {{region, 0, 4},
       {98, 0, 4},
       Code::kNotFound,
       "shared memory region 98 is not registered, but a request names 4 bytes at its offset 0"},
      {{region, 0, 8},
       {region, 8, 4},
       Code::kInvalidArg,
       "model 'm', input 'x0': expected 4 bytes for shape [1,1] but received 8"},
  };
  for (const Case& one : cases) {
    const uint32_t before = bench.Write({3});
    const uint32_t slot = bench.client.Write(
        bench.uid, 1, {FloatsAt(0, 1, one.source), {1, {1, 1}, large}}, {}, {{0, one.target}});
    const uint32_t after = bench.Write({4});
    const auto responses = bench.client.Take(3);
    CHECK(ResponseOf(before, responses).code == Code::kOk);
    CHECK(ResponseOf(after, responses).code == Code::kOk);
    const PortResponse& refused = ResponseOf(slot, responses);
    CHECK(refused.code == one.code);
    CHECK_EQ(refused.message, one.message);
    CHECK(!refused.unserved);
  }
  // The refused requests' blocks were freed, and their charge, too.
  CHECK_EQ(bench.server.server().in_flight_bytes(), 0u);
  CHECK(bench.client.port().inputs().idle_bytes() >= large.size());
}

TEST(port_calls_records_malformed_that_name_no_output_or_are_cut) {
  RegionBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  const uint32_t region = bench.Register("in", RegionMemory::Make(16));
  const auto uid = static_cast<int32_t>(bench.uid);
  const auto id = static_cast<int32_t>(region);
  // Each submission has a new generation, as from JavaScript.
  int32_t generation = 0;
  const auto record = [&] {
    return std::vector<int32_t>{uid, 0, ++generation,    1,  1 | 1 << 16, 0, 1, 0, id, 8, 0, 4,
                                0,   0, layout::kRegion, id, 0,           4, 2, 0, 0,  1, 1};
  };
  const size_t whole = record().size();
  for (size_t words = 8; words < whole; words++) {
    std::vector<int32_t> cut = record();
    cut.resize(words);
    CHECK(bench.client.Submit(cut).code() == Code::kInternal);
  }
  std::vector<int32_t> unknown = record();
  unknown[7] = 1;
  CHECK_EQ(bench.client.Submit(unknown).message(), "malformed submission: unknown output");
  // What was refused is undone: the slot is free.
  CHECK(bench.client.Submit(record()).ok());
  std::vector<CompletionPage*> pages;
  CHECK(Eventually([&] {
    pages = TakePages(bench.client.port());
    return !pages.empty();
  }));
  std::vector<PortResponse> responses;
  ReadPage(*pages[0], &responses);
  CHECK(responses[0].code == Code::kOk);
  bench.client.port().Recycle(pages[0]);
}

TEST(port_keeps_an_unregistered_region_until_its_requests_have_ended) {
  for (const bool cancel : {false, true}) {
    RegionBench bench;
    bench.ServeRuns(ConfigOf(FloatIo()));
    bench.runs->Shut();
    std::atomic<bool> in_freed{false};
    std::atomic<bool> out_freed{false};
    const uint32_t in = bench.Register("in", RegionMemory::Of(BytesOf<float>({1, 2}), &in_freed));
    const uint32_t out = bench.Register("out", RegionMemory::Make(8, &out_freed));
    const uint32_t slot =
        bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {in, 0, 4})}, {}, {{0, {out, 0, 4}}}, 2);
    CHECK(bench.client.Flush().ok());
    CHECK(bench.runs->Started(1));
    CHECK(bench.Unregister(in));
    CHECK(bench.Unregister(out));
    // A later request does not find it.
    const uint32_t late = bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {in, 0, 4})});
    CHECK(ResponseOf(late, bench.client.Take(1)).code == Code::kNotFound);
    if (cancel) bench.client.CancelGroup(slot);
    CHECK(!in_freed);
    CHECK(!out_freed);
    bench.runs->Open();
    bench.client.Take(2);
    CHECK(in_freed);
    CHECK(out_freed);
  }
}

TEST(port_without_an_environment_releases_regions) {
  std::atomic<bool> freed{false};
  RegionBench bench;
  bench.ServeRuns(ConfigOf(FloatIo()));
  bench.runs->Shut();
  const uint32_t in = bench.Register("in", RegionMemory::Of(BytesOf<float>({1}), &freed));
  bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {in, 0, 4})}, {}, {{0, {in, 0, 4}}});
  CHECK(bench.client.Flush().ok());
  CHECK(bench.runs->Started(1));
  CHECK(bench.Unregister(in));
  const auto port = bench.client.Release();
  CHECK(!freed);
  bench.runs->Open();
  CHECK(Eventually([&] { return port.expired(); }));
  CHECK(freed);
}

TEST(port_copies_strings_before_it_checks_them) {
  RegionBench bench;
  ModelIo io = FloatIo();
  io.inputs[0].datatype = io.outputs[0].datatype = DataType::kBytes;
  bench.ServeRuns(ConfigOf(io));
  const auto text = [](uint32_t length, const std::string& bytes) {
    return std::string(reinterpret_cast<const char*>(&length), 4) + bytes;
  };
  const BlockRef memory = RegionMemory::Of(text(3, "abc") + text(9, "def"));
  const uint32_t region = bench.Register("in", memory);
  const uint32_t bad = bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {region, 7, 7})});
  const PortResponse refused = ResponseOf(bad, bench.client.Take(1));
  CHECK(refused.code == Code::kInvalidArg);
  CHECK_EQ(refused.message, "model 'm', input 'x': element 0 has 9 bytes, but only 3 are left");

  RegionBench other;
  std::string seen;
  Event go;
  Script script;
  script.execute = [&](uint32_t, Run& run) {
    go.Wait();
    const Buffer chunk = run.requests()[0]->chunk(*run.input(0, 0));
    seen.assign(static_cast<const char*>(chunk.data), chunk.size);
    run.RespondAll(Status::Internal("read"));
  };
  other.ServeScript(std::move(script), ConfigOf(io));
  const uint32_t same = other.Register("in", memory);
  other.client.Write(other.uid, 1, {FloatsAt(0, 1, {same, 0, 7})});
  CHECK(other.client.Flush().ok());
  std::memset(memory->data(), 0xff, 7);
  go.Set();
  other.client.Take(1);
  CHECK_EQ(seen, text(3, "abc"));
}

TEST(port_swaps_two_inputs_in_their_own_region) {
  RegionBench bench;
  bench.ServeIdentity(ConfigOf(PassIo(2)));
  const BlockRef memory = RegionMemory::Of(BytesOf<float>({1, 2}));
  const uint32_t region = bench.Register("both", memory);
  bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {region, 0, 4}), FloatsAt(1, 1, {region, 4, 4})},
                     {}, {{0, {region, 4, 4}}, {1, {region, 0, 4}}});
  CHECK(bench.client.Take(1)[0].code == Code::kOk);
  CHECK_EQ(BytesAt(memory, 0, 8), BytesOf<float>({2, 1}));
}

TEST(port_reads_and_writes_ranges_that_do_not_begin_at_an_element) {
  RegionBench bench;
  Script script;
  script.execute = [](uint32_t, Run& run) {
    const Buffer chunk = run.requests()[0]->chunk(*run.input(0, 0));
    const int64_t shape[] = {1, 1};
    auto place = run.Output(0, 0, DataType::kFp32, shape);
    CHECK_EQ(reinterpret_cast<uintptr_t>(chunk.data) % 4, 0u);
    CHECK_EQ(reinterpret_cast<uintptr_t>(place.value().data) % 4, 0u);
    std::memcpy(place.value().data, chunk.data, 4);
    run.RespondAll(Status::Ok());
  };
  bench.ServeScript(std::move(script), ConfigOf(FloatIo()));
  const BlockRef memory = RegionMemory::Of("?" + BytesOf<float>({6}) + "??????????");
  const uint32_t region = bench.Register("odd", memory);
  bench.client.Write(bench.uid, 1, {FloatsAt(0, 1, {region, 1, 4})}, {}, {{0, {region, 7, 4}}});
  CHECK(bench.client.Take(1)[0].code == Code::kOk);
  CHECK_EQ(BytesAt(memory, 7, 4), BytesOf<float>({6}));
}

TEST(port_leaves_device_memory_where_the_model_and_the_region_are) {
  FakeDevice device;
  DeviceBackend backend(&device);
  RegionBench bench;
  VersionConfig config = ConfigOf(FloatIo());
  config.instances[0].memory = MemoryKind::kDevice;
  bench.uid = bench.server.Serve(&backend, std::move(config));
  const BlockRef memory = device.Put(BytesOf<float>({1, 2, 0, 0}));
  const uint32_t region = bench.Register("device", memory);
  const BlockRef host = RegionMemory::Make(8);
  const uint32_t on_host = bench.Register("host", host);
  const auto send = [&](const std::vector<PortTarget>& targets) {
    DeviceBackend::in_place = 0;
    device.copied = 0;
    bench.client.Write(bench.uid, 2, {FloatsAt(0, 2, {region, 0, 8})}, {}, targets);
    const PortResponse response = bench.client.Take(1)[0];
    CHECK(response.code == Code::kOk);
    CHECK_EQ(DeviceBackend::in_place.load(), 1);
    CHECK_EQ(device.copied.load(), 1);
    return response;
  };
  CHECK_EQ(send({}).outputs[0].bytes, BytesOf<float>({1, 2}));
  CHECK(send({{0, {region, 8, 8}}}).outputs[0].stored);
  CHECK_EQ(BytesAt(memory, 8, 8), BytesAt(memory, 0, 8));
  CHECK(send({{0, {on_host, 0, 8}}}).outputs[0].stored);
  CHECK_EQ(BytesAt(host, 0, 8), BytesOf<float>({1, 2}));
  // A model on the host gets a copy, and its output is copied to the device.
  const uint32_t plain = bench.server.Serve(&bench.identity, ConfigOf(FloatIo()));
  const BlockRef other = device.Put(BytesOf<float>({0, 0}));
  const uint32_t target = bench.Register("other", other);
  bench.client.Write(plain, 2, {FloatsAt(0, 2, {region, 0, 8})}, {}, {{0, {target, 0, 8}}});
  CHECK(bench.client.Take(1)[0].outputs[0].stored);
  CHECK_EQ(BytesAt(other, 0, 8), BytesAt(memory, 0, 8));
  // Where nothing copies, only the request fails.
  device.copies = false;
  bench.client.Write(plain, 2, {FloatsAt(0, 2, {region, 0, 8})});
  CHECK(bench.client.Take(1)[0].code == Code::kUnsupported);
  bench.client.Write(plain, 2, {FloatsIn(0, {1, 2})}, {}, {{0, {target, 0, 8}}});
  const PortResponse refused = bench.client.Take(1)[0];
  CHECK(refused.code == Code::kUnsupported);
  CHECK_EQ(refused.message,
           "model 'm', output 'y': cannot copy from host memory to memory of device 0");
}

TEST(port_gives_regions_to_ensembles) {
  RegionBench bench;
  bench.ServeIdentity(ConfigOf(FloatIo()));
  const uint32_t uid = bench.server.server().AddEnsemble("e", 1, ChainOf(2));
  const uint32_t steps[] = {bench.uid, bench.uid};
  CHECK(bench.server.server().BindEnsemble(uid, steps).ok());
  const BlockRef memory = RegionMemory::Of(BytesOf<float>({1, 2, 0, 0, 0, 0, 0, 0}));
  const uint32_t region = bench.Register("both", memory);
  bench.client.Write(uid, 1, {FloatsAt(0, 1, {region, 0, 4})}, {}, {{0, {region, 8, 8}}}, 2);
  for (const PortResponse& response : bench.client.Take(2)) {
    CHECK(response.code == Code::kOk);
    CHECK(response.outputs[0].stored);
  }
  CHECK_EQ(BytesAt(memory, 8, 16), BytesOf<float>({1, 0, 2, 0}));
}

TEST(ports_share_regions_that_others_register_meanwhile) {
  ServerBench server;
  IdentityBackend identity;
  const uint32_t uid = server.Serve(&identity, ConfigOf(FloatIo(), 2, Dynamic(4)));
  RegionTable& regions = server.server().regions();
  const uint32_t lasting = regions.Add("lasting", RegionMemory::Of(BytesOf<float>({3}))).value();
  std::atomic<bool> stop{false};
  std::atomic<uint32_t> passing{0};
  std::thread registrar([&] {
    for (int i = 0; !stop; i++) {
      // The name of one that is in use stays taken.
      auto id =
          regions.Add("passing " + std::to_string(i), RegionMemory::Of(BytesOf<float>({4, 0, 0})));
      passing = id.value();
      std::this_thread::yield();
      regions.Remove(id.value());
    }
  });
  std::vector<std::thread> environments;
  for (uint32_t k = 0; k < 2; k++) {
    environments.emplace_back([&, k] {
      PortClient client(server.shared());
      // Each has a place of its own for its answers.
      const uint32_t own = 4 * (k + 1);
      for (int i = 0; i < 200; i++) {
        const uint32_t sure = client.Write(uid, 1, {FloatsAt(0, 1, {lasting, 0, 4})});
        const uint32_t maybe =
            client.Write(uid, 1, {FloatsAt(0, 1, {passing, 0, 4})}, {}, {{0, {passing, own, 4}}});
        const auto responses = client.Take(2);
        CHECK_EQ(ResponseOf(sure, responses).outputs[0].bytes, BytesOf<float>({3}));
        const Code code = ResponseOf(maybe, responses).code;
        CHECK(code == Code::kOk || code == Code::kNotFound);
      }
    });
  }
  for (std::thread& environment : environments) environment.join();
  stop = true;
  registrar.join();
}

}  // namespace tritonts::test
