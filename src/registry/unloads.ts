/** The unloads of a server's models, and the end of versions that have failed. */

import { insist } from '../addon/memory.js';
import type { NativeServer } from '../addon/native/server.js';
import { TritonError } from '../errors.js';
import type { Asking } from '../javascript/asker.js';
import type { Log } from '../logger.js';
import type { Wait } from '../waits.js';
import type { During } from './agents/agent-chain.js';
import type { CallOrder } from './entries/call-order.js';
import type { Ensembles } from './entries/ensembles.js';
import type { ModelEntries } from './entries/model-entries.js';
import { openUids, servedVersions, type ModelEntry } from './entries/model-entry.js';
import type { ModelEvents } from './entries/model-events.js';
import { asTritonError } from './loading/load-model.js';
import { logAbandoned } from './loading/abandoned.js';
import type { LoadStops } from './loading/load-stops.js';
import { retire } from './loading/load-version.js';

/** What unloads need of their registry. */
export interface UnloadsHost {
  readonly server: NativeServer;
  readonly log: Log;
  readonly entries: ModelEntries;
  readonly order: CallOrder;
  readonly asking: Asking;
  readonly ensembles: Ensembles;
  readonly events: ModelEvents;
  readonly stops: LoadStops;
  /** How long an unload waits for loads of its model, in milliseconds. Then they are given up. */
  readonly loadsMs: number;
  /** Is told of a model that was unloaded, and not for the sake of others. */
  readonly unloaded: (entry: ModelEntry) => void;
}

/** Whether the last turn of a model is an unload that has not ended. */
function isUnloading({ last }: ModelEntry): boolean {
  return last?.kind === 'unload' && !last.ended;
}

/** See the head of this file. */
export class Unloads {
  readonly #host: UnloadsHost;

  constructor(host: UnloadsHost) {
    this.#host = host;
  }

  /**
   * Unloads the models of a name that a program asks to unload, of all namespaces. See `Registry.unload`.
   *
   * @throws {@link TritonError} As `Registry.unload`.
   */
  async unload(name: string, withParts: boolean, parent: unknown): Promise<void> {
    const { asking, entries, loadsMs, order, stops } = this.#host;
    const asker = asking.askerOf(name, parent);
    const limit = performance.now() + loadsMs;
    const place = order.enter(name);
    let unloads: Promise<void>[];
    const isDone = stops.giveUpAfter(name, undefined, loadsMs, loadsMs);
    try {
      if (place.earlier) await place.earlier;
      // As in Triton, unloading an unknown model succeeds.
      const models = entries.named(name);
      // None of several is unloaded if one is refused.
      if (models.length > 1) for (const entry of models) this.#refuseNeeded(entry, isUnloading);
      unloads = models.map((entry) => this.#unloadFor(entry, withParts, asker, limit));
    } finally {
      isDone();
      place.leave();
    }
    const results = await Promise.allSettled(unloads);
    for (const entry of entries.named(name)) entries.forgetRemoved(entry);
    entries.forgetGone(name);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async #unloadFor(
    entry: ModelEntry,
    withParts: boolean,
    asker: Wait | undefined,
    limit: number,
  ): Promise<void> {
    if (asker?.kind === 'run' && entry.circle('unload', asker) !== undefined) {
      this.#refuseNeeded(entry);
      this.#unload(entry, withParts, undefined, limit).catch((error: unknown) => {
        const { name: model, text } = entry;
        const { message } = asTritonError(error, model);
        this.#host.log.warn(`model '${text}': the unload that it requested failed: ${message}`, {
          model,
        });
      });
      return;
    }
    await this.#unload(entry, withParts, asker, limit);
  }

  /**
   * A model is in no repository any more. Resolves when it accepts no more requests: those that it accepted may take
   * long. What needs it is taken out of service.
   *
   * @param asker - Who waits for it.
   * @param seen - Its versions when it was found to be gone. Others are of a load since then, with files of the program.
   * @returns The versions that were served; undefined if it is in a repository again, or was loaded meanwhile.
   */
  async remove(
    entry: ModelEntry,
    asker: Wait,
    seen: ReadonlySet<number>,
  ): Promise<readonly number[] | undefined> {
    const { ensembles, entries, events, log } = this.#host;
    return new Promise((resolve) => {
      const limit = performance.now() + this.#host.loadsMs;
      const unload = this.#afterLoads(entry, limit, asker, async (turn) => {
        if (entry.found.length > 0) return;
        const published = entry.published();
        const uids = openUids(published);
        if (!uids.every((uid) => seen.has(uid))) return;
        const versions = servedVersions(published);
        for (const uid of uids) ensembles.forget(uid);
        entry.isLazy = false;
        try {
          const abandoned = await entry.unload(this.#during(turn), () => {
            ensembles.changed(entry, 'was removed from its repository');
            resolve(versions);
          });
          logAbandoned(log, entry, abandoned);
        } finally {
          entry.runsOn([]);
        }
        this.#host.unloaded(entry);
        entry.isPart = false;
        if (versions.length > 0) events.unloaded(entry.key, versions);
      });
      unload
        .catch((error: unknown) => {
          const { message } = asTritonError(error, entry.name);
          log.warn(`model '${entry.text}': its unload failed: ${message}`, { model: entry.name });
        })
        .finally(() => {
          // Nothing was unloaded if it has not been said.
          resolve(undefined);
          entries.forgetRemoved(entry);
        });
    });
  }

  /**
   * Unloads a lazy model, which the next request loads again, and the models that were loaded only because it needs
   * them. Resolves when its memory is free.
   *
   * @param isStillIdle - Asked at the unload's turn.
   * @param unloaded - Called when it was unloaded, before the models that only it needs are.
   * @returns Whether it was unloaded. It is not if it is in use again, or if another model needs it.
   */
  async evict(entry: ModelEntry, isStillIdle: () => boolean, unloaded: () => void): Promise<boolean> {
    const { ensembles, events } = this.#host;
    let parts: readonly ModelEntry[] = [];
    const done = await entry.inTurn('unload', undefined, async (turn) => {
      if (!isStillIdle() || ensembles.usersOf(entry).length > 0) return false;
      parts = ensembles.partsOf(entry);
      const published = entry.published();
      for (const uid of openUids(published)) ensembles.forget(uid);
      try {
        logAbandoned(this.#host.log, entry, await entry.unload(this.#during(turn)));
      } finally {
        entry.runsOn([]);
      }
      unloaded();
      events.unloaded(entry.key, servedVersions(published));
      return true;
    });
    for (const part of parts) {
      if (done && part.isPart && !part.isLazy && ensembles.usersOf(part).length === 0)
        await this.#unload(part, true, undefined);
    }
    return done;
  }

  /** The models that {@link evict} unloads with one, also those of its parts. */
  partsToEvict(entry: ModelEntry): readonly ModelEntry[] {
    const { ensembles } = this.#host;
    const all = new Set<ModelEntry>();
    const add = (user: ModelEntry): void => {
      for (const part of ensembles.partsOf(user)) {
        if (!part.isPart || part.isLazy || all.has(part)) continue;
        all.add(part);
        add(part);
      }
    };
    add(entry);
    return [...all];
  }

  /** @param limit - When loads of the model are given up, in the time of `performance.now`. */
  async #unload(
    entry: ModelEntry,
    withParts: boolean,
    asker: Wait | undefined,
    limit: number = performance.now() + this.#host.loadsMs,
  ): Promise<void> {
    const { ensembles, events } = this.#host;
    let parts: readonly ModelEntry[] = [];
    entry.refuseCircle('unload', asker);
    await this.#afterLoads(entry, limit, asker, async (turn) => {
      this.#refuseNeeded(entry);
      // What it needs is known only now: a load before this turn may have changed it.
      if (withParts) parts = ensembles.partsOf(entry);
      // Requests do not have it loaded any more.
      entry.isLazy = false;
      const versions = servedVersions(entry.published());
      for (const { descriptor } of entry.published().versions) {
        if (descriptor) ensembles.forget(descriptor.uid);
      }
      try {
        logAbandoned(this.#host.log, entry, await entry.unload(this.#during(turn)));
      } finally {
        entry.runsOn([]);
      }
      this.#host.unloaded(entry);
      entry.isPart = false;
      if (versions.length > 0) events.unloaded(entry.key, versions);
    });
    for (const part of parts) {
      if (part.isPart && ensembles.usersOf(part).length === 0) await this.#unload(part, true, asker);
    }
  }

  /** Runs an unload in its turn. Loads before it are given up when the limit has passed. */
  async #afterLoads(
    entry: ModelEntry,
    limit: number,
    asker: Wait | undefined,
    task: (turn: Wait) => Promise<void>,
  ): Promise<void> {
    const { loadsMs, stops } = this.#host;
    const isDone = stops.giveUpAfter(entry.name, entry, loadsMs, limit - performance.now());
    try {
      await entry.inTurn('unload', asker, (turn) => {
        isDone();
        return task(turn);
      });
    } finally {
      // A turn may never come.
      isDone();
    }
  }

  /** Runs functions of repository agents: loads and unloads that they ask for would wait for this unload. */
  #during(turn: Wait): During {
    return (task) => this.#host.asking.during(turn, task);
  }

  /** @param isLeaving - Whether a user does not count, because its own unload comes first. */
  #refuseNeeded(entry: ModelEntry, isLeaving: (user: ModelEntry) => boolean = () => false): void {
    const { ensembles } = this.#host;
    const users = ensembles.usersOf(entry).filter((user) => !isLeaving(user));
    if (users.length === 0) return;
    const noun = users.every((user) => ensembles.has(user)) ? 'ensemble' : 'model';
    throw new TritonError(
      'INVALID_ARG',
      `model '${entry.text}' cannot be unloaded: the ${noun}${users.length > 1 ? 's' : ''} ` +
        `${users.map((user) => `'${user.text}'`).join(', ')} need${users.length > 1 ? '' : 's'} it; unload ${users.length > 1 ? 'them' : 'that'} first`,
      { model: entry.name },
    );
  }

  /** Takes versions out of service, unless they have left it by the turn of this. */
  async fail(entry: ModelEntry, uids: readonly number[], error: TritonError): Promise<void> {
    const { server, ensembles, events } = this.#host;
    await entry.inTurn('change', undefined, async () => {
      const { versions } = entry.published();
      const failed = versions.flatMap(({ descriptor }) =>
        descriptor && uids.includes(descriptor.uid) ? [descriptor.uid] : [],
      );
      if (failed.length === 0) return;
      // The same files are loaded when they are asked for again.
      entry.stamp = '';
      entry.isToReturn = entry.isOfRepository;
      await insist(() => {
        entry.publish({
          state: '',
          reason: '',
          versions: versions.map((one) =>
            one.descriptor && failed.includes(one.descriptor.uid)
              ? {
                  version: one.version,
                  state: 'UNAVAILABLE',
                  reason: error.message,
                  errorReason: error.reason,
                }
              : one,
          ),
        });
      });
      for (const uid of failed) ensembles.forget(uid);
      ensembles.changed(entry, 'has failed', error.reason);
      entry.endAgents(Promise.all(failed.map((uid) => retire(server, uid))));
      events.failed(entry.key, error, servedVersions(entry.published()), false);
    });
  }
}
