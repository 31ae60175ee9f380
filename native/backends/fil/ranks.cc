#include "ranks.h"

#include <algorithm>

#include "decide.h"

namespace tritonts::fil {

namespace {

// The rank of a missing value that goes the way of the treatment.
uint32_t RankOfMissing(const RankedFeature& feature, uint32_t treatment) {
  return treatment & 1 ? 0 : feature.count;
}

// Writes the ranks of one value to the columns of its feature.
template <uint32_t kStride>
void WriteRank(const RankedFeature& feature, float value, uint32_t rank, uint16_t* ranks) {
  for (uint32_t treatment = 0; treatment < 4; treatment++) {
    const uint32_t column = feature.columns[treatment];
    if (column == RankedFeature::kNone) continue;
    const uint32_t own =
        IsMissing(value, (treatment & 2) != 0) ? RankOfMissing(feature, treatment) : rank;
    ranks[size_t{column} * kStride] = static_cast<uint16_t>(own - kRankBias);
  }
}

}  // namespace

void RankBlock(const Part& part, const Rows& rows, uint16_t* ranks) {
  const size_t count = rows.count;
  for (const RankedFeature& feature : part.features) {
    const float* const thresholds = part.thresholds.data() + feature.first;
    float values[kBlockRows];
    uint32_t found[kBlockRows];
    for (size_t row = 0; row < count; row++) {
      values[row] = rows.row(row)[feature.feature];
      found[row] = 0;
    }
    // A binary search for all rows at once, without branches.
    uint32_t rest = feature.count;
    while (rest > 1) {
      const uint32_t half = rest / 2;
      for (size_t row = 0; row < count; row++) {
        found[row] += thresholds[found[row] + half - 1] <= values[row] ? half : 0;
      }
      rest -= half;
    }
    for (size_t row = 0; row < count; row++) {
      found[row] += thresholds[found[row]] <= values[row] ? 1 : 0;
      WriteRank<kBlockRows>(feature, values[row], found[row], ranks + row);
    }
  }
}

void RankRow(const Part& part, const float* row, uint16_t* ranks) {
  // Features in step, because each step of a search waits for the step before.
  constexpr size_t kInStep = 8;
  const size_t count = part.features.size();
  for (size_t first = 0; first < count; first += kInStep) {
    const RankedFeature* const features = part.features.data() + first;
    const size_t here = std::min(kInStep, count - first);
    float values[kInStep];
    uint32_t found[kInStep];
    uint32_t rest[kInStep];
    uint32_t most = 0;
    for (size_t i = 0; i < here; i++) {
      values[i] = row[features[i].feature];
      found[i] = 0;
      rest[i] = features[i].count;
      most = std::max(most, rest[i]);
    }
    for (uint32_t left = most; left > 1; left -= left / 2) {
      for (size_t i = 0; i < here; i++) {
        // A search that has ended has no half, and stays.
        const uint32_t half = rest[i] / 2;
        const float middle = part.thresholds[features[i].first + found[i] + half - (half > 0)];
        found[i] += half * static_cast<uint32_t>(middle <= values[i]);
        rest[i] -= half;
      }
    }
    for (size_t i = 0; i < here; i++) {
      found[i] += static_cast<uint32_t>(part.thresholds[features[i].first + found[i]] <= values[i]);
      WriteRank<1>(features[i], values[i], found[i], ranks);
    }
  }
}

}  // namespace tritonts::fil
