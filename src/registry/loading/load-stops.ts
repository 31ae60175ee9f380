/** Gives up loads of a model that hold up an unload of it. */

import { clearTimeout, setTimeout } from '../../timers.js';
import { follow, sharedController } from '../../signals.js';
import { longestTimerMs } from '../../time-limit.js';
import { TritonError } from '../../errors.js';
import type { ModelEntry } from '../entries/model-entry.js';

/** A load that has not ended, and may wait for its turn. */
export interface LoadStop {
  /** Aborted when the load is given up, with its error, and when all loads are cancelled. */
  readonly signal: AbortSignal;
  /** The load has ended. */
  end(): void;
}

interface Known {
  /** Undefined: it lists the sources, and its models are not known yet. */
  readonly entry: ModelEntry | undefined;
  readonly controller: AbortController;
}

/** See the head of this file. */
export class LoadStops {
  /** By the model's name. */
  readonly #known: Map<string, Set<Known>> = new Map();

  /**
   * Notes a load.
   *
   * @param parent - Aborted when the load is given up for another reason.
   */
  begin(name: string, entry: ModelEntry | undefined, parent: AbortSignal): LoadStop {
    const controller = sharedController();
    const unfollow = follow(controller, parent);
    const one = { entry, controller };
    const all = this.#known.get(name) ?? new Set();
    this.#known.set(name, all.add(one));
    return {
      signal: controller.signal,
      end: () => {
        unfollow();
        all.delete(one);
        if (all.size === 0 && this.#known.get(name) === all) this.#known.delete(name);
      },
    };
  }

  /**
   * Gives up, after a time, the loads of a name that are known now.
   *
   * @param entry - Only those of this model; undefined: all of the name.
   * @param limitMs - The limit that the error names. The loads have had a part of it already.
   * @param leftMs - What is left of it.
   * @returns Ends that.
   */
  giveUpAfter(name: string, entry: ModelEntry | undefined, limitMs: number, leftMs: number): () => void {
    const loads = [...(this.#known.get(name) ?? [])].filter(
      (one) => entry === undefined || one.entry === entry,
    );
    if (loads.length === 0) return () => undefined;
    const timer = setTimeout(
      () => {
        const text = `model '${entry?.text ?? name}': its load was given up, because an unload of it had waited for ${limitMs / 1000} s (workers.unloadTimeoutMs)`;
        const error = new TritonError('CANCELLED', text, { model: name });
        for (const { controller } of loads) controller.abort(error);
      },
      Math.min(Math.max(0, leftMs), longestTimerMs),
    );
    return () => {
      clearTimeout(timer);
    };
  }
}

/** The error of a load that was given up; undefined: it was not. */
export function givenUp({ aborted, reason }: AbortSignal): TritonError | undefined {
  return aborted && reason instanceof TritonError ? reason : undefined;
}

/** How long a load that was given up may take to end by itself, in milliseconds. */
export const graceMs = 2000;

/**
 * The outcome of a load. One that was given up, and does not end, is left alone.
 *
 * @param ms - How long it may take to end by itself, once it is given up.
 * @param leave - Called when it is left alone.
 * @throws What the load throws; its error if it is left alone.
 */
export function unlessGivenUp<T>(
  load: Promise<T>,
  signal: AbortSignal,
  ms: number,
  leave: () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      const error = givenUp(signal);
      if (error === undefined) return;
      timer = setTimeout(() => {
        leave();
        reject(error);
      }, ms);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
    load
      .finally(() => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
      })
      .then(resolve, reject);
  });
}
