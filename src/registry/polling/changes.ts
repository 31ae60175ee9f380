/** What of a model has changed between two surveys of its files: versions, or what they share. */

import { givingWay } from '../give-way.js';
import { versionName } from '../sources/layout.js';
import type { StampedEntry } from '../sources/model-source.js';

/** A version's folder with all in it, or everything beside the version folders. */
interface Part {
  readonly entries: ReadonlyMap<string, StampedEntry>;
  /** Paths of its folders that are not empty. */
  readonly filled: ReadonlySet<string>;
  /** Folders elsewhere to which its links lead. */
  readonly targets: ReadonlySet<string>;
}

/** The same while it is put together. */
interface GrowingPart {
  readonly entries: Map<string, StampedEntry>;
  readonly filled: Set<string>;
  readonly targets: Set<string>;
}

/** The parts of a model by the version's number as text. What is shared has the empty text. */
type Parts = ReadonlyMap<string, Part>;

/** The name of the part that all versions share. */
const shared = '';

async function partsOf(entries: readonly StampedEntry[]): Promise<Parts> {
  const parts = new Map<string, GrowingPart>();
  const partOf = (name: string): GrowingPart => {
    let part = parts.get(name);
    if (!part) parts.set(name, (part = { entries: new Map(), filled: new Set(), targets: new Set() }));
    return part;
  };
  partOf(shared);
  const folders = new Set(
    entries.flatMap(({ path, size }) => (size === undefined && versionName.test(path) ? [path] : [])),
  );
  const step = givingWay();
  for (const entry of entries) {
    const turn = step();
    if (turn) await turn;
    const { path, target } = entry;
    const slash = path.indexOf('/');
    const first = slash < 0 ? path : path.slice(0, slash);
    const part = partOf(folders.has(first) ? first : shared);
    // Names that are no text may look alike.
    part.entries.set(part.entries.has(path) ? `${path}\0${part.entries.size}` : path, entry);
    part.filled.add(path.slice(0, Math.max(0, path.lastIndexOf('/'))));
    if (target !== undefined) part.targets.add(target);
  }
  return parts;
}

/** Whether two entries of one path are the same by what their stamps say. */
function isAlike(a: StampedEntry, b: StampedEntry): boolean {
  return a.stamp === b.stamp && a.target === b.target;
}

/** Whether two folders hold the same names with the same content. */
async function isSame(
  before: Part | undefined,
  now: Part | undefined,
  equal: (before: StampedEntry, now: StampedEntry) => Promise<boolean>,
): Promise<boolean> {
  if (!before || !now || before.entries.size !== now.entries.size) return false;
  const moved: [StampedEntry, StampedEntry][] = [];
  const step = givingWay();
  for (const [path, entry] of now.entries) {
    const turn = step();
    if (turn) await turn;
    const old = before.entries.get(path);
    if (old === undefined || old.size !== entry.size) return false;
    if (isAlike(old, entry)) continue;
    // A folder and what leads nowhere are told apart by their stamps.
    if (entry.size === undefined && old.stamp !== entry.stamp) return false;
    // A link may lead to another folder with the same content, if it shows what that holds.
    if (old.target !== entry.target && !now.filled.has(path)) return false;
    if (entry.size !== undefined) moved.push([old, entry]);
  }
  for (const [old, entry] of moved) if (!(await equal(old, entry))) return false;
  return true;
}

/**
 * The numbers of the versions that are as they were, as text; undefined if what all versions share has changed.
 *
 * @param equal - Whether two files of the same path and size, with different stamps, have the same content.
 */
export async function unchangedVersions(
  before: readonly StampedEntry[],
  now: readonly StampedEntry[],
  equal: (before: StampedEntry, now: StampedEntry) => Promise<boolean>,
): Promise<{ readonly kept: ReadonlySet<string>; readonly all: boolean } | undefined> {
  const old = await partsOf(before);
  const parts = await partsOf(now);
  const changed = new Set<string>();
  for (const name of new Set([...old.keys(), ...parts.keys()])) {
    if (!(await isSame(old.get(name), parts.get(name), equal))) changed.add(name);
    // All versions are loaded again, whatever else there is.
    if (changed.has(shared)) return undefined;
  }
  // Of several links to one folder only the first shows what it holds.
  const targets = new Set(
    [...changed].flatMap((name) => [old, parts].flatMap((all) => [...(all.get(name)?.targets ?? [])])),
  );
  const isTouched = ({ targets: own }: Part): boolean => [...own].some((target) => targets.has(target));
  for (const [name, part] of parts) if (isTouched(part)) changed.add(name);
  if (changed.has(shared)) return undefined;
  return {
    kept: new Set([...parts.keys()].filter((name) => name !== shared && !changed.has(name))),
    all: changed.size === 0,
  };
}
