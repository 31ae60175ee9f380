/** The parts of `src/config` that other folders may import: reading, Triton's rules, completion, printing. */

export { changeConfig, type FieldChange } from './schema/change.js';
export { deepFreeze, expandConfig } from './schema/expand.js';
export { enumTable, messageTable, type FieldRow, type MessageTable } from './schema/table.js';
export { fieldPath, indexPath, keyPath } from './schema/paths.js';
export type * from './schema/types.js';
export { maxConfigBytes, tooManyBytes } from './text/decode.js';
export { editConfig } from './text/edit.js';
export { printConfig, printConfigJson } from './text/print.js';
export { fieldError, problemsError, unplaced, type ConfigSource } from './text/problems.js';
export { readModelConfig, type ParsedConfig } from './text/read.js';
export { readModelConfigJson } from './text/read-json.js';
export { tritonDefaults, type BackendDefaults } from './rules/complete.js';
export {
  datatypeOf,
  typeNumber,
  type ModelDescription,
  type TensorDescription,
} from './rules/description.js';
export type { Accelerators } from './support/accelerator-support.js';
export {
  otherRuntime,
  runtimeKey,
  type BackendRules,
  type ModelFile,
  type RulesOfBackends,
} from './support/backend-rules.js';
export type { SupportClass } from './support/support.js';
export { parameterRow, type ParameterSupport } from './support/parameter-support.js';
export { otherBackendAdvice } from './rules/other-backends.js';
export { inlineExpected, readInline, type InlineOption } from './rules/inline-option.js';
export { loadExpected, readLoad, type LoadOption } from './rules/load-option.js';
export {
  completeWithOwn,
  finishConfig,
  type CompletedBatchSize,
  prepareConfig,
  type ConfigContext,
  type PreparedConfig,
} from './rules/prepare.js';
export {
  controlType,
  keptStates,
  sequenceTensorsOf,
  type HiddenTensor,
  type PlacedState,
} from './rules/sequence-tensors.js';
export { batchInputKinds, batchInputRank } from './rules/ragged.js';
export { fullDims, hasRowsInValues } from './rules/shape-tensors.js';
export { readSwitch } from './rules/switch.js';
export type { GpuFinder, Gpus, MissingGpus } from './rules/usable-gpus.js';
