/** Finds the call of a path. */

/**
 * Groups of calls, as Triton's `--openai-restricted-api` names them.
 *
 * - `inference`: chats, completions, embeddings
 * - `model-repository`: the list of models, load, unload
 * - `metrics`: metrics for Prometheus
 * - `health`: whether the server is ready
 */
export type OpenAIGroup = 'inference' | 'model-repository' | 'metrics' | 'health';

/** All groups. */
export const openAIGroups: readonly OpenAIGroup[] = ['inference', 'model-repository', 'metrics', 'health'];

/** A call of the front end. */
export type OpenAICall =
  'chat' | 'completion' | 'embeddings' | 'models' | 'model' | 'load' | 'unload' | 'metrics' | 'ready';

/** The call of a path. */
export interface OpenAIRoute {
  readonly call: OpenAICall;
  readonly group: OpenAIGroup;
  readonly method: 'GET' | 'POST';
  /** The name of the model in the path; empty if it names none. */
  readonly model: string;
}

function route(call: OpenAICall, group: OpenAIGroup, method: OpenAIRoute['method'], model = ''): OpenAIRoute {
  return { call, group, method, model };
}

const fixed: ReadonlyMap<string, OpenAIRoute> = new Map([
  ['/v1/chat/completions', route('chat', 'inference', 'POST')],
  ['/v1/completions', route('completion', 'inference', 'POST')],
  ['/v1/embeddings', route('embeddings', 'inference', 'POST')],
  ['/v1/models', route('models', 'model-repository', 'GET')],
  ['/metrics', route('metrics', 'metrics', 'GET')],
  ['/health/ready', route('ready', 'health', 'GET')],
]);

const modelPath = /^\/v1\/models\/([^/]+)(?:\/(load|unload))?$/;

/** The call of a URL; undefined if there is none. */
export function openAIRoute(url: string): OpenAIRoute | undefined {
  const path = url.split('?', 1)[0] ?? '';
  const known = fixed.get(path);
  if (known !== undefined) return known;
  const [, encoded, action] = modelPath.exec(path) ?? [];
  if (encoded === undefined) return undefined;
  let model: string;
  try {
    model = decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
  const call = action === 'load' || action === 'unload' ? action : 'model';
  return route(call, 'model-repository', call === 'model' ? 'GET' : 'POST', model);
}
