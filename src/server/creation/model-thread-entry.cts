/**
 * The file that Piscina runs on the thread of a JavaScript model's instance.
 *
 * It is CommonJS because Piscina first tries `require`. Node requires an ES module by instantiating it on the spot, and
 * aborts the process if the thread is terminated meanwhile. It survives the termination of an `import()`.
 */

import type * as modelThread from './model-thread.js' with { 'resolution-mode': 'import' };

/** Does a task. */
const run: typeof modelThread.default = async (task) => (await import('./model-thread.js')).default(task);

module.exports = run;
