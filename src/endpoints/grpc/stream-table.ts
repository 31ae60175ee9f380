/**
 * The streams of a session. Node keeps them in a Map. V8 copies a Map's table again and again as entries come and go, and each
 * copy refers to the next. A copy that reached the old generation keeps all later ones, with all streams since, until a full
 * collection. So each collection of young objects copies ended streams, too, and full ones come more often.
 *
 * The place where Node keeps them is not documented. If it is not found, the session stays as it is.
 */

import type { Http2Session } from 'node:http2';
import { types } from 'node:util';

/** The functions of a Map that Node uses. */
class StreamTable {
  #streams: Record<number, unknown> = Object.create(null) as Record<number, unknown>;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(id: number): boolean {
    return this.#streams[id] !== undefined;
  }

  get(id: number): unknown {
    return this.#streams[id];
  }

  set(id: number, stream: unknown): this {
    if (!this.has(id)) this.#size++;
    this.#streams[id] = stream;
    return this;
  }

  delete(id: number): boolean {
    if (!this.has(id)) return false;
    this.#size--;
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- It is a table of numbers.
    delete this.#streams[id];
    return true;
  }

  clear(): void {
    this.#streams = Object.create(null) as Record<number, unknown>;
    this.#size = 0;
  }

  keys(): IterableIterator<number> {
    return Object.keys(this.#streams).map(Number)[Symbol.iterator]();
  }

  values(): IterableIterator<unknown> {
    return Object.values(this.#streams)[Symbol.iterator]();
  }

  entries(): IterableIterator<[number, unknown]> {
    const all = Object.entries(this.#streams);
    return all.map(([id, stream]): [number, unknown] => [Number(id), stream])[Symbol.iterator]();
  }

  forEach(use: (stream: unknown, id: number, table: this) => void): void {
    for (const [id, stream] of this.entries()) use(stream, id, this);
  }

  [Symbol.iterator](): IterableIterator<[number, unknown]> {
    return this.entries();
  }
}

/** Gives a new session, which has no stream yet, a table of this kind. Returns whether it has one now. */
export function replaceStreamTable(session: Http2Session): boolean {
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'state');
  const state: unknown = key === undefined ? undefined : Reflect.get(session, key);
  if (typeof state !== 'object' || state === null) return false;
  const streams: unknown = Reflect.get(state, 'streams');
  // Node's class of it has no prototype that `instanceof` finds.
  if (!types.isMap(streams) || streams.size > 0) return false;
  return Reflect.set(state, 'streams', new StreamTable());
}
