/** The extensions of Triton's protocol. */

/** What a server, or the endpoint that asks, has besides. */
export interface Extending {
  /** Whether models are loaded and unloaded on request. */
  readonly control: boolean;
  /** Whether traces have settings that can be changed. */
  readonly trace: boolean;
  /** Whether the log has settings that can be changed. */
  readonly log: boolean;
}

/** The names of the supported extensions of Triton's list, in its order. */
export function extensionsOf({ control, trace, log }: Extending): string[] {
  return [
    'classification',
    'sequence',
    ...(control ? ['model_repository', 'model_repository(unload_dependents)'] : []),
    'schedule_policy',
    'model_configuration',
    'system_shared_memory',
    'cuda_shared_memory',
    'binary_tensor_data',
    'parameters',
    'statistics',
    ...(trace ? ['trace'] : []),
    ...(log ? ['logging'] : []),
  ];
}
