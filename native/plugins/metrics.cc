#include "plugins/metrics.h"

#include <algorithm>
#include <cmath>

#include "engine/base/json_text.h"
#include "platform/number_text.h"
#include "plugins/error.h"
#include "plugins/functions.h"
#include "plugins/parameter.h"

namespace tritonts::plugins {

namespace {

// Never destroyed, because threads may outlive static destructors.
struct FamilyRegistry {
  std::mutex mutex;  // guards all below
  // Families of one name are one, as long as there is an object of them.
  std::map<std::string, std::weak_ptr<Family>> families;
};
FamilyRegistry& AllFamilies() {
  static auto* const registry = new FamilyRegistry();
  return *registry;
}

constexpr const char* kKinds[] = {"counter", "gauge", "histogram"};

std::string MetricText(const Family& family) {
  return "metric '" + family.name + "'";
}

bool IsLetter(char one) {
  return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || one == '_';
}
// What Prometheus accepts.
bool IsName(const std::string& name, bool is_family) {
  if (name.empty()) return false;
  for (size_t i = 0; i < name.size(); i++) {
    const char one = name[i];
    const bool digit = one >= '0' && one <= '9' && i > 0;
    if (!IsLetter(one) && !digit && !(is_family && one == ':')) return false;
  }
  return is_family || name.rfind("__", 0) != 0;
}

std::string NumberText(double value) {
  // JSON has no words for these; strings stand for them.
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"+Inf\"" : "\"-Inf\"";
  std::string text;
  platform::AppendNumber(&text, value);
  return text;
}

// Names of the series that Prometheus' text format has of a histogram, after its own name.
constexpr const char* kParts[] = {"_bucket", "_count", "_sum"};

// The family whose series `name` would be taken for, or that would be taken for those of a new
// histogram; null: there is none. The caller holds the registry's lock.
std::shared_ptr<Family> ClashOf(const std::string& name, TRITONSERVER_MetricKind kind) {
  const auto& families = AllFamilies().families;
  for (const std::string part : kParts) {
    if (name.ends_with(part)) {
      const auto found = families.find(name.substr(0, name.size() - part.size()));
      std::shared_ptr<Family> known = found == families.end() ? nullptr : found->second.lock();
      if (known && known->kind == TRITONSERVER_METRIC_KIND_HISTOGRAM) return known;
    }
    if (kind != TRITONSERVER_METRIC_KIND_HISTOGRAM) continue;
    const auto found = families.find(name + part);
    std::shared_ptr<Family> known = found == families.end() ? nullptr : found->second.lock();
    if (known) return known;
  }
  return nullptr;
}

Status CheckLabels(const Family& family, const TRITONSERVER_Parameter** labels, uint64_t count,
                   std::map<std::string, std::string>* all) {
  for (uint64_t i = 0; i < count; i++) {
    if (!labels || !labels[i]) {
      return Status::InvalidArg(MetricText(family) + ": expected " + std::to_string(count) +
                                " labels, but received NULL");
    }
    const std::string& name = labels[i]->name;
    const auto* const value = std::get_if<std::string>(&labels[i]->value);
    if (!value) {
      return Status::InvalidArg(MetricText(family) + ": expected a string for the label '" + name +
                                "'");
    }
    const bool reserved = family.kind == TRITONSERVER_METRIC_KIND_HISTOGRAM && name == "le";
    if (!IsName(name, false) || reserved) {
      return Status::InvalidArg(MetricText(family) +
                                ": expected a label of letters, digits and _, with no digit and "
                                "no __ first, but received '" +
                                name + "'");
    }
    if (!all->emplace(name, *value).second) {
      return Status::InvalidArg(MetricText(family) + ": the label '" + name + "' is given twice");
    }
  }
  return Status::Ok();
}

Status NewMetric(TRITONSERVER_Metric** metric, TRITONSERVER_MetricFamily* family,
                 const TRITONSERVER_Parameter** labels, uint64_t count,
                 const TRITONSERVER_MetricArgs* args) {
  Family& known = *family->family;
  const bool histogram = known.kind == TRITONSERVER_METRIC_KIND_HISTOGRAM;
  const bool has_bounds = args && args->is_set;
  if (histogram != has_bounds) {
    return Status::InvalidArg(MetricText(known) +
                              (histogram ? " is a histogram, which needs buckets: call "
                                           "TRITONSERVER_MetricArgsSetHistogram"
                                         : std::string(" is a ") + kKinds[known.kind] +
                                               ": only a histogram has buckets"));
  }
  std::map<std::string, std::string> all;
  if (Status status = CheckLabels(known, labels, count, &all); !status.ok()) return status;
  const std::lock_guard lock(AllFamilies().mutex);
  std::weak_ptr<Series>& place = known.series[all];
  std::shared_ptr<Series> series = place.lock();
  if (!series) {
    series = std::make_shared<Series>(all, histogram ? args->bounds : std::vector<double>());
    place = series;
  } else if (histogram && series->bounds() != args->bounds) {
    return Status::InvalidArg(MetricText(known) +
                              ": a histogram with these labels has other buckets");
  }
  *metric = new TRITONSERVER_Metric{family, std::move(series)};
  family->metrics++;
  return Status::Ok();
}

// Refuses what metrics of a kind cannot do.
Status CheckKind(const TRITONSERVER_Metric& metric, const char* what,
                 std::initializer_list<TRITONSERVER_MetricKind> kinds) {
  const Family& family = *metric.family->family;
  if (std::find(kinds.begin(), kinds.end(), family.kind) != kinds.end()) return Status::Ok();
  return Status::Unsupported(MetricText(family) + " is a " + kKinds[family.kind] +
                             ", which has no " + what);
}

}  // namespace

void Series::Add(double by) {
  const std::lock_guard lock(mutex_);
  value_ += by;
}

void Series::Set(double value) {
  const std::lock_guard lock(mutex_);
  value_ = value;
}

void Series::Observe(double value) {
  const std::lock_guard lock(mutex_);
  // What is no number is in no bucket with a bound.
  const auto bucket =
      std::isnan(value) ? bounds_.end() : std::lower_bound(bounds_.begin(), bounds_.end(), value);
  counts_[static_cast<size_t>(bucket - bounds_.begin())]++;
  value_ += value;
}

double Series::value() const {
  const std::lock_guard lock(mutex_);
  return value_;
}

std::string Series::Json() const {
  std::string text = "{\"labels\":{";
  for (const auto& [name, value] : labels) {
    if (text.back() != '{') text += ',';
    text += JsonText(name) + ":" + JsonText(value);
  }
  text += "},\"counts\":[";
  const std::lock_guard lock(mutex_);
  for (const uint64_t count : counts_) {
    if (text.back() != '[') text += ',';
    text += std::to_string(count);
  }
  text += "],\"bounds\":[";
  for (const double bound : bounds_) {
    if (text.back() != '[') text += ',';
    text += NumberText(bound);
  }
  return text + "],\"value\":" + NumberText(value_) + "}";
}

std::string MetricsJson() {
  std::string text = "[";
  const std::lock_guard lock(AllFamilies().mutex);
  for (const auto& [name, place] : AllFamilies().families) {
    const std::shared_ptr<Family> family = place.lock();
    if (!family) continue;
    std::string series;
    for (const auto& [labels, one] : family->series) {
      const std::shared_ptr<Series> shown = one.lock();
      if (shown) series += (series.empty() ? "" : ",") + shown->Json();
    }
    if (series.empty()) continue;
    if (text.size() > 1) text += ',';
    text += "{\"name\":" + JsonText(name) + ",\"help\":" + JsonText(family->help) + ",\"type\":\"" +
            kKinds[family->kind] + "\",\"series\":[" + series + "]}";
  }
  return text + "]";
}

TRITONSERVER_Error* TRITONSERVER_MetricFamilyNew(TRITONSERVER_MetricFamily** family,
                                                 TRITONSERVER_MetricKind kind, const char* name,
                                                 const char* description) noexcept {
  return Guard([&]() -> Status {
    const std::string text = name ? name : "";
    const std::string help = description ? description : "";
    if (kind < TRITONSERVER_METRIC_KIND_COUNTER || kind > TRITONSERVER_METRIC_KIND_HISTOGRAM) {
      return Status::InvalidArg("metric '" + text + "': unknown kind " +
                                std::to_string(static_cast<int>(kind)));
    }
    if (!IsName(text, true)) {
      return Status::InvalidArg(
          "expected a name of letters, digits, _ and :, with no digit first, for a metric, but "
          "received '" +
          text + "'");
    }
    // Triton's caches have metrics of their own with these names.
    if (text.starts_with("nv_") && !text.starts_with("nv_cache_")) {
      return Status::InvalidArg("metric '" + text +
                                "': names that begin with nv_ are those of the server's metrics");
    }
    const std::lock_guard lock(AllFamilies().mutex);
    if (const std::shared_ptr<Family> other = ClashOf(text, kind)) {
      return Status(Code::kAlreadyExists,
                    "metric '" + text + "': its name clashes with " + MetricText(*other) + ", a " +
                        kKinds[other->kind] +
                        ", because a histogram has series that end in _bucket, _count and _sum");
    }
    std::weak_ptr<Family>& place = AllFamilies().families[text];
    std::shared_ptr<Family> known = place.lock();
    if (!known) {
      known = std::make_shared<Family>(Family{text, help, kind});
      place = known;
    } else if (known->kind != kind || known->help != help) {
      return Status(Code::kAlreadyExists, MetricText(*known) + " exists, as a " +
                                              kKinds[known->kind] + " with the description '" +
                                              known->help + "'");
    }
    *family = new TRITONSERVER_MetricFamily{std::move(known)};
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricFamilyDelete(TRITONSERVER_MetricFamily* family) noexcept {
  return Guard([&]() -> Status {
    const std::lock_guard lock(AllFamilies().mutex);
    if (family->metrics > 0) {
      return Status::InvalidArg(MetricText(*family->family) + ": " +
                                std::to_string(family->metrics) +
                                " metrics of the family exist, which must be deleted first");
    }
    const std::string name = family->family->name;
    delete family;
    const auto known = AllFamilies().families.find(name);
    if (known != AllFamilies().families.end() && known->second.expired())
      AllFamilies().families.erase(known);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_GetMetricFamilyKind(TRITONSERVER_MetricFamily* family,
                                                     TRITONSERVER_MetricKind* kind) noexcept {
  *kind = family->family->kind;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsNew(TRITONSERVER_MetricArgs** args) noexcept {
  return Guard([&] {
    *args = new TRITONSERVER_MetricArgs();
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsSetHistogram(TRITONSERVER_MetricArgs* args,
                                                        const double* buckets,
                                                        uint64_t buckets_count) noexcept {
  return Guard([&]() -> Status {
    if (!buckets && buckets_count > 0) {
      return Status::InvalidArg("expected " + std::to_string(buckets_count) +
                                " buckets of a histogram, but received NULL");
    }
    std::vector<double> bounds(buckets, buckets + buckets_count);
    for (size_t i = 0; i < bounds.size(); i++) {
      if (std::isfinite(bounds[i]) && (i == 0 || bounds[i - 1] < bounds[i])) continue;
      return Status::InvalidArg(
          "expected the buckets of a histogram to be finite, each above the one before, but "
          "received " +
          NumberText(bounds[i]) + " at position " + std::to_string(i));
    }
    args->bounds = std::move(bounds);
    args->is_set = true;
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricArgsDelete(TRITONSERVER_MetricArgs* args) noexcept {
  delete args;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_MetricNew(TRITONSERVER_Metric** metric,
                                           TRITONSERVER_MetricFamily* family,
                                           const TRITONSERVER_Parameter** labels,
                                           uint64_t label_count) noexcept {
  return Guard([&] { return NewMetric(metric, family, labels, label_count, nullptr); });
}

TRITONSERVER_Error* TRITONSERVER_MetricNewWithArgs(TRITONSERVER_Metric** metric,
                                                   TRITONSERVER_MetricFamily* family,
                                                   const TRITONSERVER_Parameter** labels,
                                                   uint64_t label_count,
                                                   const TRITONSERVER_MetricArgs* args) noexcept {
  return Guard([&] { return NewMetric(metric, family, labels, label_count, args); });
}

TRITONSERVER_Error* TRITONSERVER_MetricDelete(TRITONSERVER_Metric* metric) noexcept {
  return Guard([&] {
    const std::lock_guard lock(AllFamilies().mutex);
    TRITONSERVER_MetricFamily* const family = metric->family;
    auto& series = family->family->series;
    const auto known = series.find(metric->series->labels);
    delete metric;
    family->metrics--;
    if (known != series.end() && known->second.expired()) series.erase(known);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricValue(TRITONSERVER_Metric* metric, double* value) noexcept {
  return Guard([&]() -> Status {
    Status status = CheckKind(*metric, "single value",
                              {TRITONSERVER_METRIC_KIND_COUNTER, TRITONSERVER_METRIC_KIND_GAUGE});
    if (status.ok()) *value = metric->series->value();
    return status;
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricIncrement(TRITONSERVER_Metric* metric,
                                                 double value) noexcept {
  return Guard([&]() -> Status {
    Status status = CheckKind(*metric, "increments",
                              {TRITONSERVER_METRIC_KIND_COUNTER, TRITONSERVER_METRIC_KIND_GAUGE});
    if (!status.ok()) return status;
    const Family& family = *metric->family->family;
    if (family.kind == TRITONSERVER_METRIC_KIND_COUNTER && !(value >= 0)) {
      return Status::InvalidArg(MetricText(family) +
                                " is a counter, which grows: expected 0 or more but received " +
                                NumberText(value));
    }
    metric->series->Add(value);
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricSet(TRITONSERVER_Metric* metric, double value) noexcept {
  return Guard([&]() -> Status {
    Status status = CheckKind(*metric, "value to set", {TRITONSERVER_METRIC_KIND_GAUGE});
    if (status.ok()) metric->series->Set(value);
    return status;
  });
}

TRITONSERVER_Error* TRITONSERVER_MetricObserve(TRITONSERVER_Metric* metric, double value) noexcept {
  return Guard([&]() -> Status {
    Status status = CheckKind(*metric, "observations", {TRITONSERVER_METRIC_KIND_HISTOGRAM});
    if (status.ok()) metric->series->Observe(value);
    return status;
  });
}

TRITONSERVER_Error* TRITONSERVER_GetMetricKind(TRITONSERVER_Metric* metric,
                                               TRITONSERVER_MetricKind* kind) noexcept {
  *kind = metric->family->family->kind;
  return nullptr;
}

}  // namespace tritonts::plugins
