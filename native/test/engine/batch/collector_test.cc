// Gathering an input of all requests of a batch.
#include "engine/batch/collector.h"

#include "fake_device.h"
#include "run_fixture.h"

namespace tritonts::test {

namespace {

std::string BytesIn(const Gathered& gathered) {
  return std::string(static_cast<const char*>(gathered.buffer.data), gathered.buffer.size);
}

}  // namespace

TEST(collector_uses_the_only_request_in_place) {
  RunBench bench;
  Request* request = bench.requests.Floats({1, 2});
  bench.Begin({request});
  Gathered gathered;
  CHECK(Gather(bench.run, 0, true, &gathered).ok());
  CHECK(gathered.present);
  CHECK(!gathered.copied);
  CHECK(gathered.buffer.data == request->chunk(*request->input(0)).data);
  CHECK_EQ(gathered.buffer.size, 2 * sizeof(float));
  CHECK_EQ(gathered.shape, (Dims{2, 1}));
  bench.End();
}

TEST(collector_uses_neighbouring_requests_in_place) {
  RunBench bench;
  float memory[] = {1, 2, 3};
  Request* one = bench.requests.Add(1);
  bench.requests.Place(one, 0, DataType::kFp32, {1, 1}, memory, sizeof(float));
  Request* two = bench.requests.Add(2);
  bench.requests.Place(two, 0, DataType::kFp32, {2, 1}, memory + 1, 2 * sizeof(float));
  bench.Begin({one, two});
  Gathered gathered;
  CHECK(Gather(bench.run, 0, true, &gathered).ok());
  CHECK(!gathered.copied);
  CHECK(gathered.buffer.data == memory);
  CHECK_EQ(gathered.buffer.size, sizeof(memory));
  CHECK_EQ(gathered.shape, (Dims{3, 1}));
  bench.End();
}

TEST(collector_copies_requests_that_are_neighbours_in_another_order) {
  RunBench bench;
  float memory[] = {1, 2};
  Request* one = bench.requests.Add(1);
  bench.requests.Place(one, 0, DataType::kFp32, {1, 1}, memory + 1, sizeof(float));
  Request* two = bench.requests.Add(1);
  bench.requests.Place(two, 0, DataType::kFp32, {1, 1}, memory, sizeof(float));
  bench.Begin({one, two});
  Gathered gathered;
  CHECK(Gather(bench.run, 0, true, &gathered).ok());
  CHECK(gathered.copied);
  CHECK_EQ(BytesIn(gathered), BytesOf<float>({2, 1}));
  bench.End();
}

TEST(collector_copies_scattered_requests_in_order) {
  RunBench bench;
  const std::vector<Request*> chosen = {bench.requests.Floats({1, 2}), bench.requests.Floats({3}),
                                        bench.requests.Floats({4, 5})};
  bench.Begin(chosen);
  Gathered gathered;
  CHECK(Gather(bench.run, 0, true, &gathered).ok());
  CHECK(gathered.copied);
  CHECK(gathered.buffer.owner);
  CHECK_EQ(BytesIn(gathered), BytesOf<float>({1, 2, 3, 4, 5}));
  CHECK_EQ(gathered.shape, (Dims{5, 1}));
  bench.End();
}

TEST(collector_joins_the_chunks_of_a_request) {
  RunBench bench;
  const std::string bytes = BytesOf<float>({1, 2});
  Request* request = bench.requests.Add(2);
  bench.requests.Input(request, 0, DataType::kFp32, {2, 1}, bytes.substr(0, 3));
  std::string rest = bytes.substr(3);
  request->header->inputs()[0].first_chunks.push_back(
      {rest.data(), rest.size(), MemoryKind::kHost, 0, {}});
  bench.Begin({request});
  Gathered gathered;
  CHECK(Gather(bench.run, 0, true, &gathered).ok());
  CHECK(gathered.copied);
  CHECK_EQ(BytesIn(gathered), bytes);
  bench.End();
}

TEST(collector_gathers_tensors_without_elements) {
  RunBench bench;
  std::vector<Request*> chosen;
  for (int i = 0; i < 2; i++) {
    chosen.push_back(bench.requests.Add(1));
    bench.requests.Input(chosen.back(), 0, DataType::kFp32, {1, 0}, "");
  }
  bench.Begin(chosen);
  Gathered gathered;
  CHECK(Gather(bench.run, 0, true, &gathered).ok());
  CHECK(gathered.present);
  CHECK_EQ(gathered.buffer.size, 0u);
  CHECK_EQ(gathered.shape, (Dims{2, 0}));
  bench.End();
}

TEST(collector_says_when_no_request_has_the_input) {
  RunBench bench;
  bench.Begin({bench.requests.Floats({1}), bench.requests.Floats({2})});
  Gathered gathered;
  gathered.present = true;
  CHECK(Gather(bench.run, 1, true, &gathered).ok());
  CHECK(!gathered.present);
  bench.End();
}

TEST(collector_finds_an_input_that_is_not_at_its_own_position) {
  RunBench bench;
  Request* request = bench.requests.Add(1);
  bench.requests.Input(request, 2, DataType::kFp32, {1, 1}, BytesOf<float>({7}));
  bench.Begin({request});
  Gathered gathered;
  CHECK(Gather(bench.run, 2, true, &gathered).ok());
  CHECK_EQ(BytesIn(gathered), BytesOf<float>({7}));
  CHECK(Gather(bench.run, 0, true, &gathered).ok());
  CHECK(!gathered.present);
  bench.End();
}

TEST(collector_refuses_requests_of_different_shapes) {
  for (const Dims& other : {Dims{1, 2}, Dims{1, 1, 1}}) {
    RunBench bench;
    Request* odd = bench.requests.Add(1);
    bench.requests.Input(odd, 0, DataType::kFp32, other, BytesOf<float>({1, 2}));
    bench.Begin({bench.requests.Floats({1}), odd});
    Gathered gathered;
    CHECK(Gather(bench.run, 0, true, &gathered).code() == Code::kInvalidArg);
    bench.End();
  }
}

TEST(collector_refuses_an_input_that_only_some_requests_have) {
  for (const bool first_has_it : {true, false}) {
    RunBench bench;
    Request* with = bench.requests.Floats({1});
    Request* without = bench.requests.Add(1);
    bench.Begin(first_has_it ? std::vector{with, without} : std::vector{without, with});
    Gathered gathered;
    CHECK(Gather(bench.run, 0, true, &gathered).code() == Code::kInvalidArg);
    bench.End();
  }
}

TEST(collector_keeps_the_shape_of_a_model_that_does_not_batch) {
  RunBench bench(false);
  Request* request = bench.requests.Add(1);
  bench.requests.Input(request, 0, DataType::kFp32, {2, 2}, BytesOf<float>({1, 2, 3, 4}));
  bench.Begin({request});
  Gathered gathered;
  CHECK(Gather(bench.run, 0, false, &gathered).ok());
  CHECK_EQ(gathered.shape, (Dims{2, 2}));
  bench.End();
}

// --- Kinds of memory.

namespace {

void PlaceOnDevice(RunBench* bench, Request* request, FakeDevice* device, float value,
                   int number = 0) {
  const BlockRef block = device->Put(BytesOf<float>({value}), number);
  bench->requests.Place(request, 0, DataType::kFp32, {1, 1}, block->data(), sizeof(float));
  request->header->inputs()[0].first_chunks[0] = {block->data(), sizeof(float), MemoryKind::kDevice,
                                                  number, block};
}

}  // namespace

TEST(collector_brings_inputs_of_a_device_to_the_host) {
  FakeDevice device;
  RunBench bench;
  std::vector<Request*> chosen = {bench.requests.Add(1)};
  PlaceOnDevice(&bench, chosen[0], &device, 3);
  for (const bool alone : {true, false}) {
    if (!alone) chosen = {bench.requests.Floats({1}), bench.requests.Add(1)};
    if (!alone) PlaceOnDevice(&bench, chosen[1], &device, 3);
    bench.Begin(chosen);
    Gathered gathered;
    CHECK(Gather(bench.run, 0, true, &gathered).ok());
    CHECK(gathered.copied);
    CHECK(gathered.buffer.kind == MemoryKind::kHost);
    CHECK_EQ(BytesIn(gathered), alone ? BytesOf<float>({3}) : BytesOf<float>({1, 3}));
    bench.End();
  }
}

TEST(collector_gathers_inputs_on_the_device_of_the_instance) {
  FakeDevice device;
  RunBench bench(true, false, &device);
  Request* there = bench.requests.Add(1);
  PlaceOnDevice(&bench, there, &device, 2);
  bench.Begin({bench.requests.Floats({1}), there});
  Gathered gathered;
  CHECK(Gather(bench.run, 0, true, &gathered, MemoryKind::kDevice).ok());
  CHECK(gathered.buffer.kind == MemoryKind::kDevice);
  std::string bytes(8, 0);
  CHECK(device.Copy(gathered.buffer, {bytes.data(), 8, MemoryKind::kHost, 0, {}}).ok());
  CHECK_EQ(bytes, BytesOf<float>({1, 2}));
  bench.End();
}

TEST(collector_uses_an_input_in_place_on_its_own_device_only) {
  FakeDevice device;
  for (const int number : {0, 1}) {
    RunBench bench(true, false, &device);
    Request* request = bench.requests.Add(1);
    PlaceOnDevice(&bench, request, &device, 2, number);
    bench.Begin({request});
    Gathered gathered;
    CHECK(Gather(bench.run, 0, true, &gathered, MemoryKind::kDevice, 0).ok());
    CHECK_EQ(gathered.copied, number == 1);
    CHECK_EQ(gathered.buffer.device, 0);
    bench.End();
  }
}

TEST(collector_refuses_memory_that_nobody_copies) {
  FakeDevice device;
  device.copies = false;
  RunBench bench;
  Request* request = bench.requests.Add(1);
  PlaceOnDevice(&bench, request, &device, 2, 3);
  bench.Begin({request});
  Gathered gathered;
  const Status status = Gather(bench.run, 0, true, &gathered);
  CHECK(status.code() == Code::kUnsupported);
  CHECK_EQ(status.message(), "cannot copy from memory of device 3 to host memory");
  CHECK(Gather(bench.run, 0, true, &gathered, MemoryKind::kPinned).code() == Code::kUnsupported);
  bench.End();
}

TEST(collector_takes_the_values_of_a_shape_tensor_once_with_the_rows_of_the_batch) {
  for (const bool alike : {true, false}) {
    RunBench bench;
    Request* one = bench.requests.Floats({1});
    bench.requests.Input(one, 1, DataType::kInt32, {3}, BytesOf<int32_t>({1, 4, 5}));
    Request* two = bench.requests.Floats({2, 3});
    bench.requests.Input(two, 1, DataType::kInt32, {3}, BytesOf<int32_t>({2, 4, alike ? 5 : 6}));
    bench.Begin({one, two});
    Gathered gathered;
    const Status status = GatherShapeValues(bench.run, 1, &gathered);
    CHECK_EQ(status.message(),
             alike ? ""
                   : "request 1 of the batch has the values 2, 4, 6 of a shape tensor, and the "
                     "first one has 1, 4, 5: only the first value, the number of rows, may differ");
    CHECK_EQ(gathered.present, alike);
    if (alike) {
      CHECK_EQ(BytesIn(gathered), BytesOf<int32_t>({3, 4, 5}));
      CHECK_EQ(gathered.shape, (Dims{3}));
    }
    bench.End();
  }
}

}  // namespace tritonts::test
