/**
 * What creating a server needs besides what its callers need: half of the package's modules. It is one module, imported
 * when it is needed, because Jest cannot import several at once that share others.
 */

export { createEngine } from '../../addon/engine.js';
export { limitGpuMemory } from '../../addon/gpus.js';
export { askForGpus, asksForGpus } from '../../backends/gpu-finder.js';
export { checkBackendDirectory } from '../../backends/custom-backends.js';
export { createdWith, openCache } from '../../cache/open-cache.js';
export { checkAgentDirectory } from '../../registry/agents/find-agent.js';
export { Registry } from '../../registry/registry.js';
export { sourcesOf } from '../../registry/sources/sources-of.js';
export { resolveOptions } from '../../resolve-options.js';
export { openSpanSink } from '../trace/span-sink.js';
export { answerPlugins } from '../plugins/plugin-questions.js';
export { usableDevices } from '../reports/devices.js';
