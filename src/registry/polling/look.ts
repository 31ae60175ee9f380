/** Looks at one model for a poll: whether it has changed, which versions have, and whether its files are still. */

import { insist } from '../../addon/memory.js';
import { TritonError, unavailable } from '../../errors.js';
import { isServed, openUids, type ModelEntry } from '../entries/model-entry.js';
import { asTritonError, stampNow } from '../loading/load-model.js';
import type { LoadPlan } from '../loading/load-plan.js';
import { versionName } from '../sources/layout.js';
import type { FoundModel, StampedEntry } from '../sources/model-source.js';
import { unchangedVersions } from './changes.js';
import type { Contents, ReadBudget } from './contents.js';
import type { PollRecord, PollRecords } from './record.js';

/** A load that a poll asks for. */
export interface PlannedLoad {
  readonly entry: ModelEntry;
  readonly record: PollRecord;
  readonly plan: LoadPlan;
  /** Whether the model is served now. */
  readonly wasServed: boolean;
}

/** What a look has found. `paused`: its load failed, and is to be tried again by a later poll. */
export type Look =
  | { readonly state: 'same' | 'changing' | 'not-polled' }
  | { readonly state: 'gone'; readonly uids: ReadonlySet<number> }
  | { readonly state: 'load' | 'paused'; readonly load: PlannedLoad }
  | { readonly state: 'fault'; readonly error: TritonError; readonly isNew: boolean };

const same: Look = { state: 'same' };
export const changing: Look = { state: 'changing' };
const notPolled: Look = { state: 'not-polled' };

/** What a look needs. */
export interface LookHost {
  readonly records: PollRecords;
  readonly contents: Contents;
  readonly signal: AbortSignal;
  /** Whether models that are not served are loaded: not in explicit mode. */
  readonly loadsNew: boolean;
}

/** What holds for one poll. */
export interface LookNow {
  /** What may be read to compare files. */
  readonly budget: ReadBudget;
  /** Whether the program asks for it: no load that has failed pauses then. */
  readonly isAsked: boolean;
}

/**
 * Looks at a model. Files count as still if two looks in a row saw the same stamp.
 * @throws {@link TritonError} CANCELLED.
 */
export async function lookAt(host: LookHost, entry: ModelEntry, now: LookNow): Promise<Look> {
  const { records, signal, loadsNew } = host;
  const record = records.of(entry);
  if (entry.isGiven) return notPolled;
  // The program loads or unloads it when it wants to, whatever other repository has its name.
  if (entry.isTakenAway) return notPolled;
  if (entry.found.length === 0) return await lookForGone(host, entry, record);
  record.isGone = false;
  if (entry.isBusy) return changing;
  const known = entry.stamp;
  // A stamp is there only if the model is served from its files.
  const wasServed = known !== '' || (entry.hasVersions && isServed(entry));
  // Its next request loads what is there then.
  if (entry.isLazy && !wasServed && !entry.isToReturn) return notPolled;
  const isLoaded = loadsNew ? !wasServed || entry.isOfRepository : entry.isToReturn;
  if (known === '' && !isLoaded) return notPolled;
  let place: FoundModel;
  let stamp: string;
  try {
    place = entry.place();
    stamp = await stampNow(place, signal);
  } catch (error) {
    return await faultOf(host, entry, record, asTritonError(error, entry.name));
  }
  if (stamp === known) {
    record.fault = '';
    return await unchanged(host, entry, record);
  }
  const surveyed = known === '' ? undefined : await surveysOf(place, known, stamp);
  const lost = surveyed && lostVersion(entry, surveyed);
  if (lost !== undefined) return await faultOf(host, entry, record, lost);
  record.fault = '';
  if (record.survey !== stamp) {
    record.survey = stamp;
    entry.isChanging = !wasServed;
    return changing;
  }
  entry.isChanging = false;
  const whole: PlannedLoad = { entry, record, wasServed, plan: { known, stamp, keep: new Set() } };
  if (record.failedStamp === stamp && record.pause > 0 && !now.isAsked) {
    record.pause--;
    return { state: 'paused', load: whole };
  }
  const keep =
    surveyed === undefined
      ? whole.plan.keep
      : await versionsToKeep(host, entry, place, whole.plan, surveyed, now.budget);
  if (keep === 'changing') return changing;
  if (keep === 'all') return await unchanged(host, entry, record);
  return { state: 'load', load: { ...whole, plan: { known, stamp, keep } } };
}

/**
 * It is in no listing. What is served has to be gone at two looks in a row: for a moment it is not there while it is replaced.
 * In explicit mode only what is served is of interest.
 */
async function lookForGone(host: LookHost, entry: ModelEntry, record: PollRecord): Promise<Look> {
  const { loadsNew, signal } = host;
  if (entry.isBusy) return notPolled;
  const served = entry.hasVersions && isServed(entry);
  if (served ? !entry.isOfRepository : !loadsNew) return notPolled;
  record.survey = '';
  entry.isChanging = false;
  if (served) {
    const wasGone = record.isGone;
    record.isGone = false;
    try {
      for (const { source, model } of entry.left) {
        // It is back since the listing: the next one finds it.
        if ((await source.isGone?.(model, signal)) === false) return changing;
      }
      record.fault = '';
    } catch (error) {
      return await faultOf(host, entry, record, asTritonError(error, entry.name));
    }
    record.isGone = true;
    if (!wasGone) return changing;
  }
  return { state: 'gone', uids: new Set(openUids(entry.published())) };
}

/** What is found of a model whose look does not end. */
export async function lookThatHangs(host: LookHost, entry: ModelEntry): Promise<Look> {
  const text = `model '${entry.text}': its files cannot be looked at: there is no answer`;
  return await faultOf(
    host,
    entry,
    host.records.of(entry),
    unavailable('NOT_READY', text, { model: entry.name }),
  );
}

async function unchanged({ records }: LookHost, entry: ModelEntry, record: PollRecord): Promise<Look> {
  records.succeeded(record);
  entry.isChanging = false;
  if (entry.pollFailure !== '') {
    await insist(() => {
      entry.forgetFailures();
    });
  }
  return same;
}

async function faultOf(
  { signal }: LookHost,
  entry: ModelEntry,
  record: PollRecord,
  error: TritonError,
): Promise<Look> {
  if (signal.aborted) throw error;
  const isSeen = record.fault === error.message;
  record.fault = error.message;
  // A folder that is being removed, or written, may not be readable for a moment.
  if (!isSeen) {
    record.isTold = false;
    return changing;
  }
  const isNew = !record.isTold;
  record.isTold = true;
  if (isNew && !entry.isBusy) {
    await insist(() => {
      entry.tellFailure(error.message);
    });
  }
  return { state: 'fault', error, isNew };
}

/**
 * Numbers of the versions that need not be loaded again. 'all': every file has the content that it had.
 *
 * @throws {@link TritonError} CANCELLED.
 */
async function versionsToKeep(
  { contents, signal }: LookHost,
  entry: ModelEntry,
  place: FoundModel,
  { known, stamp }: LoadPlan,
  { old, entries, isSamePlace }: Surveys,
  budget: ReadBudget,
): Promise<ReadonlySet<number> | 'all' | 'changing'> {
  // Versions may open files later, and would look for them where the model was.
  if (!old || !entries || !isSamePlace) return new Set();
  const asked: (boolean | undefined)[] = [];
  const found = await unchangedVersions(old, entries, async (a, b) => {
    const equal = await contents.isEqual(entry, place, a, b, budget);
    asked.push(equal);
    return equal ?? true;
  });
  if (asked.includes(undefined)) return 'changing';
  // What was read may have been written meanwhile.
  if (asked.length > 0 && (await stampNow(place, signal).catch(() => '')) !== stamp) return 'changing';
  if (!found) return new Set();
  if (!found.all) return new Set([...found.kept].map(Number));
  // A load may have come between.
  if (entry.stamp !== known) return 'changing';
  contents.accept(entry, entries);
  entry.stamp = stamp;
  return 'all';
}

/** The error for a served version that is a link now whose target is away: it may come back, as a file system does. */
function lostVersion(entry: ModelEntry, { old = [], entries = [] }: Surveys): TritonError | undefined {
  const away = entries.filter(({ path, isLost }) => isLost === true && versionName.test(path));
  const lost = away.find(({ path }) => old.some((one) => one.path === path && one.size === undefined));
  if (!lost) return undefined;
  const text = `model '${entry.text}': version ${lost.path} is a link whose target cannot be reached`;
  return new TritonError('NOT_FOUND', text, { model: entry.name });
}

/** What the stamps of served files and of those that are there now tell. Without entries only that they differ. */
interface Surveys {
  readonly old: readonly StampedEntry[] | undefined;
  readonly entries: readonly StampedEntry[] | undefined;
  readonly isSamePlace: boolean;
}

async function surveysOf({ source, model }: FoundModel, known: string, stamp: string): Promise<Surveys> {
  const [placeBefore, before] = splitStamp(known);
  const [placeNow, now] = splitStamp(stamp);
  return {
    old: await source.entriesOf?.(model, before),
    entries: await source.entriesOf?.(model, now),
    isSamePlace: placeBefore === placeNow,
  };
}

/** The place and the source's own stamp. */
function splitStamp(stamp: string): readonly [string, string] {
  const end = stamp.indexOf('\0');
  return [stamp.slice(0, end), stamp.slice(end + 1)];
}
