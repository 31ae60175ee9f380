/** The handles of a server's models: a second call for the same model returns the same handle. */

import type { NativeServer } from '../../addon/native/server.js';
import { invalidArgument } from '../../errors.js';
import { ModelHandle } from './model-handle.js';
import type { ModelTable } from './model-table.js';
import { checkVersion } from '../creation/server-arguments.js';

/** How many handles are kept. There must be a limit, because any string of digits may be asked for as a version. */
const mostHandles = 1024;

/** See the head of this file. A server has one. */
export class ModelHandles {
  readonly #native: NativeServer;
  readonly #table: ModelTable;
  /** At most {@link mostHandles}, oldest first. */
  readonly #kept: Map<string, ModelHandle> = new Map();

  constructor(native: NativeServer, table: ModelTable) {
    this.#native = native;
    this.#table = table;
  }

  /**
   * The handle of a model, pinned to a version if one is given.
   *
   * @throws {@link TritonError} NOT_FOUND for an unknown model, UNAVAILABLE once the server closes, INVALID_ARG for a name
   *   or version of the wrong type.
   */
  of(name: string, version: string | number | undefined): ModelHandle {
    this.#table.checkOpen();
    if (typeof (name as unknown) !== 'string')
      throw invalidArgument(`expected a model's name but received ${typeof name}`);
    const pinned = checkVersion(version);
    const key = pinned === undefined ? name : `${name}\0${pinned}`;
    const known = this.#kept.get(key);
    if (known) return known;
    if (!this.#table.entry(name)) throw this.#table.unknown(name);
    const model = new ModelHandle(this.#native, this.#table, name, pinned);
    if (this.#kept.size >= mostHandles) {
      // The oldest handle stays valid for those who have it.
      const [oldest] = this.#kept.keys();
      if (oldest !== undefined) this.#kept.delete(oldest);
    }
    this.#kept.set(key, model);
    return model;
  }
}
