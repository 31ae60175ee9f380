// Stored answers: what was written is read again, and anything else is no answer. Random damage,
// with and without a hash that fits it, must never be read past its end (run it with
// `npm test -- native --sanitize address,undefined`).
#include "engine/cache/stored_answer.h"

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cache_fixture.h"

namespace tritonts::test {

namespace {

constexpr size_t kMost = 1 << 20;
constexpr size_t kHeadSize = 48;
// The hash of the bytes 0 to 199.
constexpr uint64_t kLow = 4439562881681799780;
constexpr uint64_t kHigh = 3152960302219151270;

// A model with an output of floats and one of texts.
ModelIo TwoOutputs() {
  ModelIo io = FloatIo();
  io.outputs.push_back(io.outputs[0]);
  io.outputs.back().name = "text";
  io.outputs.back().datatype = DataType::kBytes;
  return io;
}

class Answer {
 public:
  explicit Answer(const ModelIo& model = TwoOutputs()) : io(model), requests_(&sink_) {
    request = requests_.Floats({1, 2});
    head.Set(*request->header);
  }

  // The two outputs of a request of two rows.
  std::vector<OutputTensor> Outputs() const {
    OutputTensor floats;
    floats.datatype = DataType::kFp32;
    floats.batch = 2;
    floats.tail = dims_;
    floats.data = floats_;
    floats.size = sizeof(floats_);
    OutputTensor texts = floats;
    texts.index = 1;
    texts.datatype = DataType::kBytes;
    texts.data = texts_.data();
    texts.size = texts_.size();
    return {floats, texts};
  }
  std::string Stored() const {
    std::string stored = StoredAnswer::Begin("id", head, *request);
    CHECK_EQ(stored.size(), StoredAnswer::SizeOfKey("id", head, *request));
    CHECK(StoredAnswer::Finish(io, 2, Outputs(), kMost, &stored));
    return stored;
  }
  bool Reads(const std::string& stored, std::string_view identity = "id") {
    // Exactly so many bytes, so that reading one more is found.
    const std::vector<char> exact(stored.begin(), stored.end());
    return answer.Read(exact, identity, head, *request, io);
  }

  const ModelIo io;
  KeyHead head{0, kStoredSeed};
  Request* request = nullptr;
  StoredAnswer answer;

 private:
  RecordingSink sink_;
  Requests requests_;
  const int64_t dims_[1] = {1};
  const float floats_[2] = {5, 6};
  const std::string texts_ = std::string("\1\0\0\0a\3\0\0\0bcd", 12);
};

// Gives damaged bytes the hash that fits them.
void Rehash(std::string* stored) {
  KeyHasher hasher(kStoredSeed);
  hasher.Add(stored->data(), 32);
  hasher.Add(stored->data() + kHeadSize, stored->size() - kHeadSize);
  const KeyHash hash = hasher.Finish();
  std::memcpy(stored->data() + 32, &hash.low, 8);
  std::memcpy(stored->data() + 40, &hash.high, 8);
}

}  // namespace

TEST(stored_answers_are_read_again) {
  Answer one;
  const std::string stored = one.Stored();
  CHECK(one.answer.Read(stored, "id", one.head, *one.request, one.io));
  const auto outputs = one.answer.outputs();
  CHECK_EQ(outputs.size(), 2u);
  CHECK_EQ(outputs[0].size, 8u);
  float second = 0;
  std::memcpy(&second, static_cast<const char*>(outputs[0].data) + 4, 4);
  CHECK_EQ(second, 6.0f);
  CHECK_EQ(outputs[1].index, 1u);
  CHECK_EQ(outputs[1].batch, 2);
  CHECK_EQ(outputs[1].tail.size(), 1u);
  CHECK_EQ(outputs[1].tail[0], 1);
  CHECK(!one.Reads(stored, "ie"));
  CHECK(!one.Reads(stored, "idd"));
  // To another request.
  Answer other;
  static_cast<float*>(
      const_cast<void*>(other.request->header->inputs()[0].first_chunks[0].data))[0] = 9;
  CHECK(!other.Reads(stored));
}

// Processes with the same model share keys, and those of earlier releases are used again: another
// hash needs another number of the form (stored_answer.cc).
TEST(the_hash_of_keys_is_the_same_everywhere) {
  KeyHasher hasher(kStoredSeed);
  std::string bytes(200, 'x');
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<char>(i);
  hasher.Add(bytes.data(), bytes.size());
  const KeyHash hash = hasher.Finish();
  CHECK_EQ(hash.low, kLow);
  CHECK_EQ(hash.high, kHigh);
}

TEST(what_does_not_fit_the_model_is_not_stored) {
  Answer one;
  const auto refused = [&](auto change) {
    std::vector<OutputTensor> outputs = one.Outputs();
    change(&outputs);
    std::string stored = StoredAnswer::Begin("id", one.head, *one.request);
    return !StoredAnswer::Finish(one.io, 2, outputs, kMost, &stored);
  };
  CHECK(!refused([](auto*) {}));
  CHECK(refused([](auto* outputs) { (*outputs)[0].size = 7; }));
  CHECK(refused([](auto* outputs) { (*outputs)[0].batch = 3; }));
  CHECK(refused([](auto* outputs) { (*outputs)[0].index = 2; }));
  CHECK(refused([](auto* outputs) { (*outputs)[0].datatype = DataType::kInt32; }));
  CHECK(refused([](auto* outputs) { (*outputs)[1].size = 11; }));
  std::string stored = StoredAnswer::Begin("id", one.head, *one.request);
  CHECK(!StoredAnswer::Finish(one.io, 2, one.Outputs(), stored.size() + 50, &stored));
}

TEST(damaged_answers_are_no_answers) {
  Answer one;
  const std::string stored = one.Stored();
  CHECK(one.Reads(stored));
  for (size_t size = 0; size < stored.size(); size++) CHECK(!one.Reads(stored.substr(0, size)));
  CHECK(!one.Reads(stored + "x"));
  for (size_t i = 0; i < 8 * stored.size(); i++) {
    std::string damaged = stored;
    damaged[i / 8] = static_cast<char>(damaged[i / 8] ^ (1 << i % 8));
    CHECK(!one.Reads(damaged));
  }
}

TEST(answers_with_lies_that_have_the_right_hash_are_read_only_if_they_fit) {
  Answer one;
  const std::string stored = one.Stored();
  std::mt19937_64 random(7);
  constexpr uint64_t kOdd[] = {0,          1,          0x7f,       0xff,       0xffff,
                               0x7fffffff, 0xffffffff, 1ull << 62, 1ull << 63, ~0ull};
  uint32_t read = 0;
  for (int i = 0; i < 200'000; i++) {
    std::string lie = stored;
    const size_t changes = 1 + random() % 3;
    for (size_t k = 0; k < changes; k++) {
      const size_t width = size_t{1} << random() % 4;
      const size_t at = random() % (lie.size() - width);
      const uint64_t value = random() % 2 ? kOdd[random() % std::size(kOdd)] : random() % 64;
      std::memcpy(lie.data() + at, &value, width);
    }
    if (random() % 4 == 0) lie.resize(kHeadSize + random() % (lie.size() - kHeadSize));
    if (random() % 4 == 0) lie.append(random() % 64, 'z');
    const uint64_t size = lie.size();
    if (random() % 2) std::memcpy(lie.data() + 16, &size, 8);
    Rehash(&lie);
    const std::vector<char> exact(lie.begin(), lie.end());
    if (!one.answer.Read(exact, "id", one.head, *one.request, one.io)) continue;
    read++;
    uint64_t sum = 0;
    for (const OutputTensor& output : one.answer.outputs()) {
      CHECK(output.index < one.io.outputs.size());
      CHECK(static_cast<const char*>(output.data) >= exact.data());
      CHECK(static_cast<const char*>(output.data) + output.size <= exact.data() + exact.size());
      for (size_t k = 0; k < output.size; k++) sum += static_cast<const char*>(output.data)[k];
      uint64_t elements = output.batch >= 0 ? output.batch : 1;
      for (const int64_t dim : output.tail) elements *= dim;
      if (output.datatype == DataType::kFp32) CHECK_EQ(elements * 4, output.size);
    }
    CHECK(sum != 1);
  }
  // Other values of the same size are answers, too.
  CHECK(read > 100);
}

}  // namespace tritonts::test
