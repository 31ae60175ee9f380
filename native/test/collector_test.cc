// Gathering an input of all requests of a batch.
#include "collector.h"

#include "batch_fixture.h"

namespace tritonts::test {

namespace {

using Dims = std::vector<int64_t>;

std::string BytesIn(const Gathered& gathered) {
  return std::string(static_cast<const char*>(gathered.buffer.data), gathered.buffer.size);
}

}  // namespace

TEST(collector_uses_the_only_request_in_place) {
  BatchBench bench;
  Request* request = bench.requests.Floats({1, 2});
  bench.Begin({request});
  Gathered gathered;
  CHECK(Gather(bench.run, 0, true, &gathered).ok());
  CHECK(gathered.present);
  CHECK(!gathered.copied);
  CHECK(gathered.buffer.data == request->input(0)->chunks[0].data);
  CHECK_EQ(gathered.buffer.size, 2 * sizeof(float));
  CHECK_EQ(gathered.shape, (Dims{2, 1}));
  bench.End();
}

TEST(collector_uses_neighbouring_requests_in_place) {
  BatchBench bench;
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
  BatchBench bench;
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
  BatchBench bench;
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
  BatchBench bench;
  const std::string bytes = BytesOf<float>({1, 2});
  Request* request = bench.requests.Add(2);
  bench.requests.Input(request, 0, DataType::kFp32, {2, 1}, bytes.substr(0, 3));
  std::string rest = bytes.substr(3);
  request->inputs()[0].chunks.push_back({rest.data(), rest.size(), MemoryKind::kHost, 0, {}});
  bench.Begin({request});
  Gathered gathered;
  CHECK(Gather(bench.run, 0, true, &gathered).ok());
  CHECK(gathered.copied);
  CHECK_EQ(BytesIn(gathered), bytes);
  bench.End();
}

TEST(collector_gathers_tensors_without_elements) {
  BatchBench bench;
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
  BatchBench bench;
  bench.Begin({bench.requests.Floats({1}), bench.requests.Floats({2})});
  Gathered gathered;
  gathered.present = true;
  CHECK(Gather(bench.run, 1, true, &gathered).ok());
  CHECK(!gathered.present);
  bench.End();
}

TEST(collector_finds_an_input_that_is_not_at_its_own_position) {
  BatchBench bench;
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
    BatchBench bench;
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
    BatchBench bench;
    Request* with = bench.requests.Floats({1});
    Request* without = bench.requests.Add(1);
    bench.Begin(first_has_it ? std::vector{with, without} : std::vector{without, with});
    Gathered gathered;
    CHECK(Gather(bench.run, 0, true, &gathered).code() == Code::kInvalidArg);
    bench.End();
  }
}

TEST(collector_keeps_the_shape_of_a_model_that_does_not_batch) {
  BatchBench bench(false);
  Request* request = bench.requests.Add(1);
  bench.requests.Input(request, 0, DataType::kFp32, {2, 2}, BytesOf<float>({1, 2, 3, 4}));
  bench.Begin({request});
  Gathered gathered;
  CHECK(Gather(bench.run, 0, false, &gathered).ok());
  CHECK_EQ(gathered.shape, (Dims{2, 2}));
  bench.End();
}

}  // namespace tritonts::test
