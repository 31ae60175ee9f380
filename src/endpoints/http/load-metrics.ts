/**
 * How full the cache of a language model is, in a header of its answers, for load balancers that read ORCA (Open Request Cost
 * Aggregation). As in Triton, it comes from the metrics `nv_trt_llm_kv_cache_block_metrics`, which the model has to keep.
 */

/** The header by which a client asks for it. */
export const loadFormatHeader = 'endpoint-load-metrics-format';

/** Numbers of blocks, by the label that tells which. A later model's count in place of an earlier one's, as in Triton. */
const sample =
  /^nv_trt_llm_kv_cache_block_metrics\{(?:[^}]*,)?kv_cache_block_type="(tokens_per|used|max)"[^}]*\} (\S+)$/gm;

/** A number with a point, as Triton writes it in JSON. */
function withPoint(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/**
 * The header of an answer.
 *
 * @param format - What the client asked for: `text` or `json`. Anything else is as if it had not asked.
 * @param metrics - The server's metrics, in Prometheus' text format.
 * @returns Name and value; nothing where no model keeps the metrics.
 */
export function loadHeader(format: unknown, metrics: () => string): readonly string[] {
  if (format !== 'text' && format !== 'json') return [];
  const found = new Map<string, number>();
  for (const [, type = '', text] of metrics().matchAll(sample)) found.set(type, Number(text));
  const [tokensPerBlock = -1, used = -1, most = -1] = ['tokens_per', 'used', 'max'].map((type) =>
    found.get(type),
  );
  const tokens = Math.floor(most * tokensPerBlock);
  if (!(tokensPerBlock >= 0 && used >= 0 && most >= 0) || !Number.isFinite(tokens + used)) return [];
  const utilization = most > 0 ? used / most : 0;
  const value =
    format === 'json'
      ? `JSON {"named_metrics":{"kv_cache_utilization":${withPoint(utilization)},"max_token_capacity":${tokens}}}`
      : `TEXT named_metrics.kv_cache_utilization=${utilization.toFixed(6)}, named_metrics.max_token_capacity=${tokens}`;
  return ['endpoint-load-metrics', value];
}
