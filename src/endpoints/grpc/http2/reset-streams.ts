/** The streams that a connection has reset last. Frames that were under way to them are no errors of the client. */

/** More than the calls that a client usually has under way: each may still send when it is reset. */
const most = 2048;

/** See the head of this file. */
export class ResetStreams {
  /** Most connections reset none. */
  #ids: Int32Array | undefined;
  #count = 0;

  /** Adds a stream, in the place of the oldest one. */
  add(id: number): void {
    this.#ids ??= new Int32Array(most);
    this.#ids[this.#count++ % most] = id;
  }

  has(id: number): boolean {
    return this.#ids?.includes(id) === true;
  }
}
