/**
 * Polls: each lists the repositories, looks at every model, and loads and unloads what has changed. A poll reads no content
 * of files, except where that spares a load. What cannot be listed or looked at stays as it is.
 */

import type { RescanResult } from '../../api/rescan.js';
import { setImmediate } from '../../dispatch/ending/timers.js';
import { TritonError, unavailable } from '../../errors.js';
import type { Log } from '../../logger.js';
import type { ResolvedOptions } from '../../options.js';
import { thrownText } from '../../thrown-text.js';
import type { Wait } from '../../waits.js';
import type { Ensembles } from '../entries/ensembles.js';
import type { ModelEntries } from '../entries/model-entries.js';
import { isServed, servedVersions, type ModelEntry } from '../entries/model-entry.js';
import { asTritonError, stampNow } from '../loading/load-model.js';
import type { LoadCall } from '../loading/load-reports.js';
import type { Loads } from '../loading/loads.js';
import type { UnlistedSource } from '../sources/find-models.js';
import type { ModelSource } from '../sources/model-source.js';
import type { Unloads } from '../unloads.js';
import { Contents, type ReadBudget } from './contents.js';
import { lookAt, type LookHost, type LookNow, type PlannedLoad } from './look.js';
import { Outcome } from './outcome.js';
import { Progress } from './progress.js';
import { PollRecords } from './record.js';

/** How many models are looked at at once: loader threads do it, and loads need these, too. */
const looksAtOnce = 16;

/** How many models may have their turn in one turn of the event loop. */
const mostInTurn = 256;

const noVersions: ReadonlySet<number> = new Set();

/** What polls need of their registry. */
export interface PollsHost {
  readonly options: ResolvedOptions;
  readonly entries: ModelEntries;
  readonly ensembles: Ensembles;
  readonly loads: Loads;
  readonly unloads: Unloads;
}

/** What one poll has found. */
interface Found extends LookNow {
  readonly progress: Progress;
  readonly wait: Wait;
  readonly outcome: Outcome;
  readonly loads: PlannedLoad[];
  readonly paused: PlannedLoad[];
  /** With the versions that were seen. */
  readonly gone: Map<ModelEntry, ReadonlySet<number>>;
}

/** A poll that has done its work. */
export interface Polled {
  readonly result: RescanResult;
  /** Reads what new versions were made from. */
  readonly note: () => Promise<void>;
}

/** See the head of this file. Nobody may begin a poll before the last one has ended. */
export class Polls {
  readonly #host: PollsHost;
  readonly #log: Log;
  readonly #look: LookHost;
  /** Why repositories could not be listed at the last poll, by their places. */
  #unlisted: ReadonlyMap<string, string> = new Map();

  constructor(host: PollsHost) {
    const { options, loads } = host;
    const { signal } = loads;
    this.#host = host;
    this.#log = options.log;
    this.#look = {
      signal,
      records: new PollRecords(options.repositoryPollMs),
      contents: new Contents(signal),
      loadsNew: options.modelControlMode !== 'explicit',
    };
  }

  /**
   * Does one poll. What it returns besides the outcome is to be called when that was told, and to be waited for before the
   * next poll: it reads files.
   *
   * @param wait - Stands for it where models wait for each other.
   * @param isAsked - Whether the program asks for it.
   * @throws {@link TritonError} CANCELLED if loads are cancelled.
   */
  async poll(wait: Wait, isAsked: boolean): Promise<Polled> {
    const progress = new Progress(this.#log);
    try {
      return await this.#poll(wait, isAsked, progress);
    } finally {
      progress.end();
    }
  }

  async #poll(wait: Wait, isAsked: boolean, progress: Progress): Promise<Polled> {
    const { entries, loads } = this.#host;
    throwIfStopped(loads.signal);
    const outcome = new Outcome();
    const unlisted = await entries.scanListable(loads.signal, (source, list) =>
      progress.during(`the listing of '${source.place}'`, list),
    );
    this.#tellUnlisted(unlisted);
    outcome.unlisted(unlisted);
    const budget = this.#look.contents.budget();
    const found: Found = { progress, wait, budget, isAsked, outcome, loads: [], paused: [], gone: new Map() };
    // Without its repository a model cannot be looked at either.
    const away = new Set(unlisted.map(({ source }) => source));
    const models = [...entries.values()].filter(
      (entry) => !entry.found.some(({ source }) => away.has(source)),
    );
    // A repository that hangs must not keep others from being looked at.
    const bySource = new Map<ModelSource | undefined, ModelEntry[]>();
    for (const entry of models) {
      const source = entry.found[0]?.source;
      const known = bySource.get(source);
      if (known) known.push(entry);
      else bySource.set(source, [entry]);
    }
    await allOf(
      [...bySource.values()].map((some) => eachOf(some, looksAtOnce, (entry) => this.#lookAt(entry, found))),
    );
    const call: LoadCall = {};
    const ended = new Map<ModelEntry, string>();
    this.#host.ensembles.onEnded = (entry, reason): void => void ended.set(entry, reason);
    try {
      await this.#loadAll(found, call);
      await this.#removeAll(found);
    } finally {
      this.#host.ensembles.onEnded = undefined;
    }
    for (const [entry, reason] of ended) this.#tellEnded(entry, reason, outcome);
    if (call.fault) {
      const { error } = call.fault;
      this.#log.error(`options.onProgress threw during a poll: ${thrownText(error)}`, {});
    }
    throwIfStopped(loads.signal);
    return { result: outcome.result(), note: () => this.#noteContents(models, budget) };
  }

  async #lookAt(entry: ModelEntry, found: Found): Promise<void> {
    const { outcome, loads, paused, gone } = found;
    const look = await found.progress.during(`a look at '${entry.text}'`, () =>
      lookAt(this.#look, entry, found),
    );
    switch (look.state) {
      case 'changing':
        outcome.changing(entry);
        break;
      case 'load':
        loads.push(look.load);
        break;
      case 'paused':
        paused.push(look.load);
        break;
      case 'gone':
        gone.set(entry, look.uids);
        break;
      case 'fault': {
        const { error, isNew } = look;
        outcome.failed(entry, error);
        if (isNew) this.#log.warn(`${error.message} (it stays as it is)`, { model: entry.name, error });
        break;
      }
      case 'same':
      case 'not-polled':
    }
  }

  /**
   * Loads what has changed: models before those that need them. Then what has failed, by this poll or before, if it needs
   * one of these.
   */
  async #loadAll({ progress, wait, outcome, loads: first, paused }: Found, call: LoadCall): Promise<void> {
    const { ensembles, loads, options } = this.#host;
    const width = options.modelLoadConcurrency * 2;
    const needs = ({ entry }: PlannedLoad, names: ReadonlySet<string>): boolean =>
      ensembles.neededBy(entry).some((name) => name !== entry.name && names.has(name));
    let waiting = first;
    let failed = paused;
    while (waiting.length > 0) {
      const names = new Set(waiting.map(({ entry }) => entry.name));
      const free = waiting.filter((planned) => !needs(planned, names));
      const wave = free.length > 0 ? free : waiting;
      loads.expect(wave.length);
      const loaded = new Set<string>();
      const lost: PlannedLoad[] = [];
      await eachOf(wave, width, async (planned) => {
        const done = await progress.during(`the load of '${planned.entry.text}'`, () =>
          this.#load(planned, wait, outcome, call),
        );
        if (done === 'loaded') loaded.add(planned.entry.name);
        if (done === 'failed') lost.push(planned);
      });
      failed = [...failed, ...lost];
      // This wave may have loaded what these lacked. A wave that loads nothing has nobody try again.
      const again = failed.filter((planned) => needs(planned, loaded));
      waiting = [...waiting.filter((planned) => !wave.includes(planned)), ...again];
      failed = failed.filter((planned) => !again.includes(planned));
    }
  }

  /** 'loaded': other versions are served than before. */
  async #load(
    planned: PlannedLoad,
    wait: Wait,
    outcome: Outcome,
    call: LoadCall,
  ): Promise<'loaded' | 'same' | 'failed'> {
    const { loads } = this.#host;
    const { records } = this.#look;
    const { entry, record, wasServed } = planned;
    // This poll may have loaded a model that an ensemble did not fit, which then waits for its own load.
    const plan =
      entry.isToReturn && entry.stamp === ''
        ? { ...planned.plan, known: '', keep: noVersions }
        : planned.plan;
    // Its load under way waits for this poll.
    if (entry.circle('load', wait) !== undefined) {
      outcome.changing(entry);
      return 'same';
    }
    try {
      const done = await loads.loadKnown(entry, call, wait, { plan });
      if (done.changed) {
        records.succeeded(record);
        if (done.loaded.length + done.ended.length === 0) return 'same';
        outcome.loaded(entry, done, wasServed);
        return 'loaded';
      }
      // Another model may have needed it first.
      if (!wasServed && isServed(entry)) {
        records.succeeded(record);
        outcome.loaded(entry, { loaded: servedVersions(entry.published()), ended: [] }, false);
        return 'loaded';
      }
      outcome.changing(entry);
      return 'same';
    } catch (error) {
      const failure = asTritonError(error, entry.name);
      if (loads.signal.aborted) throw failure;
      records.failed(record, plan.stamp);
      outcome.failed(entry, failure);
      return 'failed';
    }
  }

  /** Unloads what is gone, ensembles before what they need. */
  async #removeAll({ progress, wait, outcome, gone }: Found): Promise<void> {
    const { ensembles, unloads, entries } = this.#host;
    const usersOf = (entry: ModelEntry): ModelEntry[] =>
      ensembles.usersOf(entry).filter((user) => user !== entry);
    let left = [...gone.keys()];
    while (left.length > 0) {
      const among = new Set(left);
      const free = left.filter((entry) => !usersOf(entry).some((user) => among.has(user)));
      const now = free.length > 0 ? free : left;
      await eachOf(now, looksAtOnce, async (entry) => {
        if (!isServed(entry)) {
          entries.forgetRemoved(entry);
          return;
        }
        if (entry.circle('change', wait) !== undefined) {
          outcome.changing(entry);
          return;
        }
        const ended = await progress.during(`the unload of '${entry.text}'`, () =>
          unloads.remove(entry, wait, gone.get(entry) ?? new Set()),
        );
        if (ended) outcome.unloaded(entry, ended);
      });
      left = left.filter((entry) => !now.includes(entry));
    }
  }

  /** Reads what new versions were made from. What it cannot read the next poll will see. */
  async #noteContents(models: readonly ModelEntry[], budget: ReadBudget): Promise<void> {
    const { contents, signal } = this.#look;
    await eachOf(models, 1, async (entry) => {
      const { stamp, found } = entry;
      const [place, second] = found;
      if (stamp === '' || !place || second || signal.aborted) return;
      await contents.note(entry, place, stamp, budget, () => stampNow(place, signal)).catch(() => undefined);
    });
  }

  #tellEnded(entry: ModelEntry, reason: string, outcome: Outcome): void {
    if (outcome.hasLoaded(entry)) return;
    const { name: model, text } = entry;
    const error = unavailable('NOT_READY', `model '${text}' is served no more: ${reason}`, { model });
    outcome.failed(entry, error);
    this.#log.warn(error.message, { model, error });
  }

  #tellUnlisted(unlisted: readonly UnlistedSource[]): void {
    const now = new Map(unlisted.map(({ source, error }) => [source.place, error.message]));
    for (const { source, error } of unlisted) {
      if (this.#unlisted.get(source.place) === error.message) continue;
      this.#log.warn(`${error.message} (its models are served as before)`, { error });
    }
    for (const place of this.#unlisted.keys()) {
      if (!now.has(place)) this.#log.info(`model repository '${place}': it can be listed again`, {});
    }
    this.#unlisted = now;
  }
}

function throwIfStopped(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new TritonError('CANCELLED', 'the model repositories were not polled to the end: the server closes');
}

/**
 * Waits for all.
 *
 * @throws What the first of those that reject rejects with, when all have ended.
 */
async function allOf(all: readonly Promise<void>[]): Promise<void> {
  for (const one of await Promise.allSettled(all)) if (one.status === 'rejected') throw one.reason;
}

/**
 * Calls a function for each, some at a time. If one fails, no more are begun.
 *
 * @throws What the function threw first, when all that were begun have ended.
 */
async function eachOf<T>(all: readonly T[], atOnce: number, what: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  let begun = 0;
  const failures: { readonly error: unknown }[] = [];
  const some = async (): Promise<void> => {
    for (const one of left) {
      // Most need no more than a look at what is in memory, and the event loop has other work.
      if (++begun % mostInTurn === 0) await new Promise<void>((resolve) => setImmediate(resolve));
      try {
        await what(one);
      } catch (error) {
        failures.push({ error });
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, some));
  const [first] = failures;
  if (first) throw first.error;
}
