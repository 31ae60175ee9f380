/** A model of a registry: where it was found, what is published of it, and the order of its loads and unloads. */

import { insist } from '../../addon/memory.js';
import type { NativeServer } from '../../addon/native/server.js';
import { TritonError, unavailable } from '../../errors.js';
import { keyText, type ModelKey } from '../../model-key.js';
import type { GivenModel } from '../../options.js';
import { Wait, type WaitKind } from '../../waits.js';
import { placeOf, type FoundModel, type ModelSource } from '../sources/model-source.js';
import { retire } from '../loading/load-version.js';
import { alone, type AgentChain, type During } from '../agents/agent-chain.js';
import type { PublishedModel, PublishedVersion, SleepingVersion } from './published.js';
import type { ModelState } from '../../api/metadata.js';

/** Stands for a load that has ended. */
const idle: Promise<void> = Promise.resolve();

/** What is published of a model that was never loaded. */
const unknown: PublishedModel = { state: '', reason: '', versions: [] };
const unknownText = JSON.stringify(unknown);

/** See the head of this file. */
export class ModelEntry {
  readonly key: ModelKey;
  /** What each source lists that has this model. */
  found: readonly FoundModel[];
  /** The same at the last listing that had it, if the newest one has not. */
  left: readonly FoundModel[] = [];
  /** Whether a repository has, or had, this model. */
  wasListed: boolean;
  /** Where the served versions came from; undefined: from the program. */
  servedFrom: ModelSource | undefined;
  /** Whether the program has taken away the repository that the served versions came from. */
  isTakenAway = false;
  /** The model, if the program gave it instead. */
  given: GivenModel | undefined;
  /** The stamp of the files that the served versions came from. */
  stamp = '';
  /** Whether the served versions came from a repository, with its configuration. */
  isOfRepository = false;
  /** Why a poll could not load it again, as published with the versions that are served; '': it could. */
  pollFailure = '';
  /** Whether its files change, so that it is not loaded for others. */
  isChanging = false;
  /** Whether versions that came from a repository were taken out of service, and nobody unloaded it: polls load it again. */
  isToReturn = false;
  /** The repository agents of the load that is served. */
  agents: AgentChain | undefined;
  /** Whether a request loads it if it is not served. Published with the next publication. */
  isLazy = false;
  /** What was served of a lazy model when it was unloaded last. */
  #sleeping: readonly SleepingVersion[] = [];
  /** Whether the program gave it at the start. */
  readonly isGiven: boolean;
  readonly #server: NativeServer;
  /** How often something was published of it. The engine keeps the text. */
  #publications = 0;
  #hasVersions = false;
  /** Whether it was loaded only because another model needs it. */
  isPart = false;
  /** The end of its last load or unload: they run one after another. */
  #queue: Promise<unknown> = idle;
  #last: Wait | undefined;
  /** What its versions run, and the ends of these. */
  readonly running: Wait;
  /** What ends that its requests wait for those of these models. */
  readonly #parts: Map<ModelEntry, () => void> = new Map();

  constructor(server: NativeServer, key: ModelKey, found: readonly FoundModel[], given?: GivenModel) {
    this.#server = server;
    this.key = key;
    this.found = found;
    this.wasListed = found.length > 0;
    this.given = given;
    this.isGiven = given !== undefined;
    this.running = new Wait('run', `requests of '${keyText(key)}'`);
    server.publish(key, unknownText);
  }

  /** Sources have listed it. */
  list(found: readonly FoundModel[]): void {
    this.found = found;
    this.wasListed = true;
  }

  /** Its versions came from this source. */
  serveFrom(source: ModelSource | undefined): void {
    this.servedFrom = source;
    this.isTakenAway = false;
  }

  get name(): string {
    return this.key.name;
  }

  /** The model as messages name it. */
  get text(): string {
    return keyText(this.key);
  }

  /** How often something was published of it. */
  get publications(): number {
    return this.#publications;
  }

  /** Whether the last publication has versions. */
  get hasVersions(): boolean {
    return this.#hasVersions;
  }

  /** Its last load or unload. */
  get last(): Wait | undefined {
    return this.#last;
  }

  /** Whether a load or unload of it is under way, or waits for its turn. */
  get isBusy(): boolean {
    return this.#last !== undefined && !this.#last.ended;
  }

  /** Resolves when its loads and unloads have ended. It does not reject. */
  get settled(): Promise<unknown> {
    return this.#queue;
  }

  /** The circle, in words, if `asker` waited for a load or unload that would come next; undefined if there is none. */
  circle(kind: WaitKind, asker: Wait | undefined): string | undefined {
    return asker && this.#turn(kind).circleWith(asker);
  }

  /**
   * Refuses a load or unload that would wait for itself.
   *
   * @throws {@link TritonError} UNAVAILABLE if there is a {@link circle}.
   */
  refuseCircle(kind: 'load' | 'unload', asker: Wait | undefined): void {
    const circle = this.circle(kind, asker);
    if (circle !== undefined) throw circularWait(kind, this, circle);
  }

  /**
   * Runs a load or unload after those before it.
   *
   * @param asker - Who waits for it, with no {@link circle}.
   */
  inTurn<T>(kind: WaitKind, asker: Wait | undefined, task: (turn: Wait) => Promise<T>): Promise<T> {
    const turn = this.#turn(kind);
    this.#last = turn;
    const answered = asker?.begin(turn);
    const run = this.#queue
      .then(() => task(turn))
      .finally(() => {
        turn.end();
        answered?.();
      });
    this.#queue = run.catch(() => undefined);
    return run;
  }

  #turn(kind: WaitKind): Wait {
    const turn = new Wait(kind, `${kind} of '${this.text}'`);
    if (this.#last) turn.begin(this.#last);
    // A load does not wait for the requests of the versions that it replaces.
    if (kind === 'unload') turn.begin(this.running);
    return turn;
  }

  /** Its requests wait for those of these models: its steps, or those that it requires. */
  runsOn(entries: readonly ModelEntry[]): void {
    for (const [entry, end] of this.#parts) {
      if (entries.includes(entry)) continue;
      end();
      this.#parts.delete(entry);
    }
    for (const entry of entries) {
      if (!this.#parts.has(entry)) this.#parts.set(entry, this.running.begin(entry.running));
    }
  }

  /**
   * Where it is. There must be exactly one place.
   *
   * @throws {@link TritonError} NOT_FOUND without one, INVALID_ARG with several.
   */
  place(): FoundModel {
    const [first, second] = this.found;
    if (!first) {
      throw new TritonError('NOT_FOUND', `model '${this.text}' is no longer in the repository`, {
        model: this.name,
      });
    }
    if (second) {
      throw new TritonError(
        'INVALID_ARG',
        `model '${this.text}' appears in two or more repositories: ${this.found.map(({ model }) => placeOf(model)).join(', ')}`,
        { model: this.name },
      );
    }
    return first;
  }

  /** Publishes the model's state for every environment. */
  publish(published: PublishedModel): void {
    const { state, reason, versions } = published;
    const lazy = versions.some(({ descriptor }) => descriptor) ? [] : this.#sleeping;
    const text = JSON.stringify({ state, reason, versions, ...(this.isLazy && { lazy }) });
    this.#server.publish(this.key, text);
    this.#publications++;
    this.#hasVersions = published.versions.length > 0;
  }

  /** Publishes reasons of versions that stay in service, by uid, after the loads and unloads before it. */
  async tell(reasons: ReadonlyMap<number, string>): Promise<void> {
    await this.inTurn('change', undefined, async () => {
      const { versions, ...model } = this.published();
      await insist(() => {
        this.publish({
          ...model,
          versions: versions.map((one) => {
            const reason = one.descriptor && reasons.get(one.descriptor.uid);
            return reason === undefined ? one : { ...one, reason };
          }),
        });
      });
    });
  }

  /** Publishes why a poll could not load the model, also with the versions that are served. */
  tellFailure(reason: string): void {
    const { versions, ...model } = this.published();
    if (!versions.some(({ state }) => state === 'READY')) {
      if (versions.length === 0) this.publish({ state: 'UNAVAILABLE', reason, versions });
      return;
    }
    this.publish({
      ...model,
      versions: versions.map((one) =>
        one.state === 'READY' && (one.reason === '' || one.reason === this.pollFailure)
          ? { ...one, reason }
          : one,
      ),
    });
    this.pollFailure = reason;
  }

  /** The files are those of the served versions again: what failed meanwhile is not listed any more. */
  forgetFailures(): void {
    const { versions } = this.published();
    const left = versions
      .filter(({ state }) => state === 'READY')
      .map((one) => (one.reason !== '' && one.reason === this.pollFailure ? { ...one, reason: '' } : one));
    if (left.length < versions.length || this.pollFailure !== '') {
      this.publish({ state: '', reason: '', versions: left });
    }
    this.pollFailure = '';
  }

  /** What was published last. */
  published(): PublishedModel {
    if (this.#publications === 0) return unknown;
    // `publish` wrote it.
    return JSON.parse(this.#server.read(this.key, -1)?.json ?? unknownText) as PublishedModel;
  }

  /** The notes of the versions that are served. */
  notes(): string[] {
    return [...new Set(this.published().versions.flatMap(({ descriptor }) => descriptor?.notes ?? []))];
  }

  /**
   * Tells its repository agents that its versions have been taken out of service, unless some serve.
   *
   * @param ended - Resolves when their requests have ended.
   */
  endAgents(ended: Promise<unknown>): void {
    const { agents } = this;
    if (!agents || openUids(this.published()).length > 0) return;
    this.agents = undefined;
    const told = agents.unload(alone);
    // Errors are theirs: the chain logs them.
    void Promise.allSettled([told, ended]).then(() => agents.unloadComplete(alone));
  }

  /**
   * Ends all its versions. Resolves when their requests have ended and their memory is free.
   *
   * @param during - Runs functions of its repository agents.
   * @param left - Called when they accept no more requests.
   * @returns The versions that were abandoned, because a run or a destructor of them did not return.
   */
  async unload(during: During, left: () => void = () => undefined): Promise<readonly number[]> {
    const { state: before, versions } = this.published();
    const served = versions.flatMap(({ version, descriptor }) =>
      descriptor ? [{ version, descriptor }] : [],
    );
    if (served.length > 0) {
      this.#sleeping = this.isLazy ? served : [];
    }
    const without = (state: ModelState, reason: string): PublishedModel => ({
      state: versions.length === 0 && before !== '' ? 'UNAVAILABLE' : '',
      reason: versions.length === 0 && before !== '' ? 'unloaded' : '',
      versions: versions.map(({ version }) => ({ version, state, reason })),
    });
    await insist(() => {
      this.publish(without('UNLOADING', ''));
    });
    left();
    const { agents } = this;
    const told = agents?.unload(during);
    const ends = await Promise.allSettled(
      served.map(({ descriptor }) => retire(this.#server, descriptor.uid)),
    );
    await told;
    await agents?.unloadComplete(during);
    this.agents = undefined;
    this.serveFrom(undefined);
    this.stamp = '';
    this.isToReturn = false;
    this.pollFailure = '';
    await insist(() => {
      this.publish(without('UNAVAILABLE', 'unloaded'));
    });
    return ends.flatMap((end, i) => {
      if (end.status === 'rejected') throw end.reason;
      const version = served[i]?.version;
      return end.value && version !== undefined ? [version] : [];
    });
  }
}

/** The error of what would wait for itself. */
export function circularWait(what: 'load' | 'unload', entry: ModelEntry, circle: string): TritonError {
  const text = `model '${entry.text}': this ${what} would wait for itself: ${circle}`;
  return unavailable('CIRCULAR_CALL', text, { model: entry.name });
}

/** Numbers of the versions that are served. */
export function servedVersions({ versions }: PublishedModel): number[] {
  return versions.filter(({ state }) => state === 'READY').map(({ version }) => version);
}

/** Uids of the versions that are open in the engine. */
export function openUids({ versions }: PublishedModel): number[] {
  return versions.flatMap(({ descriptor }) => (descriptor ? [descriptor.uid] : []));
}

/** Whether a model is served. */
export function isServed(entry: ModelEntry): boolean {
  return servedVersions(entry.published()).length > 0;
}

/** `versions`, with those of the same number replaced and the rest added, ascending. */
export function mergedVersions(
  versions: readonly PublishedVersion[],
  changed: readonly PublishedVersion[],
): PublishedVersion[] {
  const numbers = new Set(changed.map(({ version }) => version));
  const kept = versions.filter(({ version }) => !numbers.has(version));
  return [...kept, ...changed].sort((a, b) => a.version - b.version);
}
