/**
 * Reports how full a language model's KV cache is, in a header for load balancers that read ORCA (Open Request Cost
 * Aggregation). As in Triton, it uses the metric `nv_trt_llm_kv_cache_block_metrics`, which the model has to
 * report.
 */

import type { MetricSeries } from '../../metrics/custom.js';

/** The header by which a client asks for it. */
export const loadFormatHeader = 'endpoint-load-metrics-format';

/** The metric with numbers of blocks; a label names each number. */
const metric = 'nv_trt_llm_kv_cache_block_metrics';

/** A number with a point, as Triton writes it in JSON. */
function withPoint(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** The load, from the metrics. */
interface Load {
  readonly utilization: number;
  readonly tokens: number;
}

function readLoad(series: MetricSeries): Load | undefined {
  const found = new Map<string | undefined, number>();
  // As in Triton, the count of a later model replaces that of an earlier one.
  for (const { labels, value } of series) found.set(labels['kv_cache_block_type'], value);
  const [tokensPerBlock = -1, used = -1, most = -1] = ['tokens_per', 'used', 'max'].map((type) =>
    found.get(type),
  );
  const tokens = Math.floor(most * tokensPerBlock);
  if (!(tokensPerBlock >= 0 && used >= 0 && most >= 0) || !Number.isFinite(tokens + used)) return undefined;
  return { utilization: most > 0 ? used / most : 0, tokens };
}

/** Makes the headers of an endpoint's answers. */
export class LoadHeaders {
  readonly #seriesOf: (metric: string) => MetricSeries;

  /** @param seriesOf - All series of a metric of the server's models. */
  constructor(seriesOf: (metric: string) => MetricSeries) {
    this.#seriesOf = seriesOf;
  }

  /**
   * The header of an answer.
   *
   * @param format - The format that the client asked for: `text` or `json`. Other values count as absent.
   * @returns Name and value; empty if no model reports the metrics.
   */
  of(format: unknown): readonly string[] {
    if (format !== 'text' && format !== 'json') return [];
    const load = readLoad(this.#seriesOf(metric));
    if (load === undefined) return [];
    const { utilization, tokens } = load;
    const value =
      format === 'json'
        ? `JSON {"named_metrics":{"kv_cache_utilization":${withPoint(utilization)},"max_token_capacity":${tokens}}}`
        : `TEXT named_metrics.kv_cache_utilization=${utilization.toFixed(6)}, named_metrics.max_token_capacity=${tokens}`;
    return ['endpoint-load-metrics', value];
  }
}
