// Histograms and quantiles of latencies.
#include "engine/statistics/latencies.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "units.h"

namespace tritonts::test {

namespace {

constexpr size_t kSamples = 1'000'000;

TEST(latency_histogram_bounds_belong_to_their_class) {
  const auto& bounds = LatencyHistogram::kBoundsNs;
  CHECK_EQ(LatencyHistogram::ClassOf(0), size_t{0});
  for (size_t i = 0; i < bounds.size(); i++) {
    CHECK_EQ(LatencyHistogram::ClassOf(bounds[i] - 1), i);
    CHECK_EQ(LatencyHistogram::ClassOf(bounds[i]), i);
    CHECK_EQ(LatencyHistogram::ClassOf(bounds[i] + 1), i + 1);
  }
  CHECK_EQ(LatencyHistogram::ClassOf(~uint64_t{0}), bounds.size());
}

double QuantileOf(const LatencyWindow& window, double quantile, uint64_t now_ns) {
  double value = 0;
  window.Quantiles(LatencyPhase::kQueue, now_ns, {&quantile, 1}, {&value, 1});
  return value;
}

// The share of samples below `value`, and up to it, must bracket the quantile's rank.
void ExpectRank(const std::vector<uint64_t>& sorted, double value, double quantile, double error) {
  const auto at = static_cast<uint64_t>(value);
  const auto below = std::lower_bound(sorted.begin(), sorted.end(), at) - sorted.begin();
  const auto upto = std::upper_bound(sorted.begin(), sorted.end(), at + 1) - sorted.begin();
  const auto all = static_cast<double>(sorted.size());
  CHECK(static_cast<double>(below) / all <= quantile + error);
  CHECK(static_cast<double>(upto) / all >= quantile - error);
}

// Checks Triton's quantiles, each with its error, for a million samples of `draw`.
void ExpectTritonsQuantiles(const std::function<double(std::mt19937_64&)>& draw) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> samples(kSamples);
  LatencyWindow window(7);
  window.Advance(kSecond);
  for (uint64_t& sample : samples) {
    sample = static_cast<uint64_t>(std::max(0.0, draw(random)));
    window.Add(LatencyPhase::kQueue, sample, 1);
  }
  std::sort(samples.begin(), samples.end());
  const std::pair<double, double> asked[] = {
      {0.5, 0.05}, {0.9, 0.01}, {0.95, 0.001}, {0.99, 0.001}, {0.999, 0.001}};
  for (const auto& [quantile, error] : asked) {
    const double value = QuantileOf(window, quantile, kSecond);
    ExpectRank(samples, value, quantile, error);
    const auto exact = static_cast<double>(samples[static_cast<size_t>(quantile * kSamples)]);
    CHECK(std::abs(value - exact) <= exact / 128 + 1);
  }
}

TEST(latency_window_quantiles_of_a_million_log_normal_samples) {
  std::lognormal_distribution<double> distribution(13, 1);
  ExpectTritonsQuantiles([&](auto& random) { return distribution(random); });
}

TEST(latency_window_quantiles_of_a_million_narrow_samples) {
  std::normal_distribution<double> distribution(2e6, 1e5);
  ExpectTritonsQuantiles([&](auto& random) { return distribution(random); });
}

TEST(latency_window_quantiles_of_a_million_exponential_samples) {
  std::exponential_distribution<double> distribution(1e-5);
  ExpectTritonsQuantiles([&](auto& random) { return distribution(random); });
}

TEST(latency_window_quantiles_of_a_million_samples_around_two_times) {
  std::normal_distribution<double> fast(5e4, 5e3);
  std::normal_distribution<double> slow(8e6, 1e6);
  std::bernoulli_distribution is_slow(0.07);
  ExpectTritonsQuantiles(
      [&](auto& random) { return is_slow(random) ? slow(random) : fast(random); });
}

TEST(latency_window_samples_leave_it_with_time) {
  LatencyWindow window(7);
  const uint64_t slice = LatencyWindow::kSliceNs;
  CHECK(std::isnan(QuantileOf(window, 0.5, slice)));
  for (uint64_t i = 0; i < LatencyWindow::kSlices; i++) {
    window.Advance((10 + i) * slice);
    window.Add(LatencyPhase::kQueue, 1000 << i, 1);
  }
  const auto least = [&](uint64_t now) { return QuantileOf(window, 0, now); };
  CHECK(std::abs(least(13 * slice) - 1000) <= 8);
  // No samples are added any more; readers skip slices that are too old.
  CHECK(std::abs(least(14 * slice) - 2000) <= 16);
  CHECK(std::abs(least(16 * slice) - 8000) <= 64);
  CHECK(std::isnan(least(17 * slice)));
  // A slice is cleared before it is reused.
  window.Advance(14 * slice);
  window.Add(LatencyPhase::kQueue, 64'000, 1);
  CHECK(std::abs(least(14 * slice) - 2000) <= 16);
  window.Advance(99 * slice);
  CHECK(std::isnan(least(99 * slice)));
}

TEST(latency_window_longest_times_have_a_class) {
  for (uint32_t bits = LatencyWindow::kFewestBits; bits <= LatencyWindow::kMostBits; bits++) {
    LatencyWindow window(bits);
    window.Advance(kSecond);
    window.Add(LatencyPhase::kQueue, ~uint64_t{0}, 3);
    CHECK(QuantileOf(window, 1, kSecond) > 1.7e13);
  }
}

TEST(latencies_a_batch_counts_by_request_and_a_phase_once_for_all) {
  Latencies latencies({true, 7, true, {1, 5}});
  RequestHeader early;
  early.arrival_ns = kSecond;
  RequestHeader late;
  late.arrival_ns = kSecond + 3'000'000;
  BatchTimings timings;
  timings.exec_start_ns = kSecond + 4'000'000;
  timings.compute_start_ns = timings.exec_start_ns + 900;
  timings.compute_end_ns = timings.compute_start_ns + 2'000'000;
  timings.exec_end_ns = timings.compute_end_ns + 20'000;
  RunTotals totals;
  totals.Reserve(6);
  totals.AddOk(early, 2, timings);
  totals.AddOk(early, 1, timings);
  totals.AddOk(late, 2, timings);
  totals.AddFailed(late, timings, RunTotals::Failure::kBackend);
  CHECK_EQ(totals.parts.size(), size_t{3});
  CHECK_EQ(totals.backend_failed, uint64_t{1});
  latencies.Add(totals.parts, timings.exec_end_ns);

  const LatencyCounts& counts = latencies.counts();
  const auto expect = [&](LatencyPhase phase, uint64_t bound_ns, uint64_t count) {
    const size_t index = LatencyHistogram::ClassOf(bound_ns);
    CHECK_EQ(counts.phases[static_cast<size_t>(phase)].counts()[index], count);
  };
  expect(LatencyPhase::kQueue, 5'000'000, 3);
  expect(LatencyPhase::kQueue, 1'000'000, 2);
  expect(LatencyPhase::kRequest, 10'000'000, 3);
  expect(LatencyPhase::kRequest, 5'000'000, 2);
  expect(LatencyPhase::kComputeInput, 1'000, 5);
  expect(LatencyPhase::kComputeInfer, 2'500'000, 5);
  expect(LatencyPhase::kComputeOutput, 25'000, 5);
  // Three after 6 ms, three after 3 ms, including the failed one.
  CHECK_EQ(counts.first_responses.size(), size_t{3});
  CHECK_EQ(counts.first_responses[0], uint64_t{0});
  CHECK_EQ(counts.first_responses[1], uint64_t{3});
  CHECK_EQ(counts.first_responses[2], uint64_t{3});
  CHECK_EQ(counts.first_response_ms, uint64_t{3 * 6 + 3 * 3});
  CHECK(std::abs(QuantileOf(*latencies.window(), 0.2, timings.exec_end_ns) - 1e6) < 1e4);
}

TEST(latencies_what_is_not_asked_for_is_not_kept) {
  Latencies latencies({});
  RequestHeader header;
  BatchTimings timings;
  timings.exec_end_ns = 5;
  RunTotals totals;
  totals.Reserve(1);
  totals.AddOk(header, 1, timings);
  latencies.Add(totals.parts, timings.exec_end_ns);
  CHECK(latencies.window() == nullptr);
  CHECK(latencies.counts().first_responses.empty());
  for (const LatencyHistogram& histogram : latencies.counts().phases) {
    for (const uint64_t count : histogram.counts()) CHECK_EQ(count, uint64_t{0});
  }
}

}  // namespace

}  // namespace tritonts::test
