// The local cache: its bound, the order of eviction, expiry, and many threads.
#include <atomic>
#include <random>
#include <thread>

#include "cache_fixture.h"

namespace tritonts::test {

namespace {

using Inserted = LocalCache::Inserted;

// A request of eight bytes.
Request* NumberRequest(Requests* requests, uint64_t number) {
  Request* const request = requests->Add();
  requests->Input(request, 0, DataType::kUint64, {1, 1},
                  std::string(reinterpret_cast<const char*>(&number), sizeof(number)));
  return request;
}

constexpr size_t kLarge = 40'000;

// A large request. Of those with the same `sampled`, all have the same sample.
Request* LargeRequest(Requests* requests, char sampled, char other) {
  Request* const request = requests->Add();
  std::string bytes(kLarge, sampled);
  bytes[100] = other;  // between the first two blocks of a sample
  requests->Input(request, 0, DataType::kUint8, {1, kLarge}, bytes);
  return request;
}

}  // namespace

TEST(cache_evicts_what_was_used_longest_ago) {
  Requests requests;
  std::vector<Request*> all;
  for (uint64_t i = 0; i < 4; i++) all.push_back(NumberRequest(&requests, i));
  LocalCache measure(1 << 20);
  const size_t cost = CacheKeys(&measure).Make(*all[0], "x")->cost();
  LocalCache cache(3 * cost);
  CacheKeys keys(&cache);
  for (size_t i = 0; i < 3; i++) {
    CHECK(keys.Insert(*all[i], std::string(1, static_cast<char>(i)), 10 + i) == Inserted::kYes);
  }
  CHECK_EQ(cache.counts().entries, 3u);
  CHECK_EQ(cache.counts().used, 3 * cost);
  // The first entry is used again, so the second one goes.
  CHECK_EQ(keys.Find(*all[0], 20), 0);
  CHECK(keys.Insert(*all[3], "\3", 21) == Inserted::kYes);
  CHECK_EQ(keys.Find(*all[0], 22), 0);
  CHECK_EQ(keys.Find(*all[1], 22), -1);
  CHECK_EQ(keys.Find(*all[2], 22), 2);
  CHECK_EQ(keys.Find(*all[3], 22), 3);
  const LocalCache::Counts counts = cache.counts();
  CHECK_EQ(counts.evictions, 1u);
  CHECK_EQ(counts.hits, 4u);
  CHECK_EQ(counts.misses, 1u);
  CHECK_EQ(counts.size, 3 * cost);
  CHECK_EQ(counts.used, 3 * cost);
}

TEST(cache_bounds_large_entries_with_the_blocks_that_they_have) {
  constexpr size_t kBytes = 100'000;
  Requests requests;
  LocalCache cache(1 << 20);
  CacheKeys keys(&cache);
  for (int i = 0; i < 50; i++) {
    Request* const request = requests.Add();
    requests.Input(request, 0, DataType::kUint8, {1, kBytes},
                   std::string(kBytes, static_cast<char>(i)));
    CHECK_EQ(keys.Find(*request, 1), -1);
    CHECK(keys.Insert(*request, std::string(kBytes, static_cast<char>(i)), 1) == Inserted::kYes);
    CHECK_EQ(keys.Find(*request, 2), i);
    CHECK(cache.counts().used <= cache.counts().size);
  }
  // Each has two blocks of at least 100,000 bytes.
  CHECK(cache.counts().entries >= 3);
  CHECK(cache.counts().entries <= 5);
}

TEST(cache_refuses_what_does_not_fit_alone_and_evicts_nothing_for_it) {
  Requests requests;
  LocalCache cache(2048);
  CacheKeys keys(&cache);
  CHECK(keys.Insert(*NumberRequest(&requests, 1), "x", 1) == Inserted::kYes);
  CHECK(keys.Insert(*NumberRequest(&requests, 2), std::string(4096, 'x'), 2) ==
        Inserted::kTooLarge);
  CHECK_EQ(cache.counts().entries, 1u);
  CHECK_EQ(cache.counts().evictions, 0u);
}

TEST(cache_keeps_the_first_of_two_equal_entries) {
  Requests requests;
  Request* const request = NumberRequest(&requests, 1);
  LocalCache cache(1 << 20);
  CacheKeys keys(&cache);
  CHECK(keys.Insert(*request, "a", 1) == Inserted::kYes);
  const uint64_t used = cache.counts().used;
  CHECK(keys.Insert(*request, "b", 2) == Inserted::kExists);
  CHECK_EQ(keys.Find(*request, 3), 'a');
  CHECK_EQ(cache.counts().used, used);
  CHECK_EQ(cache.counts().entries, 1u);
}

TEST(cache_finds_large_keys_by_their_sample) {
  Requests requests;
  LocalCache cache(1 << 22);
  CacheKeys keys(&cache);
  std::vector<Request*> all;
  for (char i = 0; i < 8; i++) {
    all.push_back(LargeRequest(&requests, i, 'a'));
    CHECK_EQ(keys.Find(*all.back(), 1), -1);
    CHECK(keys.Insert(*all.back(), std::string(1, i), 1) == Inserted::kYes);
  }
  for (int i = 0; i < 8; i++) {
    CHECK_EQ(keys.Find(*all[static_cast<size_t>(i)], 2), i);
    CHECK(keys.sampled);
  }
  CHECK_EQ(cache.counts().hits, 8u);
  CHECK_EQ(cache.counts().misses, 8u);
  // A hit by a sample is a use.
  LocalCache small(3 * CacheKeys(&cache).Make(*all[0], "x")->cost());
  CacheKeys few(&small);
  for (size_t i = 0; i < 3; i++) {
    CHECK(few.Insert(*all[i], std::string(1, static_cast<char>(i)), 10 + i) == Inserted::kYes);
  }
  CHECK_EQ(few.Find(*all[0], 20), 0);
  CHECK(few.Insert(*all[3], "\3", 21) == Inserted::kYes);
  CHECK_EQ(few.Find(*all[0], 22), 0);
  CHECK_EQ(few.Find(*all[1], 22), -1);
  CHECK_EQ(small.counts().evictions, 1u);
}

TEST(cache_tells_keys_with_one_sample_apart) {
  Requests requests;
  LocalCache cache(1 << 22);
  CacheKeys keys(&cache);
  std::vector<Request*> all;
  for (char i = 0; i < 8; i++) {
    all.push_back(LargeRequest(&requests, 's', i));
    // The candidate is another one's, and is no answer.
    CHECK_EQ(keys.Find(*all.back(), 1), -1);
    CHECK(keys.Insert(*all.back(), std::string(1, i), 1) == Inserted::kYes);
  }
  CHECK_EQ(cache.counts().misses, 8u);
  CHECK_EQ(cache.counts().entries, 8u);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 8; i++) {
      CHECK_EQ(keys.Find(*all[static_cast<size_t>(i)], 2), i);
      // Another one was found or inserted last.
      CHECK(!keys.sampled);
      // From then on it is the candidate.
      CHECK_EQ(keys.Find(*all[static_cast<size_t>(i)], 3), i);
      CHECK(keys.sampled);
    }
  }
  CHECK_EQ(cache.counts().hits, 32u);
  CHECK_EQ(cache.counts().misses, 8u);
  // Without its candidate, a sample leads to nothing.
  cache.Forget(0);
  CHECK_EQ(cache.counts().used, 0u);
  CHECK_EQ(keys.Find(*all[0], 4), -1);
  CHECK(keys.Insert(*all[0], "x", 4) == Inserted::kYes);
  CHECK_EQ(keys.Find(*all[0], 5), 'x');
  CHECK(keys.sampled);
}

TEST(cache_entries_expire_that_are_found_by_their_sample) {
  Requests requests;
  Request* const request = LargeRequest(&requests, 's', 'a');
  Request* const other = LargeRequest(&requests, 's', 'b');
  LocalCache cache(1 << 22, 100);
  CacheKeys keys(&cache);
  CHECK(keys.Insert(*other, "b", 1000) == Inserted::kYes);
  CHECK(keys.Insert(*request, "a", 1000) == Inserted::kYes);
  CHECK_EQ(keys.Find(*request, 1099), 'a');
  CHECK(keys.sampled);
  CHECK_EQ(keys.Find(*request, 1100), -1);
  CHECK_EQ(cache.counts().entries, 1u);
  CHECK_EQ(cache.counts().misses, 1u);
  CHECK_EQ(keys.Find(*other, 1099), 'b');
  CHECK(!keys.sampled);
  CHECK_EQ(keys.Find(*other, 1099), 'b');
  CHECK(keys.sampled);
}

TEST(cache_entries_expire) {
  Requests requests;
  Request* const request = NumberRequest(&requests, 1);
  LocalCache cache(1 << 20, 100);
  CacheKeys keys(&cache);
  CHECK(keys.Insert(*request, "a", 1000) == Inserted::kYes);
  CHECK_EQ(keys.Find(*request, 1099), 'a');
  CHECK_EQ(keys.Find(*request, 1100), -1);
  CHECK_EQ(cache.counts().entries, 0u);
  CHECK_EQ(cache.counts().used, 0u);
  // An expired entry makes room for a new one with its key.
  CHECK(keys.Insert(*request, "b", 2000) == Inserted::kYes);
  CHECK(keys.Insert(*request, "c", 2100) == Inserted::kYes);
  CHECK_EQ(keys.Find(*request, 2150), 'c');
  CHECK_EQ(cache.counts().evictions, 0u);
}

TEST(cache_forgets_the_entries_of_a_version) {
  Requests requests;
  LocalCache cache(1 << 20);
  CacheKeys keys(&cache);
  const auto scope = [](uint32_t version, uint32_t generation) {
    return LocalCache::ScopeOf(version, generation);
  };
  std::vector<Request*> all;
  for (uint64_t i = 0; i < 100; i++) {
    all.push_back(NumberRequest(&requests, i));
    for (const uint64_t one : {scope(1, 0), scope(1, 9), scope(2, 0)}) {
      CHECK(keys.Insert(*all.back(), "x", i, one) == Inserted::kYes);
    }
  }
  cache.Forget(1);
  CHECK_EQ(cache.counts().entries, 100u);
  CHECK_EQ(cache.counts().evictions, 0u);
  for (const Request* request : all) {
    CHECK_EQ(keys.Find(*request, 200, scope(1, 0)), -1);
    CHECK_EQ(keys.Find(*request, 200, scope(1, 9)), -1);
    CHECK_EQ(keys.Find(*request, 200, scope(2, 0)), 'x');
  }
  cache.Forget(2);
  CHECK_EQ(cache.counts().used, 0u);
}

TEST(cache_finds_samples_from_eight_threads) {
  // Groups of four large keys with one sample. Half of the entries fit, so candidates are evicted
  // while other threads compare them.
  constexpr char kKeys = 48;
  constexpr int kThreads = 8;
  constexpr int kRounds = 400;
  Requests requests;
  std::vector<Request*> all;
  for (char i = 0; i < kKeys; i++) {
    all.push_back(
        LargeRequest(&requests, static_cast<char>(i / 4), static_cast<char>('a' + i % 4)));
  }
  LocalCache measure(1 << 22);
  const size_t cost = CacheKeys(&measure).Make(*all[0], "x")->cost();
  LocalCache cache(kKeys / 2 * cost);
  std::atomic<int> wrong{0};
  std::atomic<uint64_t> looked{0};
  std::atomic<uint64_t> sampled{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      CacheKeys keys(&cache);
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < kRounds; round++) {
        const size_t number = random() % kKeys;
        const int found = keys.Find(*all[number], NowNs());
        looked++;
        if (keys.sampled) sampled++;
        if (found == -1) {
          keys.Insert(*all[number], std::string(1, static_cast<char>(number)), NowNs());
        } else if (found != static_cast<int>(number)) {
          wrong++;
        }
        if (round % 100 == 99) cache.Forget(t % 2 == 0 ? 0 : 5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(wrong, 0);
  const LocalCache::Counts counts = cache.counts();
  CHECK_EQ(counts.hits + counts.misses, looked);
  CHECK(counts.hits > 0);
  CHECK(counts.evictions > 0);
  CHECK_EQ(counts.used, counts.entries * cost);
  CHECK(sampled > 0);
}

TEST(cache_is_used_by_eight_threads) {
  // Each number has one answer. Half of the entries fit, so all threads insert, find and evict.
  constexpr uint64_t kNumbers = 400;
  constexpr int kThreads = 8;
  constexpr int kRounds = 4000;
  Requests requests;
  std::vector<Request*> all;
  for (uint64_t i = 0; i < kNumbers; i++) all.push_back(NumberRequest(&requests, i));
  LocalCache measure(1 << 20);
  const size_t cost = CacheKeys(&measure).Make(*all[0], "x")->cost();
  LocalCache cache(kNumbers / 2 * cost);
  std::atomic<int> wrong{0};
  std::atomic<uint64_t> looked{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      CacheKeys keys(&cache);
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < kRounds; round++) {
        const uint64_t number = random() % kNumbers;
        const char answer = static_cast<char>(number * 7);
        const int found = keys.Find(*all[number], NowNs());
        looked++;
        if (found == -1) {
          keys.Insert(*all[number], std::string(1, answer), NowNs());
        } else if (found != static_cast<unsigned char>(answer)) {
          wrong++;
        }
        if (round % 1000 == 999) cache.Forget(5);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(wrong, 0);
  const LocalCache::Counts counts = cache.counts();
  CHECK_EQ(counts.hits + counts.misses, looked);
  CHECK(counts.hits > 0);
  CHECK(counts.evictions > 0);
  CHECK(counts.used <= counts.size);
  CHECK(counts.entries <= kNumbers / 2);
  CHECK_EQ(counts.used, counts.entries * cost);
}

}  // namespace tritonts::test
