/** Triton's backends that the package does not have, and what their users can do instead. */

/** What to do instead of each backend. A backend that is built in later is found before it is looked up here. */
const remedies: ReadonlyMap<string, string> = new Map([
  [
    'dali',
    'write the preprocessing as a model with backend "python" or "javascript", and put it before the model in an ensemble',
  ],
  [
    'vllm',
    'run the engine in a model.py with backend "python" and model_transaction_policy { decoupled: true }',
  ],
  [
    'tensorrtllm',
    'run the engine in a model.py with backend "python" and model_transaction_policy { decoupled: true }',
  ],
]);

/** The end of a message about a backend of Triton's that is not here; empty for other names. */
export function otherBackendAdvice(backend: string): string {
  const remedy = remedies.get(backend);
  return remedy === undefined ? '' : `. Triton's backend '${backend}' is not built in: ${remedy}`;
}
