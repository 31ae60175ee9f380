/**
 * Tells `node:diagnostics_channel` of sequences that the engine has ended, because no request of them came for
 * `max_sequence_idle_microseconds`. The engine tells nobody of that, so this asks it about the sequences that began in
 * this environment while somebody subscribed. Without a subscriber nothing is noted and no timer runs.
 */

import { channel } from 'node:diagnostics_channel';
import { sequenceIdled, sequenceLive } from '../../addon/sequence-fates.js';
import type { NativeServer } from '../../addon/native/server.js';
import type { DispatchTarget } from '../../dispatch/types.js';
import { clearInterval, setInterval } from '../../timers.js';
import type { SequenceMessage } from './sequence-channels.js';

const idle = channel('tritonts:sequence:idle');

/** How often the engine is asked, in milliseconds. */
const lookMs = 100;

/** A sequence that may be live. */
interface Watched {
  readonly uid: number;
  readonly message: SequenceMessage;
}

/** See the head of this file. Each connection to a server has one. */
export class IdleWatch {
  readonly #server: Pick<NativeServer, 'sequenceFate'>;
  /** By version and id: a sequence that begins anew takes the place of the one before. */
  readonly #watched: Map<string, Watched> = new Map();
  #timer: NodeJS.Timeout | undefined;

  constructor(server: Pick<NativeServer, 'sequenceFate'>) {
    this.#server = server;
  }

  /** A request with START is sent. */
  readonly begun = (target: DispatchTarget, id: bigint | string): void => {
    if (!idle.hasSubscribers || id === 0n) return;
    const { uid, name: model, version } = target;
    this.#watched.set(`${uid} ${typeof id} ${id}`, { uid, message: { model, version, id } });
    this.#timer ??= setInterval(() => {
      this.#look();
    }, lookMs).unref();
  };

  #look(): void {
    for (const [key, { uid, message }] of this.#watched) {
      const fate = this.#server.sequenceFate(uid, message.id);
      if (fate === sequenceLive) continue;
      this.#watched.delete(key);
      if (fate === sequenceIdled) idle.publish(message);
    }
    if (this.#watched.size > 0 && idle.hasSubscribers) return;
    this.#watched.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
