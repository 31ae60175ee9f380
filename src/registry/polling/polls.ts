/**
 * Polls: each lists the repositories, looks at every model, and loads and unloads what has changed. A poll reads no content
 * of files, except where that spares a load. What cannot be listed or looked at stays as it is. A folder or a load that
 * hangs holds nothing else up.
 */

import type { RescanResult } from '../../api/rescan.js';
import { setImmediate } from '../../timers.js';
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
import type { ListedModel, ModelSource } from '../sources/model-source.js';
import type { Unloads } from '../unloads.js';
import { Contents, type ReadBudget } from './contents.js';
import {
  changing,
  lookAt,
  lookThatHangs,
  type Look,
  type LookHost,
  type LookNow,
  type PlannedLoad,
} from './look.js';
import { Outcome } from './outcome.js';
import { Progress } from './progress.js';
import { PollRecords } from './record.js';
import { late, patienceMs, Steps, within } from './steps.js';

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

/** How long a look at a model may be under way until that is a fault, in milliseconds. */
const hungMs = 60_000;

/** A poll that has waited so long for a look, in milliseconds, has not just met one that was late before. */
const waitedMs = 1000;

/** What one poll has found. */
interface Found extends LookNow {
  readonly progress: Progress;
  readonly wait: Wait;
  readonly outcome: Outcome;
  readonly loads: PlannedLoad[];
  readonly paused: PlannedLoad[];
  /** With the versions that were seen. */
  readonly gone: Map<ModelEntry, ReadonlySet<number>>;
  /** Loads that take long. They do not reject before loads are cancelled. */
  readonly lateLoads: Promise<unknown>[];
  /** What is called with the progress of loads. */
  readonly call: LoadCall;
  /** Ensembles that are served no more since it began. */
  readonly ended: Map<ModelEntry, string>;
}

/** A poll that has done its work, but for what takes long. */
export interface Polled {
  /** When all that it has begun has ended. */
  readonly result: Promise<RescanResult>;
  /** Reads what new versions were made from. */
  readonly note: () => Promise<void>;
}

/** See the head of this file. Nobody may begin a poll before the last one is done. */
export class Polls {
  readonly #host: PollsHost;
  readonly #log: Log;
  readonly #look: LookHost;
  /** Why repositories could not be listed at the last poll, by their places. */
  #unlisted: ReadonlyMap<string, string> = new Map();
  readonly #listings: Steps<ModelSource, readonly ListedModel[]>;
  readonly #looks: Steps<ModelEntry, Look>;
  readonly #notes: Steps<ModelSource, void>;
  /** The models that polls are about to load or to unload. */
  readonly #planned: Set<ModelEntry> = new Set();
  /** The names of models whose loads took long, and which were loaded since the last poll. */
  #loadedLate: Set<string> = new Set();
  /** What collects ensembles that are served no more, of the polls that have not ended. */
  readonly #ended: Set<Map<ModelEntry, string>> = new Set();

  constructor(host: PollsHost) {
    const { options, loads } = host;
    const { signal } = loads;
    this.#host = host;
    this.#log = options.log;
    this.#listings = new Steps(signal);
    this.#looks = new Steps(signal);
    this.#notes = new Steps(signal);
    this.#look = {
      signal,
      records: new PollRecords(options.repositoryPollMs),
      contents: new Contents(signal),
      loadsNew: options.modelControlMode !== 'explicit',
    };
    host.ensembles.onEnded = (entry, reason): void => {
      // One poll tells of it.
      const [oldest] = this.#ended;
      oldest?.set(entry, reason);
    };
  }

  /**
   * Does one poll. It resolves when the next one may begin: what takes long, goes on. What it returns besides the outcome is to
   * be called when that was told, and to be waited for before the next poll: it reads files.
   *
   * @param wait - Stands for it where models wait for each other. It ends with the poll.
   * @param isAsked - Whether the program asks for it.
   * @throws {@link TritonError} CANCELLED if loads are cancelled.
   */
  async poll(wait: Wait, isAsked: boolean): Promise<Polled> {
    const progress = new Progress(this.#log);
    const budget = this.#look.contents.budget();
    const found: Found = {
      ...{ progress, wait, budget, isAsked, outcome: new Outcome(), loads: [], paused: [], gone: new Map() },
      ...{ lateLoads: [], call: {}, ended: new Map() },
    };
    this.#ended.add(found.ended);
    const end = (): void => {
      progress.end();
      this.#ended.delete(found.ended);
      wait.end();
    };
    try {
      throwIfStopped(this.#host.loads.signal);
      const models = await this.#find(found);
      const result = this.#change(found).finally(end);
      await within(result, this.#look.signal);
      return { result, note: () => this.#noteContents(models, budget) };
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Lists the repositories, and looks at all models. Returns those that it could look at. */
  async #find(found: Found): Promise<readonly ModelEntry[]> {
    const { entries, loads } = this.#host;
    const { progress, outcome } = found;
    const unlisted = await entries.scanListable(loads.signal, async (source, list) => {
      const models = await this.#listings.run(
        source,
        () => progress.during(`the listing of '${source.place}'`, list),
        found.isAsked,
      );
      throwIfStopped(loads.signal);
      if (models === late) throw unanswered(source);
      return models;
    });
    this.#listings.keep((source) => entries.hasSource(source));
    this.#notes.keep((source) => entries.hasSource(source));
    this.#looks.keep((entry) => entries.get(entry.key) === entry);
    this.#tellUnlisted(unlisted);
    outcome.unlisted(unlisted);
    // Without its repository a model cannot be looked at either.
    const away = new Set(unlisted.map(({ source }) => source));
    const models = [...entries.values()].filter(
      (entry) => !entry.found.some(({ source }) => away.has(source)),
    );
    // A repository that hangs must not keep others from being looked at.
    await allOf(
      bySource(models).map(async ([, some]) => {
        let isLate = false;
        await eachOf(some, looksAtOnce, async (entry) => {
          // This poll has waited long enough for the repository. The next one looks at this model.
          if (isLate) outcome.changing(entry);
          else if (await this.#lookAt(entry, found)) isLate = true;
        });
      }),
    );
    return models;
  }

  /** Loads and unloads what has changed. */
  async #change(found: Found): Promise<RescanResult> {
    const { call, outcome } = found;
    const planned = [...found.loads.map(({ entry }) => entry), ...found.gone.keys()];
    for (const entry of planned) this.#planned.add(entry);
    try {
      await this.#loadAll(found);
      await this.#removeAll(found);
    } finally {
      // Those that take long are busy.
      for (const entry of planned) this.#planned.delete(entry);
      this.#tellEnded(found);
    }
    await Promise.all(found.lateLoads);
    this.#tellEnded(found);
    if (call.fault) {
      const { error } = call.fault;
      this.#log.error(`options.onProgress threw during a poll: ${thrownText(error)}`, {});
    }
    throwIfStopped(this.#host.loads.signal);
    return outcome.result();
  }

  /** Returns whether the poll has waited for it as long as it may. */
  async #lookAt(entry: ModelEntry, found: Found): Promise<boolean> {
    const { outcome, loads, paused, gone } = found;
    if (this.#planned.has(entry)) {
      outcome.changing(entry);
      return false;
    }
    const ageMs = this.#looks.ageMs(entry);
    const begun = performance.now();
    let look = await this.#looks.run(
      entry,
      () => found.progress.during(`a look at '${entry.text}'`, () => lookAt(this.#look, entry, found)),
      found.isAsked,
    );
    throwIfStopped(this.#look.signal);
    // One that was late before has not been waited for.
    const isLate = look === late && performance.now() - begun >= waitedMs;
    // To compare large files takes long, too.
    if (look === late) look = ageMs < hungMs ? changing : await lookThatHangs(this.#look, entry);
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
    return isLate;
  }

  /**
   * Loads what has changed: models before those that need them. Then what has failed, by this poll or before, if it needs
   * one of these.
   */
  async #loadAll(found: Found): Promise<void> {
    const { progress, loads: first, paused } = found;
    const { ensembles, loads, options } = this.#host;
    const width = options.modelLoadConcurrency * 2;
    const needs = ({ entry }: PlannedLoad, names: ReadonlySet<string>): boolean =>
      ensembles.neededBy(entry).some((name) => name !== entry.name && names.has(name));
    const lately = this.#loadedLate;
    this.#loadedLate = new Set();
    // What a load lacked may have been loaded since the last poll.
    let waiting = [...first, ...paused.filter((planned) => needs(planned, lately))];
    let failed = paused.filter((planned) => !needs(planned, lately));
    while (waiting.length > 0) {
      const names = new Set(waiting.map(({ entry }) => entry.name));
      const free = waiting.filter((planned) => !needs(planned, names));
      const wave = free.length > 0 ? free : waiting;
      loads.expect(wave.length);
      const loaded = new Set<string>();
      const lost: PlannedLoad[] = [];
      await eachOf(wave, width, async (planned) => {
        const { name, text } = planned.entry;
        const load = progress.during(`the load of '${text}'`, () => this.#load(planned, found));
        const done = await within(load, loads.signal);
        if (done === late) {
          const noted = load.then((end) => end === 'loaded' && this.#loadedLate.add(name));
          noted.catch(() => undefined);
          found.lateLoads.push(noted);
        }
        if (done === 'loaded') loaded.add(name);
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
  async #load(planned: PlannedLoad, { wait, outcome, call }: Found): Promise<'loaded' | 'same' | 'failed'> {
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
      const done = await loads.loadKnown(entry, call, wait, { plan, mayDefer: true });
      if (done.changed) {
        records.succeeded(record);
        if (done.loaded.length + done.ended.length === 0) return 'same';
        outcome.loaded(entry, done, wasServed);
        return 'loaded';
      }
      if (done.isDeferred === true) {
        records.succeeded(record);
        return 'same';
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
  async #removeAll({ progress, wait, outcome, gone, paused, lateLoads }: Found): Promise<void> {
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
        const remove = async (): Promise<void> => {
          const ended = await unloads.remove(entry, wait, gone.get(entry) ?? new Set());
          if (!ended) return;
          outcome.unloaded(entry, ended);
          // Its name may mean another model now, or only one.
          for (const { entry: user, record } of paused)
            if (ensembles.neededBy(user).includes(entry.name)) record.pause = 0;
        };
        const removal = progress.during(`the unload of '${entry.text}'`, remove);
        if ((await within(removal, this.#look.signal)) === late) lateLoads.push(removal);
      });
      left = left.filter((entry) => !now.includes(entry));
    }
  }

  /** Reads what new versions were made from. What it cannot read the next poll will see. */
  async #noteContents(models: readonly ModelEntry[], budget: ReadBudget): Promise<void> {
    await allOf(
      bySource(models).map(async ([source, some]) => {
        if (source) await this.#notes.run(source, () => this.#noteEach(some, budget));
      }),
    );
  }

  async #noteEach(models: readonly ModelEntry[], budget: ReadBudget): Promise<void> {
    const { contents, signal } = this.#look;
    await eachOf(models, 1, async (entry) => {
      const { stamp, found } = entry;
      const [place, second] = found;
      if (stamp === '' || !place || second || signal.aborted) return;
      await contents.note(entry, place, stamp, budget, () => stampNow(place, signal)).catch(() => undefined);
    });
  }

  #tellEnded({ ended, outcome }: Found): void {
    for (const [entry, reason] of ended) {
      if (outcome.hasLoaded(entry)) continue;
      const { name: model, text } = entry;
      const error = unavailable('NOT_READY', `model '${text}' is served no more: ${reason}`, { model });
      outcome.failed(entry, error);
      this.#log.warn(error.message, { model, error });
    }
    ended.clear();
  }

  #tellUnlisted(unlisted: readonly UnlistedSource[]): void {
    const now = new Map(unlisted.map(({ source, error }) => [source.place, kindOf(error)]));
    for (const { source, error } of unlisted) {
      if (this.#unlisted.get(source.place) === kindOf(error)) continue;
      this.#log.warn(`${error.message} (its models are served as before)`, { error });
    }
    for (const place of this.#unlisted.keys()) {
      if (!now.has(place)) this.#log.info(`model repository '${place}': it can be listed again`, {});
    }
    this.#unlisted = now;
  }
}

/** What a fault is, without what its text tells beside it: names of folders that lie near, numbers of requests. */
function kindOf({ code, cause }: TritonError): string {
  const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return `${code} ${reason}`;
}

function throwIfStopped(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new TritonError('CANCELLED', 'the model repositories were not polled to the end: the server closes');
}

/** The models of each source; those of none are together. */
function bySource(
  models: readonly ModelEntry[],
): readonly (readonly [ModelSource | undefined, readonly ModelEntry[]])[] {
  const found = new Map<ModelSource | undefined, ModelEntry[]>();
  for (const entry of models) {
    const source = entry.found[0]?.source;
    const known = found.get(source);
    if (known) known.push(entry);
    else found.set(source, [entry]);
  }
  return [...found];
}

function unanswered({ place }: ModelSource): TritonError {
  const text = `model repository '${place}' cannot be listed: it has not answered for ${patienceMs / 1000} s`;
  return unavailable('NOT_READY', text);
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
