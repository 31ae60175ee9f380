// The metrics of plug-ins: kinds, labels, and when they end.
#include "plugins/metrics.h"

#include "plugin_server_fixture.h"

namespace tritonts::test {

namespace {

// A family, deleted at the end.
class TestFamily {
 public:
  TestFamily(TRITONSERVER_MetricKind kind, const char* name, const char* help = "help") {
    CHECK_TRITON(Triton().TRITONSERVER_MetricFamilyNew(&family, kind, name, help));
  }
  ~TestFamily() {
    if (family) CHECK_TRITON(Triton().TRITONSERVER_MetricFamilyDelete(family));
  }
  TRITONSERVER_Metric* Metric(const char* label = nullptr) {
    TRITONSERVER_Metric* metric = nullptr;
    const TRITONSERVER_Parameter* labels[] = {
        label ? Triton().TRITONSERVER_ParameterNew("a", TRITONSERVER_PARAMETER_STRING, label)
              : nullptr};
    CHECK_TRITON(Triton().TRITONSERVER_MetricNew(&metric, family, labels, label ? 1 : 0));
    if (label)
      Triton().TRITONSERVER_ParameterDelete(const_cast<TRITONSERVER_Parameter*>(labels[0]));
    return metric;
  }

  TRITONSERVER_MetricFamily* family = nullptr;
};

void Delete(TRITONSERVER_Metric* metric) {
  CHECK_TRITON(Triton().TRITONSERVER_MetricDelete(metric));
}

}  // namespace

TEST(triton_metrics_count_and_are_shown_until_they_are_deleted) {
  TestFamily family(TRITONSERVER_METRIC_KIND_COUNTER, "jobs", "Jobs \"done\"");
  CHECK_EQ(plugins::MetricsJson(), "[]");
  TRITONSERVER_Metric* const metric = family.Metric("x");
  CHECK_TRITON(Triton().TRITONSERVER_MetricIncrement(metric, 2.5));
  double value = 0;
  CHECK_TRITON(Triton().TRITONSERVER_MetricValue(metric, &value));
  CHECK_EQ(value, 2.5);
  CHECK_EQ(plugins::MetricsJson(),
           R"([{"name":"jobs","help":"Jobs \"done\"","type":"counter","series":[)"
           R"({"labels":{"a":"x"},"counts":[0],"bounds":[],"value":2.5}]}])");
  CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricIncrement(metric, -1)),
                 "Invalid argument: metric 'jobs' is a counter, which grows"));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricSet(metric, 1)), "Unsupported: "));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricObserve(metric, 1)), "Unsupported: "));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricFamilyDelete(family.family)),
                 "Invalid argument: metric 'jobs': 1 metrics of the family exist"));
  Delete(metric);
  CHECK_EQ(plugins::MetricsJson(), "[]");
}

TEST(triton_metrics_of_one_name_and_labels_share_their_value) {
  TestFamily first(TRITONSERVER_METRIC_KIND_GAUGE, "level");
  TestFamily second(TRITONSERVER_METRIC_KIND_GAUGE, "level");
  TRITONSERVER_Metric* const a = first.Metric("x");
  TRITONSERVER_Metric* const b = second.Metric("x");
  CHECK_TRITON(Triton().TRITONSERVER_MetricSet(a, 4));
  CHECK_TRITON(Triton().TRITONSERVER_MetricIncrement(b, -1));
  double value = 0;
  CHECK_TRITON(Triton().TRITONSERVER_MetricValue(a, &value));
  CHECK_EQ(value, 3.0);
  Delete(a);
  CHECK(Contains(plugins::MetricsJson(), "\"value\":3"));
  Delete(b);
  TRITONSERVER_MetricFamily* other = nullptr;
  CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricFamilyNew(
                     &other, TRITONSERVER_METRIC_KIND_COUNTER, "level", "help")),
                 "Already exists: metric 'level' exists, as a gauge"));
  TRITONSERVER_MetricKind kind;
  CHECK_TRITON(Triton().TRITONSERVER_GetMetricFamilyKind(first.family, &kind));
  CHECK_EQ(kind, TRITONSERVER_METRIC_KIND_GAUGE);
}

TEST(triton_histograms_have_buckets) {
  TestFamily family(TRITONSERVER_METRIC_KIND_HISTOGRAM, "sizes");
  TRITONSERVER_Metric* metric = nullptr;
  CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricNew(&metric, family.family, nullptr, 0)),
                 "is a histogram, which needs buckets"));
  TRITONSERVER_MetricArgs* args = nullptr;
  CHECK_TRITON(Triton().TRITONSERVER_MetricArgsNew(&args));
  const double wrong[] = {1, 1};
  CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricArgsSetHistogram(args, wrong, 2)),
                 "each above the one before"));
  const double bounds[] = {1, 10};
  CHECK_TRITON(Triton().TRITONSERVER_MetricArgsSetHistogram(args, bounds, 2));
  CHECK_TRITON(Triton().TRITONSERVER_MetricNewWithArgs(&metric, family.family, nullptr, 0, args));
  TestFamily gauge(TRITONSERVER_METRIC_KIND_GAUGE, "plain");
  TRITONSERVER_Metric* none = nullptr;
  CHECK(Contains(
      TextOf(Triton().TRITONSERVER_MetricNewWithArgs(&none, gauge.family, nullptr, 0, args)),
      "only a histogram has buckets"));
  CHECK_TRITON(Triton().TRITONSERVER_MetricArgsDelete(args));
  for (const double value : {0.5, 1.0, 5.0, 100.0}) {
    CHECK_TRITON(Triton().TRITONSERVER_MetricObserve(metric, value));
  }
  CHECK(Contains(plugins::MetricsJson(), R"("counts":[2,1,1],"bounds":[1,10],"value":106.5)"));
  double value = 0;
  CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricValue(metric, &value)),
                 "Unsupported: metric 'sizes' is a histogram, which has no single value"));
  TRITONSERVER_MetricKind kind;
  CHECK_TRITON(Triton().TRITONSERVER_GetMetricKind(metric, &kind));
  CHECK_EQ(kind, TRITONSERVER_METRIC_KIND_HISTOGRAM);
  Delete(metric);
}

TEST(triton_metrics_have_names_that_prometheus_takes) {
  TRITONSERVER_MetricFamily* none = nullptr;
  for (const char* name : {"", "1a", "a-b"}) {
    CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricFamilyNew(
                       &none, TRITONSERVER_METRIC_KIND_GAUGE, name, "")),
                   "expected a name of letters"));
  }
  CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricFamilyNew(
                     &none, static_cast<TRITONSERVER_MetricKind>(3), "a", "")),
                 "unknown kind 3"));
  TestFamily family(TRITONSERVER_METRIC_KIND_GAUGE, "named");
  const auto with_label = [&](TRITONSERVER_Parameter* label) {
    const TRITONSERVER_Parameter* labels[] = {label};
    TRITONSERVER_Metric* metric = nullptr;
    const std::string text =
        TextOf(Triton().TRITONSERVER_MetricNew(&metric, family.family, labels, 1));
    Triton().TRITONSERVER_ParameterDelete(label);
    return text;
  };
  const int64_t number = 1;
  CHECK(Contains(
      with_label(Triton().TRITONSERVER_ParameterNew("a", TRITONSERVER_PARAMETER_INT, &number)),
      "expected a string for the label 'a'"));
  CHECK(Contains(
      with_label(Triton().TRITONSERVER_ParameterNew("__a", TRITONSERVER_PARAMETER_STRING, "x")),
      "expected a label of letters"));
}

TEST(triton_metrics_whose_labels_or_buckets_are_null_are_refused) {
  TestFamily family(TRITONSERVER_METRIC_KIND_GAUGE, "nulls");
  TRITONSERVER_Metric* metric = nullptr;
  const TRITONSERVER_Parameter* labels[] = {nullptr};
  const TRITONSERVER_Parameter** const lists[] = {nullptr, labels};
  for (const TRITONSERVER_Parameter** all : lists) {
    CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricNew(&metric, family.family, all, 1)),
                   "metric 'nulls': expected 1 labels, but received NULL"));
  }
  TRITONSERVER_MetricArgs* args = nullptr;
  CHECK_TRITON(Triton().TRITONSERVER_MetricArgsNew(&args));
  CHECK(Contains(TextOf(Triton().TRITONSERVER_MetricArgsSetHistogram(args, nullptr, 2)),
                 "expected 2 buckets of a histogram, but received NULL"));
  CHECK_TRITON(Triton().TRITONSERVER_MetricArgsSetHistogram(args, nullptr, 0));
  CHECK_TRITON(Triton().TRITONSERVER_MetricArgsDelete(args));
}

}  // namespace tritonts::test
