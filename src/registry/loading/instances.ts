/** The instances of a version: its groups' instances on their devices, as the registry and the engine name them. */

import type { NativeInstanceSpec } from '../../addon/native/version-config.js';
import { cpu } from '../../backends/context.js';
import type { ModelConfig } from '../../config/index.js';
import { hostPolicyOf, type HostPolicies } from '../../scheduling/host-policy.js';
import type { PlacedInstance } from '../../scheduling/placed-instance.js';
import { claimOf } from '../../scheduling/rate-limit.js';

/** An instance group of a configuration. */
export type InstanceGroup = ModelConfig['instance_group'][number];

/** A version's instances on their devices, over all groups. As in Triton, names are numbered for each GPU. */
export function instancesOf(config: ModelConfig, policies: HostPolicies): PlacedInstance[] {
  return instancesWithGroups(config).map(([instance, group]) => {
    const hostPolicy = hostPolicyOf(config.name, instance, group, policies);
    return hostPolicy ? { ...instance, hostPolicy } : instance;
  });
}

/** The same with the group of each. */
export function instancesWithGroups(config: ModelConfig): (readonly [PlacedInstance, InstanceGroup])[] {
  return config.instance_group.flatMap((group) =>
    Array.from({ length: group.count }, (_, i) => `${group.name}_${i}`).flatMap((name) =>
      (group.kind === 'KIND_GPU' ? group.gpus : [0]).map(
        (device) => [{ name, kind: group.kind, device }, group] as const,
      ),
    ),
  );
}

/** The same for the engine. */
export function nativeInstances(config: ModelConfig, policies: HostPolicies): NativeInstanceSpec[] {
  return instancesWithGroups(config).map(([instance, group]) => ({
    ...{ name: instance.name, device: deviceOf(instance) },
    ...claimOf(group),
    hostPolicy: hostPolicyOf(config.name, instance, group, policies),
  }));
}

/** The device of an instance, as backends and the engine name it. */
export function deviceOf({ kind, device }: PlacedInstance): number {
  return kind === 'KIND_GPU' ? device : cpu;
}
