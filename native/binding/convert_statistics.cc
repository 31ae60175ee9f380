// Converts the statistics of versions to JavaScript.
#include <string>
#include <vector>

#include "convert.h"

namespace tritonts {

namespace {

Napi::Object DurationToJs(Napi::Env env, const Duration& duration) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("count", Napi::Number::New(env, static_cast<double>(duration.count)));
  object.Set("ns", Napi::Number::New(env, static_cast<double>(duration.ns)));
  return object;
}

}  // namespace

Napi::Value ToJs(Napi::Env env, const Statistics& statistics) {
  Napi::Object object = Napi::Object::New(env);
  const auto number = [&](const char* key, uint64_t value) {
    object.Set(key, Napi::Number::New(env, static_cast<double>(value)));
  };
  number("lastInferenceMs", statistics.last_inference_ms);
  number("inferenceCount", statistics.inference_count);
  number("executionCount", statistics.execution_count);
  number("cancelled", statistics.cancelled);
  number("rejected", statistics.rejected);
  number("backendFailed", statistics.backend_failed);
  number("refused", statistics.refused);
  number("reruns", statistics.reruns);
  object.Set("success", DurationToJs(env, statistics.success));
  object.Set("fail", DurationToJs(env, statistics.fail));
  object.Set("queue", DurationToJs(env, statistics.queue));
  object.Set("computeInput", DurationToJs(env, statistics.compute_input));
  object.Set("computeInfer", DurationToJs(env, statistics.compute_infer));
  object.Set("computeOutput", DurationToJs(env, statistics.compute_output));
  object.Set("cacheHit", DurationToJs(env, statistics.cache_hit));
  object.Set("cacheMiss", DurationToJs(env, statistics.cache_miss));
  Napi::Array batches = Napi::Array::New(env, statistics.batches.size());
  uint32_t i = 0;
  for (const auto& [rows, batch] : statistics.batches) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("batchSize", Napi::Number::New(env, rows));
    entry.Set("computeInput", DurationToJs(env, batch.compute_input));
    entry.Set("computeInfer", DurationToJs(env, batch.compute_infer));
    entry.Set("computeOutput", DurationToJs(env, batch.compute_output));
    batches.Set(i++, entry);
  }
  object.Set("batches", batches);
  Napi::Array responses = Napi::Array::New(env, statistics.responses.size());
  for (uint32_t k = 0; k < statistics.responses.size(); k++) {
    const ResponseStatistics& response = statistics.responses[k];
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("computeInfer", DurationToJs(env, response.compute_infer));
    entry.Set("computeOutput", DurationToJs(env, response.compute_output));
    entry.Set("success", DurationToJs(env, response.success));
    entry.Set("fail", DurationToJs(env, response.fail));
    entry.Set("emptyResponse", DurationToJs(env, response.empty_response));
    entry.Set("cancel", DurationToJs(env, response.cancel));
    responses.Set(k, entry);
  }
  object.Set("responses", responses);
  Napi::Array memory = Napi::Array::New(env, statistics.memory.size());
  for (uint32_t k = 0; k < statistics.memory.size(); k++) {
    const MemoryUse& use = statistics.memory[k];
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("type", Napi::String::New(env, IsHostMemory(use.kind) ? "CPU" : "GPU"));
    entry.Set("id", Napi::Number::New(env, use.device));
    entry.Set("byteSize", Napi::Number::New(env, static_cast<double>(use.bytes)));
    memory.Set(k, entry);
  }
  object.Set("memory", memory);
  return object;
}

namespace {

Napi::Object InstancesToJs(Napi::Env env, const InstanceMetrics& metrics, bool histograms) {
  Napi::Object object = Napi::Object::New(env);
  const auto numbers = [&](const char* key, const auto& values) {
    Napi::Array array = Napi::Array::New(env, values.size());
    for (uint32_t i = 0; i < values.size(); i++) {
      array.Set(i, Napi::Number::New(env, static_cast<double>(values[i])));
    }
    object.Set(key, array);
  };
  object.Set("statistics", ToJs(env, metrics.statistics));
  std::vector<uint64_t> counts;
  if (histograms) {
    for (const LatencyHistogram& histogram : metrics.latencies.phases) {
      counts.insert(counts.end(), histogram.counts().begin(), histogram.counts().end());
    }
  }
  numbers("latencies", counts);
  numbers("firstResponses", metrics.latencies.first_responses);
  object.Set("firstResponseMs",
             Napi::Number::New(env, static_cast<double>(metrics.latencies.first_response_ms)));
  numbers("quantiles", metrics.quantiles);
  return object;
}

void SetNumber(Napi::Object to, const char* key, uint64_t value) {
  to.Set(key, Napi::Number::New(to.Env(), static_cast<double>(value)));
}

// Undefined: the version has no sequences.
Napi::Value ToJs(Napi::Env env, const SequenceCounts& counts) {
  if (counts.slots == 0) return env.Undefined();
  Napi::Object object = Napi::Object::New(env);
  SetNumber(object, "slots", counts.slots);
  SetNumber(object, "live", counts.live);
  SetNumber(object, "idle", counts.idle);
  SetNumber(object, "backlog", counts.backlog);
  SetNumber(object, "begun", counts.begun);
  SetNumber(object, "idled", counts.idled);
  SetNumber(object, "expired", counts.expired);
  SetNumber(object, "cancelled", counts.cancelled);
  SetNumber(object, "broken", counts.broken);
  SetNumber(object, "stateBytes", counts.state_bytes);
  return object;
}

}  // namespace

Napi::Value ToJs(Napi::Env env, const VersionMetrics& metrics) {
  Napi::Object object = InstancesToJs(env, metrics, metrics.histograms);
  object.Set("pending", Napi::Number::New(env, static_cast<double>(metrics.pending)));
  object.Set("sequences", ToJs(env, metrics.sequences));
  Napi::Array gpus = Napi::Array::New(env, metrics.gpus.size());
  uint32_t i = 0;
  for (const auto& [device, of] : metrics.gpus) {
    Napi::Object gpu = InstancesToJs(env, of, metrics.histograms);
    gpu.Set("device", Napi::Number::New(env, device));
    gpus.Set(i++, gpu);
  }
  object.Set("gpus", gpus);
  return object;
}

Napi::Value ToJs(Napi::Env env, const BatchHistory& history) {
  Napi::Object object = Napi::Object::New(env);
  SetNumber(object, "instances", history.instances);
  SetNumber(object, "waiting", history.waiting);
  SetNumber(object, "held", history.held);
  object.Set("sequences", ToJs(env, history.sequences));
  Napi::Array batches = Napi::Array::New(env, history.records.size());
  uint32_t index = 0;
  for (const BatchRecord& record : history.records) {
    const bool ended = record.ended_ns != 0;
    const uint64_t end = ended ? record.ended_ns : history.now_ns;
    Napi::Object batch = Napi::Object::New(env);
    SetNumber(batch, "rows", record.rows);
    SetNumber(batch, "requests", record.requests);
    SetNumber(batch, "left", record.left);
    SetNumber(batch, "instance", record.instance);
    SetNumber(batch, "closedBy", static_cast<uint64_t>(record.closed_by));
    batch.Set("inline", Napi::Boolean::New(env, record.ran_inline));
    batch.Set("ended", Napi::Boolean::New(env, ended));
    SetNumber(batch, "waitNs", record.waited_ns);
    SetNumber(batch, "runNs", end > record.given_ns ? end - record.given_ns : 0);
    // As times since the clock's start they would need more digits than a double has.
    SetNumber(batch, "endedAgoNs", history.now_ns > end ? history.now_ns - end : 0);
    batches.Set(index++, batch);
  }
  object.Set("batches", batches);
  return object;
}

}  // namespace tritonts
