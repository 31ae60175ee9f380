#include "engine/statistics/response_counts.h"

namespace tritonts {

std::vector<ResponseStatistics> ResponseCounts::Read() const {
  std::vector<ResponseStatistics> all;
  for (const auto& kinds : cells_) {
    ResponseStatistics one;
    bool any = false;
    const auto read = [&](Kind kind, Duration* outcome, bool outputs) {
      const Cell& cell = kinds[static_cast<size_t>(kind)];
      const uint64_t count = cell.count.load(std::memory_order_relaxed);
      const uint64_t infer = cell.infer_ns.load(std::memory_order_relaxed);
      const uint64_t output = cell.output_ns.load(std::memory_order_relaxed);
      any = any || count > 0;
      outcome->Add(count, infer + output);
      if (kind == Kind::kCancel) return;
      one.compute_infer.Add(count, infer);
      if (outputs) one.compute_output.Add(count, output);
    };
    read(Kind::kSuccess, &one.success, true);
    read(Kind::kFail, &one.fail, true);
    read(Kind::kEmpty, &one.empty_response, false);
    read(Kind::kCancel, &one.cancel, false);
    // No request has a response with a higher number.
    if (!any) break;
    all.push_back(one);
  }
  return all;
}

}  // namespace tritonts
