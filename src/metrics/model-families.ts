/** The metrics of models, under Triton's names. */

import { knownGpus } from '../addon/gpus.js';
import type {
  NativeDuration,
  NativeInstanceMetrics,
  NativeMetrics,
  NativeStatistics,
} from '../addon/native/statistics.js';
import type { ModelConfig } from '../config/index.js';
import { defaultNamespace, type ModelKey } from '../model-key.js';
import { labelsAround, labelText, type Exposition, type Labels } from './exposition.js';
import { addCached, declareCached } from './cache-families.js';
import { addSequences, declareSequences } from './sequence-families.js';
import type { Sliced } from '../slices.js';
import { firstResponseBuckets, firstResponseFamily, type ResolvedMetrics } from './metrics-config.js';

/** A served version with its statistics. */
export interface VersionSample {
  readonly key: ModelKey;
  readonly version: string;
  readonly config: ModelConfig;
  readonly loadSeconds: number;
  readonly metrics: NativeMetrics;
  /** Whether its responses are cached. */
  readonly cached: boolean;
}

/** The phases of a request, in the engine's order (`latency_phase.h`), with name and description. */
const phases: readonly (readonly [name: string, key: PhaseKey, what: string])[] = [
  ['request', 'success', 'from call to response'],
  ['queue', 'queue', 'in the queue'],
  ['compute_input', 'computeInput', 'for gathering inputs'],
  ['compute_infer', 'computeInfer', 'for the model itself'],
  ['compute_output', 'computeOutput', 'for distributing outputs'],
];
type PhaseKey = 'success' | 'queue' | 'computeInput' | 'computeInfer' | 'computeOutput';

/** The counts of failed requests, by Triton's names of reasons. */
export function failureReasons(
  statistics: Pick<NativeStatistics, 'rejected' | 'cancelled' | 'backendFailed'> & {
    readonly fail: Pick<NativeDuration, 'count'>;
  },
): {
  readonly REJECTED: number;
  readonly CANCELED: number;
  readonly BACKEND: number;
  readonly OTHER: number;
} {
  const { rejected, cancelled, backendFailed, fail } = statistics;
  return {
    REJECTED: rejected,
    CANCELED: cancelled,
    BACKEND: backendFailed,
    OTHER: fail.count - rejected - cancelled - backendFailed,
  };
}

/** Labels of a version's series. Tags of its configuration are prefixed with `_`. */
export function versionLabels({ key, version, config }: VersionSample): Labels {
  const labels: Record<string, string> = { model: key.name, version };
  if (key.namespace !== defaultNamespace) labels['namespace'] = key.namespace;
  for (const [key, value] of Object.entries(config.metric_tags)) labels[`_${key}`] = value;
  return labels;
}

/** Whole microseconds, rounded down, so that counters never decrease. */
function microseconds(ns: number): number {
  return Math.floor(ns / 1000);
}

/** Adds the metrics of all versions. */
export function* addModels(
  text: Exposition,
  versions: Iterable<VersionSample>,
  metrics: ResolvedMetrics,
  boundsNs: readonly number[],
): Sliced<void> {
  declare(text);
  const boundsUs = boundsNs.map((ns) => ns / 1000);
  for (const sample of versions) {
    const labels = versionLabels(sample);
    addVersion(text, sample, labels, metrics);
    addInstances(text, sample.config, sample.metrics, labels, metrics, boundsUs);
    for (const gpu of sample.metrics.gpus) {
      const uuid = knownGpus().devices[gpu.device]?.uuid ?? '';
      addInstances(text, sample.config, gpu, { ...labels, gpu_uuid: uuid }, metrics, boundsUs);
    }
    yield;
  }
}

/** Adds the metrics of a version's instances that share these labels. */
function addInstances(
  text: Exposition,
  config: ModelConfig,
  instances: NativeInstanceMetrics,
  labels: Labels,
  metrics: ResolvedMetrics,
  boundsUs: readonly number[],
): void {
  addCounters(text, instances, labels);
  if (metrics.counterLatencies) addLatencies(text, instances, labels, boundsUs);
  if (metrics.summaryLatencies) addSummaries(text, instances, labels, metrics.quantiles);
  const { firstResponses, firstResponseMs } = instances;
  if (firstResponses.length === 0) return;
  const buckets = firstResponseBuckets(config);
  text.addHistogram(firstResponseFamily, labels, buckets, firstResponses, firstResponseMs);
}

function declare(text: Exposition): void {
  text.family('nv_inference_request_success', 'counter', 'Successful requests');
  text.family(
    'nv_inference_request_failure',
    'counter',
    'Requests that failed after they were queued, by reason',
  );
  text.family('nv_inference_count', 'counter', 'Rows of successful requests');
  text.family('nv_inference_exec_count', 'counter', 'Batches that ran, including failed ones');
  for (const [phase, , what] of phases) {
    text.family(
      `nv_inference_${phase}_duration_us`,
      'counter',
      `Microseconds of all successful requests ${what}`,
    );
  }
  for (const [phase, , what] of phases) {
    text.family(
      `nv_inference_${phase}_duration_us_bucket`,
      'counter',
      `Successful requests that took at most le microseconds ${what}`,
    );
  }
  text.family('nv_inference_pending_request_count', 'gauge', 'Requests that wait for a batch');
  text.family('nv_model_load_duration_secs', 'gauge', 'Seconds for loading the version');
  text.family(firstResponseFamily, 'histogram', 'Milliseconds from request to first response');
  for (const [phase, , what] of phases) {
    text.family(
      `nv_inference_${phase}_summary_us`,
      'summary',
      `Microseconds of successful requests ${what}: quantiles of the last minute`,
    );
  }
  text.family(
    'tritonts_inference_request_refused',
    'counter',
    'Requests that were refused before they were queued, mostly because the queue was full',
  );
  text.family('tritonts_inference_reruns', 'counter', 'Runs of halves of batches that failed as a whole');
  declareSequences(text);
  declareCached(text);
}

/** Adds the metrics of a version as a whole. */
function addVersion(
  text: Exposition,
  sample: VersionSample,
  labels: Labels,
  { counterLatencies }: ResolvedMetrics,
): void {
  const plain = labelText(labels);
  text.add('nv_inference_pending_request_count', plain, sample.metrics.pending);
  text.add('tritonts_inference_request_refused', plain, sample.metrics.statistics.refused);
  if (sample.metrics.sequences) addSequences(text, sample.metrics.sequences, labels);
  if (sample.cached) addCached(text, sample.metrics.statistics, labels, counterLatencies);
  // As in Triton, an ensemble has no load duration: only its models are loaded.
  if (!sample.config.ensemble_scheduling) text.add('nv_model_load_duration_secs', plain, sample.loadSeconds);
}

function addCounters(text: Exposition, { statistics }: NativeInstanceMetrics, labels: Labels): void {
  const plain = labelText(labels);
  text.add('nv_inference_request_success', plain, statistics.success.count);
  const because = labelsAround(labels, 'reason');
  for (const [reason, count] of Object.entries(failureReasons(statistics)))
    text.add('nv_inference_request_failure', because(reason), count);
  text.add('nv_inference_count', plain, statistics.inferenceCount);
  text.add('nv_inference_exec_count', plain, statistics.executionCount);
  text.add('tritonts_inference_reruns', plain, statistics.reruns);
}

function addLatencies(
  text: Exposition,
  { statistics, latencies }: NativeInstanceMetrics,
  labels: Labels,
  boundsUs: readonly number[],
): void {
  const plain = labelText(labels);
  const classes = boundsUs.length + 1;
  phases.forEach(([phase, key], i) => {
    const name = `nv_inference_${phase}_duration_us`;
    text.add(name, plain, microseconds(statistics[key].ns));
    text.addBuckets(`${name}_bucket`, labels, boundsUs, latencies.slice(i * classes, (i + 1) * classes));
  });
}

function addSummaries(
  text: Exposition,
  { statistics, quantiles: values }: NativeInstanceMetrics,
  labels: Labels,
  quantiles: readonly number[],
): void {
  const plain = labelText(labels);
  const at = labelsAround(labels, 'quantile');
  phases.forEach(([phase, key], i) => {
    const name = `nv_inference_${phase}_summary_us`;
    text.add(name, plain, statistics[key].count, '_count');
    text.add(name, plain, microseconds(statistics[key].ns), '_sum');
    quantiles.forEach((quantile, q) => {
      const ns = values[i * quantiles.length + q] ?? NaN;
      // Triton's spelling of NaN.
      text.add(name, at(String(quantile)), Number.isNaN(ns) ? 'Nan' : ns / 1000);
    });
  });
}
