/** What a look at the model repositories has changed. */

import type { TritonError } from '../errors.js';

/** A model that {@link InferenceServer.rescan} has loaded or unloaded. */
export interface RescannedModel {
  /** Name of the model. */
  readonly name: string;
  /** The versions that were loaded. */
  readonly loaded: readonly string[];
  /** The versions that are served no more, or were replaced. */
  readonly ended: readonly string[];
}

/**
 * The outcome of {@link InferenceServer.rescan}. A model is in one of the lists at most; one that is as it was is in none.
 *
 * @example
 * const { loaded, failed } = await server.rescan();
 * for (const { name, error } of failed) console.error(name, error.message);
 */
export interface RescanResult {
  /** Models that were not served before, and are now. */
  readonly loaded: readonly RescannedModel[];
  /** Models of which versions were loaded again, added or taken out of service. */
  readonly reloaded: readonly RescannedModel[];
  /** Models whose folders are gone at two looks in a row. They accept no more requests; those that they accepted end. */
  readonly unloaded: readonly RescannedModel[];
  /**
   * Models that could not be loaded or looked at. What was served of them is served as before. Also ensembles that do not
   * fit their models any more, which are not served until they do.
   */
  readonly failed: readonly { readonly name: string; readonly error: TritonError }[];
  /** Models that are left alone, because their files have changed or gone since the last look, or a load or unload is under way. */
  readonly changing: readonly string[];
  /** Repositories that could not be listed. Their models are served as before. */
  readonly unlisted: readonly { readonly repository: string; readonly error: TritonError }[];
}
