// The metrics of plug-ins. They belong to the process, so each server shows them. Families of one
// name, and metrics of one family with the same labels, share their values, as in Triton.
//
// Ownership: families and metrics are the caller's, until their functions for deletion. A metric
// shares its family's values. Threads: any thread may call any function; two may use one metric.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "plugins/abi/types.h"

namespace tritonts::plugins {

// A series: a value, or the counts of a histogram.
class Series {
 public:
  Series(std::map<std::string, std::string> labels, std::vector<double> bounds)
      : labels(std::move(labels)), bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  void Add(double by);
  void Set(double value);
  void Observe(double value);
  double value() const;
  // With its labels, as JSON.
  std::string Json() const;

  const std::map<std::string, std::string> labels;
  const std::vector<double>& bounds() const { return bounds_; }

 private:
  const std::vector<double> bounds_;  // of a histogram, ascending
  mutable std::mutex mutex_;          // guards all below
  double value_ = 0;                  // of a histogram: the sum
  std::vector<uint64_t> counts_;
};

struct Family {
  std::string name;
  std::string help;
  TRITONSERVER_MetricKind kind = TRITONSERVER_METRIC_KIND_COUNTER;
  // Guarded by the registry's lock. A series is shown while a metric has it.
  std::map<std::map<std::string, std::string>, std::weak_ptr<Series>> series = {};
};

// All families that have a series, for a scrape: a list as JSON. Throws std::bad_alloc.
std::string MetricsJson();

}  // namespace tritonts::plugins

struct TRITONSERVER_MetricFamily {
  std::shared_ptr<tritonts::plugins::Family> family;
  // Metrics that were made of it, and not deleted. The registry's lock guards it.
  uint64_t metrics = 0;
};

struct TRITONSERVER_Metric {
  TRITONSERVER_MetricFamily* const family;  // which outlives it
  const std::shared_ptr<tritonts::plugins::Series> series;
};

struct TRITONSERVER_MetricArgs {
  std::vector<double> bounds;
  bool is_set = false;
};
