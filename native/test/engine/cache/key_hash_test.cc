// The hash of a key does not depend on how its bytes are divided, and depends on everything else.
#include <random>
#include <set>
#include <string>

#include "cache_fixture.h"

namespace tritonts::test {

namespace {

KeyHash HashOfBytes(const std::string& bytes, uint64_t seed = 1) {
  KeyHasher hasher(seed);
  hasher.Add(bytes.data(), bytes.size());
  return hasher.Finish();
}

std::pair<uint64_t, uint64_t> PairOf(const KeyHash& hash) {
  return {hash.low, hash.high};
}

}  // namespace

TEST(cache_hash_does_not_depend_on_how_bytes_are_divided) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; round++) {
    std::string bytes(random() % 400, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    KeyHasher hasher(1);
    for (size_t at = 0; at < bytes.size();) {
      const size_t some = std::min<size_t>(random() % 100, bytes.size() - at);
      hasher.Add(bytes.data() + at, some);
      at += some;
    }
    CHECK(hasher.Finish() == HashOfBytes(bytes));
  }
}

TEST(cache_hash_depends_on_each_bit_and_on_the_length) {
  std::set<uint64_t> low;
  std::set<uint64_t> high;
  size_t hashes = 0;
  const auto add = [&](const std::string& bytes, uint64_t seed = 1) {
    const auto [a, b] = PairOf(HashOfBytes(bytes, seed));
    low.insert(a);
    high.insert(b);
    hashes++;
  };
  for (size_t size = 0; size < 300; size++) add(std::string(size, '\0'));
  for (size_t bit = 0; bit < 200 * 8; bit++) {
    std::string bytes(200, 'x');
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    add(bytes);
  }
  for (uint64_t seed = 2; seed < 100; seed++) add("a key", seed);
  CHECK_EQ(low.size(), hashes);
  CHECK_EQ(high.size(), hashes);
}

TEST(cache_hash_depends_on_the_order_of_parts) {
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  CHECK(!(HashOfBytes(a + b) == HashOfBytes(b + a)));
  CHECK(!(HashOfBytes(a + a + b) == HashOfBytes(a + b + a)));
}

TEST(cache_keys_differ_in_everything_that_an_answer_may_depend_on) {
  Requests requests;
  // Each has the same bytes, and differs from the first one in one way.
  std::vector<Request*> all;
  const auto add = [&](std::vector<int64_t> shape = {2, 1}, uint32_t index = 0,
                       DataType datatype = DataType::kFp32) {
    Request* const request = requests.Add(2);
    requests.Input(request, index, datatype, std::move(shape), "12345678");
    all.push_back(request);
    return request;
  };
  add();
  add({1, 2});
  add({2});
  add({2, 1}, 1);
  add({2, 1}, 0, DataType::kInt32);
  add()->header->wanted = {0};
  add()->header->wanted = {1};
  add()->header->wanted = {0, 1};
  add()->header->batch_size = 1;
  add()->header->parameters = {{"a", std::string("1")}};
  add()->header->parameters = {{"a", int64_t{1}}};
  add()->header->parameters = {{"a", 1.0}};
  add()->header->parameters = {{"a", true}};
  add()->header->parameters = {{"a", false}};
  add()->header->parameters = {{"b", true}};
  add()->header->parameters = {{"a", std::string("1")}, {"b", true}};
  requests.Input(add(), 1, DataType::kFp32, {2, 1}, "12345678");
  LocalCache cache(1 << 20);
  CacheKeys keys(&cache);
  for (size_t i = 0; i < all.size(); i++) {
    CHECK_EQ(keys.Find(*all[i], 1), -1);
    CHECK(keys.Insert(*all[i], std::string(1, static_cast<char>(i)), 1) ==
          LocalCache::Inserted::kYes);
  }
  for (size_t i = 0; i < all.size(); i++) CHECK_EQ(keys.Find(*all[i], 1), static_cast<int>(i));
  // Another load of the model has another scope.
  CHECK_EQ(keys.Find(*all[0], 1, 2), -1);
  // Priority and time-out do not matter.
  all[0]->header->priority = 3;
  all[0]->header->timeout_ns = 5;
  CHECK_EQ(keys.Find(*all[0], 1), 0);
}

TEST(cache_keys_do_not_depend_on_chunks) {
  Requests requests;
  Request* const whole = requests.Add();
  requests.Input(whole, 0, DataType::kUint8, {1, 100}, std::string(50, 'a') + std::string(50, 'b'));
  Request* const divided = requests.Add();
  std::string first(30, 'a');
  std::string second = std::string(20, 'a') + std::string(50, 'b');
  requests.Place(divided, 0, DataType::kUint8, {1, 100}, first.data(), first.size());
  divided->header->inputs()[0].first_chunks.push_back({});
  divided->header->inputs()[0].first_chunks.push_back(
      {second.data(), second.size(), MemoryKind::kHost, 0, {}});
  LocalCache cache(1 << 20);
  CacheKeys keys(&cache);
  CHECK(keys.Insert(*divided, "x", 1) == LocalCache::Inserted::kYes);
  CHECK_EQ(keys.Find(*whole, 1), 'x');
  second[0] = 'c';
  CHECK_EQ(keys.Find(*divided, 1), -1);
}

TEST(cache_samples_of_equal_keys_are_equal_however_they_are_divided) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; round++) {
    std::string bytes((16 << 10) + random() % 50'000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::vector<int64_t> shape = {1, static_cast<int64_t>(bytes.size())};
    Requests requests;
    Request* const whole = requests.Add();
    requests.Input(whole, 0, DataType::kUint8, shape, bytes);
    Request* const divided = requests.Add();
    size_t at = random() % 100;
    requests.Place(divided, 0, DataType::kUint8, shape, bytes.data(), at);
    while (at < bytes.size()) {
      const size_t some = std::min<size_t>(random() % (bytes.size() / 4), bytes.size() - at);
      divided->header->inputs()[0].first_chunks.push_back(
          {bytes.data() + at, some, MemoryKind::kHost, 0, {}});
      at += some;
    }
    KeyHead head(1, 2);
    head.Set(*whole->header);
    const uint64_t sample = head.SampleOf(*whole);
    head.Set(*divided->header);
    CHECK(sample != 0);
    CHECK_EQ(head.SampleOf(*divided), sample);
  }
}

TEST(cache_samples_have_sizes_ends_and_small_inputs) {
  constexpr size_t kBytes = 100'000;
  const auto sample = [](const std::string& bytes, const std::string& small) {
    Requests requests;
    Request* const request = requests.Add();
    requests.Input(request, 0, DataType::kUint8, {1, static_cast<int64_t>(bytes.size())}, bytes);
    requests.Input(request, 1, DataType::kUint8, {1, static_cast<int64_t>(small.size())}, small);
    KeyHead head(1, 2);
    head.Set(*request->header);
    return head.SampleOf(*request);
  };
  const auto with = [](std::string bytes, size_t at) {
    bytes[at] = 'y';
    return bytes;
  };
  const std::string large(kBytes, 'x');
  const std::string small(4096, 's');
  std::set<uint64_t> samples;
  samples.insert(sample(large, small));
  samples.insert(sample(large + 'x', small));
  samples.insert(sample(with(large, 0), small));
  samples.insert(sample(with(large, kBytes - 1), small));
  for (const size_t at : {size_t{0}, size_t{1234}, small.size() - 1}) {
    samples.insert(sample(large, with(small, at)));
  }
  CHECK_EQ(samples.size(), 7u);
  // Only some blocks of a large input are in it.
  size_t seen = 0;
  for (size_t at = 0; at < kBytes; at += 16) {
    if (sample(with(large, at), small) != sample(large, small)) seen++;
  }
  CHECK(seen >= 64 * 64 / 16);
  CHECK(seen <= 64 * (64 / 16 + 1));
  // A small key has none.
  CHECK_EQ(sample(std::string(8000, 'x'), small), 0u);
}

TEST(cache_keys_are_refused_for_memory_that_others_write_to) {
  Requests requests;
  Request* const request = requests.Floats({1});
  CHECK(KeyHead::Has(*request->header));
  Buffer& chunk = request->header->inputs()[0].first_chunks[0];
  chunk.kind = MemoryKind::kShared;
  CHECK(!KeyHead::Has(*request->header));
  chunk.kind = MemoryKind::kDevice;
  CHECK(!KeyHead::Has(*request->header));
  chunk.kind = MemoryKind::kPinned;
  CHECK(KeyHead::Has(*request->header));
  request->header->AddMarks();
  CHECK(!KeyHead::Has(*request->header));
}

}  // namespace tritonts::test
