/** The models of several sources, and the error where there are none. */

import { TritonError } from '../../errors.js';
import type { FoundModel, ListedModel, ModelSource, NoModels } from './model-source.js';

/**
 * Lists all sources. A name that several have is there several times.
 *
 * @throws {@link TritonError} As {@link ModelSource.list}; INTERNAL for anything else that it throws.
 */
export async function findModels(
  sources: readonly ModelSource[],
  signal: AbortSignal,
): Promise<Map<string, FoundModel[]>> {
  const found = new Map<string, FoundModel[]>();
  for (const source of sources) {
    for (const model of await listOf(source, signal)) {
      const known = found.get(model.name);
      if (known) known.push({ source, model });
      else found.set(model.name, [{ source, model }]);
    }
  }
  return found;
}

async function listOf(source: ModelSource, signal: AbortSignal): Promise<readonly ListedModel[]> {
  try {
    return await source.list(signal);
  } catch (error) {
    if (error instanceof TritonError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const text = `model repository '${source.place}' cannot be listed: ${reason}`;
    throw new TritonError('INTERNAL', text, { cause: error });
  }
}

/** The error for sources without any model. */
export async function noModelsError(sources: readonly ModelSource[]): Promise<TritonError> {
  const reasons = await Promise.all(sources.map(whyNoModels));
  return new TritonError(
    'INVALID_ARG',
    `${reasons.map(({ fact }) => fact).join('; ')}. A model is a folder with numbered version folders, such as ` +
      (reasons[0]?.example ?? 'models/digits/1/model.onnx'),
  );
}

async function whyNoModels(source: ModelSource): Promise<NoModels> {
  return (
    (await source.whyNoModels?.()) ?? {
      fact: `model repository '${source.place}' has no models`,
      example: `${source.place}/digits/1/model.onnx`,
    }
  );
}
