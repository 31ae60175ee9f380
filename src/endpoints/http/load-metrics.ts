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

/** What the metrics say. */
interface Load {
  readonly utilization: number;
  readonly tokens: number;
}

/** @param metrics - In Prometheus' text format. */
function readLoad(metrics: string): Load | undefined {
  const found = new Map<string, number>();
  for (const [, type = '', text] of metrics.matchAll(sample)) found.set(type, Number(text));
  const [tokensPerBlock = -1, used = -1, most = -1] = ['tokens_per', 'used', 'max'].map((type) =>
    found.get(type),
  );
  const tokens = Math.floor(most * tokensPerBlock);
  if (!(tokensPerBlock >= 0 && used >= 0 && most >= 0) || !Number.isFinite(tokens + used)) return undefined;
  return { utilization: most > 0 ? used / most : 0, tokens };
}

/** So long a reading is used again, in milliseconds: the text of many models' metrics takes longer than an answer. */
const freshMs = 100;

/** Makes the headers of an endpoint's answers. */
export class LoadHeaders {
  readonly #metrics: () => string;
  #load: Load | undefined;
  #readAt = -Infinity;

  /** @param metrics - The server's metrics, in Prometheus' text format. */
  constructor(metrics: () => string) {
    this.#metrics = metrics;
  }

  /**
   * The header of an answer.
   *
   * @param format - What the client asked for: `text` or `json`. Anything else is as if it had not asked.
   * @returns Name and value; nothing where no model keeps the metrics.
   */
  of(format: unknown): readonly string[] {
    if (format !== 'text' && format !== 'json') return [];
    const now = performance.now();
    if (now - this.#readAt >= freshMs) {
      this.#load = readLoad(this.#metrics());
      this.#readAt = now;
    }
    if (this.#load === undefined) return [];
    const { utilization, tokens } = this.#load;
    const value =
      format === 'json'
        ? `JSON {"named_metrics":{"kv_cache_utilization":${withPoint(utilization)},"max_token_capacity":${tokens}}}`
        : `TEXT named_metrics.kv_cache_utilization=${utilization.toFixed(6)}, named_metrics.max_token_capacity=${tokens}`;
    return ['endpoint-load-metrics', value];
  }
}
