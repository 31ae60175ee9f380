/**
 * Whether requests of a server may be traced. All environments of a server share the memory, so that asking costs
 * a request next to nothing.
 */

import type { TraceMode } from '../../trace-config.js';

/** The size of the memory. */
export const traceBytes = 4;

const off = 0;
const toFile = 1;
const toSpans = 2;
/** The bits of the word that have one of these. */
const modes = 3;

/** The states of servers, for their endpoints. */
const ofServers = new WeakMap<object, TraceState>();

/** The state of a server; undefined for an object that is no server. */
export function traceStateOf(server: object): TraceState | undefined {
  return ofServers.get(server);
}

/** See the head of this file. */
export class TraceState {
  readonly #word: Int32Array;

  /** @param server - Whose state it is, for {@link traceStateOf}. */
  constructor(server: object, memory: SharedArrayBuffer) {
    ofServers.set(server, this);
    this.#word = new Int32Array(memory);
  }

  /** Whether requests may be traced, so that a front end asks for each. */
  get isOn(): boolean {
    return (this.word & modes) !== off;
  }

  /** Changes with every change of settings. */
  get word(): number {
    return this.#word[0] ?? off;
  }

  /** Whether they are traced as spans, so that also calls of the program ask. */
  get spans(): boolean {
    return (this.word & modes) === toSpans;
  }

  /** @param mode - Undefined: none is traced. */
  set(mode: TraceMode | undefined): void {
    const next = mode === undefined ? off : mode === 'triton' ? toFile : toSpans;
    // The upper bits count the changes.
    this.#word[0] = ((this.word & ~modes) + modes + 1) | next;
  }
}
