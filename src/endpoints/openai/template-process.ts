/**
 * The process that renders chat templates. A template is code, and a client decides what it runs over: so it runs within a
 * limit of time, and the memory that it takes can end no other process.
 */

import { Script } from 'node:vm';
import { thrownText } from '../../thrown-text.js';
import { parseTemplate, type Template } from './jinja.js';

/** A template to render. */
export interface RenderJob {
  readonly template: string;
  /** What the template sees, by name. */
  readonly context: Readonly<Record<string, unknown>>;
  /** The most characters of the prompt. */
  readonly mostCharacters: number;
  /** How long it may take. */
  readonly timeoutMs: number;
}

/** What came of it. */
export type Rendered =
  | { readonly says: 'ready' }
  | { readonly says: 'prompt'; readonly prompt: string }
  /** The template cannot be parsed, it refuses the messages, or it takes too long. */
  | { readonly says: 'broken' | 'refused' | 'late'; readonly why: string };

/** How many parsed templates are kept. */
const mostTemplates = 32;
/** The most characters of a reason: a template may quote the messages. */
const longestReason = 1000;

const templates = new Map<string, Template>();

function templateOf(text: string): Template {
  const known = templates.get(text);
  if (known !== undefined) return known;
  if (templates.size >= mostTemplates) templates.clear();
  const parsed = parseTemplate(text);
  templates.set(text, parsed);
  return parsed;
}

/** The job under way, which the script below calls. */
const global: { tritontsRender?: () => Rendered } = globalThis as object;
const script = new Script('tritontsRender()');

function render({ template, context, mostCharacters, timeoutMs }: RenderJob): Rendered {
  let parsed: Template | undefined;
  global.tritontsRender = () => {
    parsed = templateOf(template);
    const prompt = parsed.render({ ...context });
    if (prompt.length <= mostCharacters) return { says: 'prompt', prompt };
    return { says: 'refused', why: `the prompt has more than ${mostCharacters} characters` };
  };
  try {
    // Only a script has a limit of time. It holds for all functions that it calls.
    return script.runInThisContext({ timeout: timeoutMs }) as Rendered;
  } catch (error) {
    const isLate = error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    const why = thrownText(error).slice(0, longestReason);
    return { says: isLate ? 'late' : parsed === undefined ? 'broken' : 'refused', why };
  }
}

function say(rendered: Rendered): void {
  process.send?.(rendered);
}
process.on('message', (job) => {
  // The parent sends nothing else.
  say(render(job as RenderJob));
});
// Ctrl-C reaches all processes of a terminal. This one ends when its parent does, which may answer requests until then.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => {
  process.exit();
});
say({ says: 'ready' });
