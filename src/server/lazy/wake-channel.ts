/**
 * Asks the owner of a server for lazy models, from other threads of the process. All environments of a server share a
 * channel, whose name its handle has.
 */

import { BroadcastChannel } from 'node:worker_threads';
import { randomUUID } from 'node:crypto';
import { TritonError, type TritonErrorJSON } from '../../errors.js';
import type { ModelKey } from '../../model-key.js';
import type { Waker } from './lazy-loads.js';

/** A question; the owner answers it. */
interface Asked {
  readonly kind: 'wake';
  /** Of the environment that asks, and of the question. */
  readonly from: string;
  readonly id: number;
  readonly key: ModelKey;
  readonly isUrgent: boolean;
  /** The model whose thread asks; undefined: it is the program's. */
  readonly by: ModelKey | undefined;
}

/** Who answers. */
export interface WakesOwner {
  /** As {@link Waker.wake}. @param by - The model whose thread asks. */
  wake(key: ModelKey, isUrgent: boolean, by?: ModelKey): Promise<void>;
}

/** The answer. */
interface Answered {
  readonly kind: 'woken';
  readonly to: string;
  readonly id: number;
  /** Why the model was not loaded; undefined: it was. */
  readonly error: TritonErrorJSON | undefined;
}

/** What a channel's listeners get. Node types its data as unknown. */
interface Message {
  readonly data: unknown;
}

/** Makes the name of a server's channel. */
export function channelName(): string {
  return `tritonts:${randomUUID()}`;
}

/**
 * Answers the questions of other environments, until the returned function is called. It does not keep the process
 * alive.
 *
 * @param name - Of the channel.
 * @param waker - A server that the program has dropped is not kept by its channel.
 */
export function answerWakes(name: string, waker: WeakRef<WakesOwner>): () => void {
  const channel = new BroadcastChannel(name);
  channel.unref();
  channel.onmessage = ({ data }: Message): void => {
    // Only this package has the name. Answers to other environments come here, too.
    const asked = data as Asked | Answered;
    if (asked.kind !== 'wake') return;
    const answer = (error: TritonErrorJSON | undefined): void => {
      channel.postMessage({ kind: 'woken', to: asked.from, id: asked.id, error } satisfies Answered);
    };
    const owner = waker.deref();
    // The server was dropped, and is being ended.
    if (owner === undefined) return;
    owner.wake(asked.key, asked.isUrgent, asked.by).then(
      () => {
        answer(undefined);
      },
      (error: unknown) => {
        answer(asJson(error, asked.key.name));
      },
    );
  };
  return () => {
    channel.close();
  };
}

function asJson(error: unknown, model: string): TritonErrorJSON {
  if (error instanceof TritonError) return error.toJSON();
  return new TritonError('INTERNAL', `model '${model}': it could not be loaded`, { model }).toJSON();
}

/** Asks the owner. The channel is open while there are questions. */
export class ChannelWaker implements Waker {
  readonly #name: string;
  readonly #self: string = randomUUID();
  readonly #waiting: Map<number, { resolve: () => void; reject: (error: unknown) => void }> = new Map();
  #channel: BroadcastChannel | undefined;
  readonly #by: ModelKey | undefined;
  #ids = 0;

  /**
   * @param name - Of the channel.
   * @param by - The model whose thread this is.
   */
  constructor(name: string, by: ModelKey | undefined) {
    this.#name = name;
    this.#by = by;
  }

  get knowsAsker(): boolean {
    return this.#by !== undefined;
  }

  wake(key: ModelKey, isUrgent: boolean): Promise<void> {
    const id = ++this.#ids;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#channel ??= this.#open();
      this.#channel.postMessage({
        kind: 'wake',
        from: this.#self,
        id,
        key,
        isUrgent,
        by: this.#by,
      } satisfies Asked);
    });
  }

  /** Nobody waits any more. */
  close(): void {
    this.#waiting.clear();
    this.#channel?.close();
    this.#channel = undefined;
  }

  #open(): BroadcastChannel {
    const channel = new BroadcastChannel(this.#name);
    // What keeps the process alive is the wait of the requests, which ends with the server.
    channel.unref();
    channel.onmessage = ({ data }: Message): void => {
      // Only this package has the name.
      const answered = data as Asked | Answered;
      if (answered.kind !== 'woken' || answered.to !== this.#self) return;
      const waiting = this.#waiting.get(answered.id);
      if (waiting === undefined) return;
      this.#waiting.delete(answered.id);
      const { error } = answered;
      if (error === undefined) waiting.resolve();
      else waiting.reject(TritonError.from(error));
    };
    return channel;
  }
}
