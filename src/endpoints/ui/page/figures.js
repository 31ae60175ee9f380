// Counts and figures of versions, from the server's statistics and metrics.

export const keyOf = (model, version) => `${version ?? ''}/${model}`;

/** Buckets of latencies, waiting requests and load times by version, from Prometheus' text. */
export function readMetrics(text) {
  const versions = new Map();
  const line =
    /^(nv_inference_request_duration_us_bucket|nv_inference_pending_request_count)\{(.*)\} (\S+)$/gm;
  for (const [, name, labels, value] of text.matchAll(line)) {
    const read = Object.fromEntries(
      [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)",?/gy)].map(([, key, content]) => [
        key,
        content.replace(/\\(.)/g, (_, sign) => (sign === 'n' ? '\n' : sign)),
      ]),
    );
    const key = keyOf(read.model, read.version);
    const entry = versions.get(key) ?? { buckets: new Map(), pending: 0 };
    versions.set(key, entry);
    if (name.endsWith('_count')) entry.pending += Number(value);
    else {
      const bound = read.le === '+Inf' ? Infinity : Number(read.le);
      entry.buckets.set(bound, (entry.buckets.get(bound) ?? 0) + Number(value));
    }
  }
  return versions;
}

/** A quantile in milliseconds, as `histogram_quantile` has it. */
function quantile(buckets, share) {
  const counts = [...buckets].sort(([a], [b]) => a - b);
  const total = counts.at(-1)?.[1] ?? 0;
  if (!(total > 0)) return undefined;
  let lower = 0;
  let below = 0;
  for (const [bound, count] of counts) {
    if (count >= share * total && count > below) {
      if (bound === Infinity) return lower / 1000;
      return (lower + ((bound - lower) * (share * total - below)) / (count - below)) / 1000;
    }
    lower = bound;
    below = count;
  }
  return undefined;
}

/** Counts of a version at one moment. */
export function countsOf(statistics, metrics) {
  return {
    success: statistics.inference_stats.success.count,
    ns: statistics.inference_stats.success.ns,
    fail: statistics.inference_stats.fail.count + (statistics.refused ?? 0),
    rows: statistics.inference_count,
    runs: statistics.execution_count,
    buckets: metrics?.buckets ?? new Map(),
  };
}

export const nothing = { success: 0, ns: 0, fail: 0, rows: 0, runs: 0, buckets: new Map() };

/** What happened between two moments of a version. A counter that fell has restarted. */
export function difference(before, after) {
  const restarted = after.success < before.success || after.runs < before.runs || after.fail < before.fail;
  const base = restarted ? nothing : before;
  return {
    success: after.success - base.success,
    ns: after.ns - base.ns,
    fail: after.fail - base.fail,
    rows: after.rows - base.rows,
    runs: after.runs - base.runs,
    buckets: new Map(
      [...after.buckets].map(([bound, count]) => [bound, count - (base.buckets.get(bound) ?? 0)]),
    ),
  };
}

/** Rates and means of a difference. */
export function figuresOf({ success, ns, fail, rows, runs, buckets }, seconds) {
  return {
    requests: success / seconds,
    failures: fail / seconds,
    mean: success > 0 ? ns / success / 1e6 : undefined,
    p50: quantile(buckets, 0.5),
    p99: quantile(buckets, 0.99),
    batch: runs > 0 ? rows / runs : undefined,
  };
}

/** What all versions did: the difference of each, because each may restart, and then the sum. */
export function allBetween(before, after, seconds) {
  const sum = { ...nothing, buckets: new Map() };
  for (const [key, counts] of after) {
    const one = difference(before.get(key) ?? nothing, counts);
    for (const name of ['success', 'ns', 'fail', 'rows', 'runs']) sum[name] += one[name];
    for (const [bound, count] of one.buckets) sum.buckets.set(bound, (sum.buckets.get(bound) ?? 0) + count);
  }
  return figuresOf(sum, seconds);
}
