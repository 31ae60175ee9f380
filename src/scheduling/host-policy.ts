/** Host policies: the cores and the NUMA node to which the threads of instances are bound. */

import type { NativeHostPolicy } from '../addon/native/version-config.js';
import { expected, readOptions } from '../argument-checks.js';
import type { ModelConfig } from '../config/index.js';
import { invalidArgument } from '../errors.js';
import { isKeyed } from '../keyless.js';

/**
 * What the threads of an instance are bound to. Triton: `--host-policy`. On systems other than Linux it has no effect.
 *
 * @example
 * const near: HostPolicyOptions = { cpuCores: '0-7,16-23', numaNode: 0 };
 */
export interface HostPolicyOptions {
  /**
   * The cores, as ranges such as '0-3,8-8' (default: all). A model whose policy has another form does not load.
   * Triton: `cpu-cores`.
   */
  readonly cpuCores?: string | undefined;
  /** The NUMA node that memory is taken from (default: any). Triton: `numa-node`. */
  readonly numaNode?: number | undefined;
}

/** The policies of a server, by name. Their `cpuCores` are not checked yet. */
export type HostPolicies = ReadonlyMap<string, HostPolicyOptions>;

/** The kernel's masks have no more nodes than this. */
const mostNodes = 1024;

/**
 * Reads the option `hostPolicies`.
 *
 * @throws {@link TritonError} INVALID_ARG.
 */
export function checkHostPolicies(given: unknown): HostPolicies {
  const path = 'options.hostPolicies';
  if (given === undefined) return new Map();
  if (!isKeyed(given)) throw expected('an object of policies by name', path, given);
  return new Map(
    Object.entries(given).map(([name, one]) => {
      const at = `${path}.${name}`;
      if (name === '') throw invalidArgument(`${path}: a policy has an empty name`);
      const { cpuCores, numaNode } = readOptions<HostPolicyOptions>(one, ['cpuCores', 'numaNode'], at);
      if (cpuCores !== undefined && typeof cpuCores !== 'string')
        throw expected("ranges of cores such as '0-3'", `${at}.cpuCores`, cpuCores);
      const isNode = (value: unknown): value is number =>
        typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < mostNodes;
      if (numaNode !== undefined && !isNode(numaNode))
        throw expected(`the number of a NUMA node, from 0 to ${mostNodes - 1},`, `${at}.numaNode`, numaNode);
      return [name, { cpuCores, numaNode }];
    }),
  );
}

/**
 * The policy of an instance: the one that its group names, else 'cpu', 'gpu_<id>' or 'model'. Undefined if the server's
 * options give it no settings, as in Triton, or if the system does not bind threads.
 *
 * @throws {@link TritonError} INVALID_ARG for cores that are not written as ranges.
 */
export function hostPolicyOf(
  model: string,
  { kind, device }: { readonly kind: string; readonly device: number },
  { host_policy: named }: Pick<ModelConfig['instance_group'][number], 'host_policy'>,
  policies: HostPolicies,
): NativeHostPolicy | undefined {
  const name = named === '' ? defaultName(kind, device) : named;
  const { cpuCores, numaNode } = policies.get(name) ?? {};
  if (process.platform !== 'linux' || (cpuCores === undefined && numaNode === undefined)) return undefined;
  return { name, numaNode, cores: cpuCores === undefined ? [] : coresOf(model, name, cpuCores) };
}

/** How many cores the policies have together; undefined if an instance may run on all. */
export function boundCores(policies: readonly (NativeHostPolicy | undefined)[]): number | undefined {
  const cores = new Set<number>();
  for (const policy of policies) {
    if (!policy || policy.cores.length === 0) return undefined;
    for (const { first, last } of policy.cores) for (let core = first; core <= last; core++) cores.add(core);
  }
  return policies.length === 0 ? undefined : cores.size;
}

/** A note for each group whose policy has no settings. */
export function withoutPolicy(config: ModelConfig, policies: HostPolicies): readonly string[] {
  return config.instance_group.flatMap(({ host_policy: name }, i) =>
    name === '' || policies.has(name)
      ? []
      : [
          `instance_group[${i}].host_policy: the server has no settings for '${name}', so its threads run anywhere, as in Triton: give them by the option hostPolicies (--host-policy)`,
        ],
  );
}

function defaultName(kind: string, device: number): string {
  if (kind === 'KIND_GPU') return `gpu_${device}`;
  return kind === 'KIND_MODEL' ? 'model' : 'cpu';
}

/** The largest number of a core in the kernel's masks, and the most digits of one. */
const mostCore = 8191;

function coresOf(model: string, policy: string, text: string): NativeHostPolicy['cores'] {
  return text.split(',').map((range) => {
    const [, first, last] = /^(\d{1,4})-(\d{1,4})$/.exec(range.trim()) ?? [];
    const cores = { first: Number(first), last: Number(last) };
    if (cores.first <= cores.last && cores.last <= mostCore) return cores;
    // The text is Triton's.
    const format = "'<lower_cpu_core_id>-<upper_cpu_core_id>'";
    throw invalidArgument(
      `model '${model}': host policy '${policy}': host policy setting 'cpu-cores' format is ${format}. Got ${range}`,
      { model },
    );
  });
}
