/** The handles of a server's models: a second call for the same model returns the same handle. */

import type { NativeServer } from '../../addon/native/server.js';
import { show } from '../../argument-checks.js';
import { invalidArgument } from '../../errors.js';
import { sameKey } from '../../model-key.js';
import type { Explainer } from '../reports/explainer.js';
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
  readonly #explainer: Explainer;
  /** Those without a version and namespace, by name, and the others by all three. Each has at most {@link mostHandles}, oldest first. */
  readonly #newest: Map<string, KeptHandle> = new Map();
  readonly #pinned: Map<string, KeptHandle> = new Map();

  constructor(native: NativeServer, table: ModelTable, explainer: Explainer) {
    this.#native = native;
    this.#table = table;
    this.#explainer = explainer;
  }

  /**
   * The handle of a model, pinned to a version if one is given.
   *
   * @param namespace - That of the model (default: the only one that has the name).
   * @throws {@link TritonError} NOT_FOUND for an unknown model, UNAVAILABLE once the server closes, INVALID_ARG for a name
   *   or version of the wrong type, and for a name that several namespaces have.
   */
  of(name: string, version: unknown, namespace?: string): ModelHandle {
    this.#table.checkOpen();
    if (typeof (name as unknown) !== 'string')
      throw invalidArgument(`expected a model's name but received ${show(name)}`);
    const pinned = checkVersion(version, name);
    const { epoch } = this.#table.connection;
    const isPlain = pinned === undefined && namespace === undefined;
    const kept = isPlain ? this.#newest : this.#pinned;
    const asked = isPlain ? name : JSON.stringify([pinned, namespace, name]);
    const known = kept.get(asked);
    if (known?.epoch === epoch) return known.handle;
    const key = namespace === undefined ? this.#table.find(name) : this.#table.findIn({ namespace, name });
    if (known && (key === undefined || sameKey(key, known.handle.key))) {
      // The handle of a model that has left its repository tells by itself.
      known.epoch = epoch;
      return known.handle;
    }
    if (!key)
      throw namespace === undefined ? this.#table.unknown(name) : this.#table.unknownIn({ namespace, name });
    const handle = new ModelHandle(this.#native, this.#table, this.#explainer, key, pinned);
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
