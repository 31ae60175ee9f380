/** The models of several sources, and the error where there are none. */

import { TritonError } from '../../errors.js';
import type { ModelKey } from '../../model-key.js';
import { ModelKeyMap } from '../../model-key-map.js';
import type { FoundModel, ListedModel, ModelSource, NoModels } from './model-source.js';
import { thrownText } from '../../thrown-text.js';

/** A model, and where it is. */
export interface FoundPlaces {
  readonly key: ModelKey;
  /** At least one. A load refuses a model that several sources of its namespace have. */
  readonly places: FoundModel[];
}

/** A source that could not be listed. */
export interface UnlistedSource {
  readonly source: ModelSource;
  readonly error: TritonError;
}

/** What each source has listed. */
export type Listings = ReadonlyMap<ModelSource, readonly ListedModel[]>;

/**
 * The models of all sources.
 *
 * @throws {@link TritonError} As {@link ModelSource.list}; INTERNAL for anything else that it throws.
 */
export async function findModels(
  sources: readonly ModelSource[],
  signal: AbortSignal,
): Promise<ModelKeyMap<FoundPlaces>> {
  return placesIn(await listSources(sources, signal));
}

/** Lists a source, and may tell of it. */
export type ListingStep = (
  source: ModelSource,
  list: () => Promise<readonly ListedModel[]>,
) => Promise<readonly ListedModel[]>;

/**
 * Lists all sources, at the same time.
 *
 * @param failed - Returns the models of a source that cannot be listed, or throws (default: it throws the error).
 * @param during - Lists one of them (default: it calls the function).
 * @throws {@link TritonError} As {@link findModels}, of the first source that cannot be listed.
 */
export async function listSources(
  sources: readonly ModelSource[],
  signal: AbortSignal,
  failed: (source: ModelSource, error: TritonError) => readonly ListedModel[] = (_, error) => {
    throw error;
  },
  during: ListingStep = (_, list) => list(),
): Promise<Listings> {
  const listings = new Map<ModelSource, readonly ListedModel[]>();
  const running = sources.map((source) => {
    const listing = during(source, () => listSource(source, signal));
    // The first that fails is told of, and nobody waits for the others then.
    listing.catch(() => undefined);
    return [source, listing] as const;
  });
  for (const [source, listing] of running) {
    try {
      listings.set(source, await listing);
    } catch (error) {
      if (!(error instanceof TritonError)) throw error;
      listings.set(source, failed(source, error));
    }
  }
  return listings;
}

/** Where each model is. */
export function placesIn(listings: Listings): ModelKeyMap<FoundPlaces> {
  const found = new ModelKeyMap<FoundPlaces>();
  for (const [source, models] of listings) {
    for (const model of models) {
      const key = { namespace: source.namespace, name: model.name };
      const known = found.get(key);
      if (known) known.places.push({ source, model });
      else found.set(key, { key, places: [{ source, model }] });
    }
  }
  return found;
}

/** Whether two listings of the same sources have the same models. */
export function isSameListing(a: Listings, b: Listings): boolean {
  return [...a].every(([source, models]) => {
    const others = b.get(source);
    return (
      others?.length === models.length &&
      models.every(({ name, path, file }, at) => {
        const other = others[at];
        return other?.name === name && other.path === path && other.file === file;
      })
    );
  });
}

/**
 * The models of a source.
 *
 * @throws {@link TritonError} As {@link findModels}.
 */
export async function listSource(source: ModelSource, signal: AbortSignal): Promise<readonly ListedModel[]> {
  try {
    return await source.list(signal);
  } catch (error) {
    if (error instanceof TritonError) throw error;
    const reason = thrownText(error);
    const text = `model repository '${source.place}' cannot be listed: ${reason}`;
    throw new TritonError('INTERNAL', text, { cause: error });
  }
}

/** The error for sources without any model. */
export async function noModelsError(sources: readonly ModelSource[]): Promise<TritonError> {
  const reasons = await Promise.all(sources.map(whyNoModels));
  const facts = reasons.map(({ fact }) => fact).join('; ');
  const { example } = reasons.find((reason) => reason.example !== undefined) ?? {};
  return new TritonError(
    'INVALID_ARG',
    example === undefined
      ? facts
      : `${facts}. A model is a folder with numbered version folders, such as ${example}`,
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
