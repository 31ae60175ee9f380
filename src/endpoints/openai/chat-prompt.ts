/** Makes the prompt of a chat by the model's template. */

import { TritonError } from '../../errors.js';
import type { InferenceService } from '../service/service.js';
import type { ChatRequest } from './chat-request.js';
import { unsupported } from './sampling.js';
import type { ChatJob } from './templates.js';

/**
 * The template of a chat, and what it sees.
 *
 * @param own - The endpoint's template, which goes before the model's.
 * @throws {@link TritonError} UNSUPPORTED for a model without a template, INTERNAL for one whose template cannot be read.
 */
export function promptOf(
  service: InferenceService,
  own: string | undefined,
  { model, messages, tools }: ChatRequest,
): ChatJob {
  const found = service.chatTemplate(model);
  if (found !== undefined && 'fault' in found && own === undefined)
    throw new TritonError('INTERNAL', `model '${model}': ${found.fault}`, { model });
  const given = found === undefined || 'fault' in found ? undefined : found;
  const template = own ?? (tools.length > 0 ? given?.toolText : undefined) ?? given?.text;
  if (template === undefined) {
    throw unsupported(
      `model '${model}' has no chat template: put chat_template.jinja, or a tokenizer_config.json with chat_template, into its folder`,
    );
  }
  // Templates test whether there are tools.
  const context = {
    ...given?.tokens,
    messages,
    tools: tools.length > 0 ? tools : null,
    add_generation_prompt: true,
  };
  return { model, template, context };
}
