/** The rate limiter: the resources that the instances of all models share. */

import type { NativeResource } from '../addon/native/statistics.js';
import type { NativeInstanceSpec } from '../addon/native/version-config.js';
import { expected, readOptions } from '../argument-checks.js';
import { indexPath, type ModelConfig } from '../config/index.js';
import { invalidArgument } from '../errors.js';

/**
 * A resource of {@link RateLimitOptions}. Triton: `--rate-limit-resource`.
 *
 * @example
 * const memory: RateLimitResource = { name: 'gpu-memory', count: 8, device: 0 };
 */
export interface RateLimitResource {
  /** Its name in the configurations. */
  readonly name: string;
  /** How many units there are. */
  readonly count: number;
  /**
   * The device that has them (default: each device has as many; of a global resource there are so many in all). The
   * CPU counts as device 0.
   */
  readonly device?: number | undefined;
}

/**
 * How instances share resources.
 *
 * @example
 * const server = await createServer('./models', { rateLimit: { mode: 'execution_count' } });
 */
export interface RateLimitOptions {
  /**
   * 'off': instances run whenever they have a batch. 'execution_count': an instance waits until the resources of its
   * `rate_limiter` are free, and the one that has had the fewest batches, times its priority, comes first. Triton:
   * `--rate-limit`.
   */
  readonly mode: 'off' | 'execution_count';
  /**
   * How many units there are of each resource (default: as many as the instance that needs the most). If any is given,
   * there are none of resources that are not, and a model that needs more than there are does not load. Triton:
   * `--rate-limit-resource`.
   */
  readonly resources?: readonly RateLimitResource[] | undefined;
}

/** The most units of a resource: those of a configuration are 32 bits. */
const mostUnits = 2 ** 32 - 1;

function checkResource(given: unknown, path: string): RateLimitResource {
  const { name, count, device } = readOptions<RateLimitResource>(given, ['name', 'count', 'device'], path);
  if (typeof name !== 'string' || name === '') throw expected('a name', `${path}.name`, name);
  const isWhole = (value: unknown, most: number): value is number =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most;
  if (!isWhole(count, mostUnits)) throw expected(`an integer from 0 to ${mostUnits}`, `${path}.count`, count);
  if (device !== undefined && !isWhole(device, 63))
    throw expected('the id of a device, from 0 to 63,', `${path}.device`, device);
  return { name, count, device };
}

/**
 * The resources that the options give; undefined: there is no rate limiter.
 *
 * @throws {@link TritonError} INVALID_ARG.
 */
export function checkRateLimit(options: unknown): readonly RateLimitResource[] | undefined {
  if (options === undefined) return undefined;
  const path = 'options.rateLimit';
  const { mode, resources = [] } = readOptions<RateLimitOptions>(options, ['mode', 'resources'], path);
  if (mode !== 'off' && mode !== 'execution_count')
    throw expected("'off' or 'execution_count'", `${path}.mode`, mode);
  if (!Array.isArray(resources)) throw expected('an array', `${path}.resources`, resources);
  const checked = resources.map((one: unknown, i) => checkResource(one, `${path}.resources[${i}]`));
  if (mode === 'off' && checked.length > 0)
    throw invalidArgument(`${path}.resources needs ${path}.mode 'execution_count'`);
  return mode === 'off' ? undefined : checked;
}

/** What an instance of a group needs. */
export function claimOf({
  rate_limiter: limiter,
}: ModelConfig['instance_group'][number]): Pick<NativeInstanceSpec, 'resources' | 'priority'> {
  return {
    resources: (limiter?.resources ?? []).map(({ name, global, count }) => ({ name, global, count })),
    priority: limiter?.priority ?? 0,
  };
}

/** A note for each group whose `rate_limiter` has no effect. */
export function withoutLimiter(config: ModelConfig): readonly string[] {
  return config.instance_group.flatMap(({ rate_limiter: limiter }, i) =>
    limiter === undefined
      ? []
      : [
          `${indexPath('instance_group', i)}.rate_limiter: accepted, without effect here: it needs the option rateLimit (--rate-limit=execution_count)`,
        ],
  );
}

/** The resource of a configuration that an error of the engine's rate limiter is about. */
export function blamedResource(config: ModelConfig, message: string): string | undefined {
  const name = /Resource (?:count for )?"([^"]*)" is /.exec(message)?.[1];
  for (const [i, { rate_limiter: limiter }] of config.instance_group.entries()) {
    const at = limiter?.resources.findIndex((one) => one.name === name) ?? -1;
    if (at >= 0) return indexPath(`${indexPath('instance_group', i)}.rate_limiter.resources`, at);
  }
  return undefined;
}

/** The resources that a model's instances need, among all. */
export function resourcesOf(
  config: ModelConfig,
  resources: readonly NativeResource[],
): readonly NativeResource[] {
  if (resources.length === 0) return [];
  const devices = new Set(
    config.instance_group.flatMap(({ kind, gpus }) => (kind === 'KIND_GPU' ? gpus : [0])),
  );
  const names = new Set(
    config.instance_group.flatMap((group) => claimOf(group).resources.map(({ name }) => name)),
  );
  return resources.filter(
    ({ name, device }) => names.has(name) && (device === undefined || devices.has(device)),
  );
}
