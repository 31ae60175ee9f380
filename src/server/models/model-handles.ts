/** The handles of a server's models: a second call for the same model returns the same handle. */

import type { NativeServer } from '../../addon/native/server.js';
import { show } from '../../argument-checks.js';
import { invalidArgument } from '../../errors.js';
import { sameKey } from '../../model-key.js';
import { ModelHandle } from './model-handle.js';
import type { ModelTable } from './model-table.js';
import { checkVersion } from '../creation/server-arguments.js';

/** How many handles are kept. There must be a limit, because any string of digits may be asked for as a version. */
const mostHandles = 1024;

/** A handle that was asked for by a name. */
interface KeptHandle {
  readonly handle: ModelHandle;
  /** The epoch at which the name was last resolved to the handle's model. */
  epoch: number;
}

/** See the head of this file. A server has one. */
export class ModelHandles {
  readonly #native: NativeServer;
  readonly #table: ModelTable;
  /** Those without a version, by name, and the others by version and name. Each has at most {@link mostHandles}, oldest first. */
  readonly #newest: Map<string, KeptHandle> = new Map();
  readonly #pinned: Map<string, KeptHandle> = new Map();

  constructor(native: NativeServer, table: ModelTable) {
    this.#native = native;
    this.#table = table;
  }

  /**
   * The handle of a model, pinned to a version if one is given.
   *
   * @throws {@link TritonError} NOT_FOUND for an unknown model, UNAVAILABLE once the server closes, INVALID_ARG for a name
   *   or version of the wrong type, and for a name that several namespaces have.
   */
  of(name: string, version: string | number | undefined): ModelHandle {
    this.#table.checkOpen();
    if (typeof (name as unknown) !== 'string')
      throw invalidArgument(`expected a model's name but received ${show(name)}`);
    const pinned = checkVersion(version, name);
    const { epoch } = this.#table.connection;
    const kept = pinned === undefined ? this.#newest : this.#pinned;
    // A name may have any characters, a version has only digits.
    const asked = pinned === undefined ? name : `${pinned}\0${name}`;
    const known = kept.get(asked);
    if (known?.epoch === epoch) return known.handle;
    const key = this.#table.find(name);
    if (known && (key === undefined || sameKey(key, known.handle.key))) {
      // The handle of a model that has left its repository tells by itself.
      known.epoch = epoch;
      return known.handle;
    }
    if (!key) throw this.#table.unknown(name);
    const handle = new ModelHandle(this.#native, this.#table, key, pinned);
    kept.delete(asked);
    if (kept.size >= mostHandles) {
      // The oldest handle stays valid for those who have it.
      const [oldest] = kept.keys();
      if (oldest !== undefined) kept.delete(oldest);
    }
    kept.set(asked, { handle, epoch });
    return handle;
  }
}
