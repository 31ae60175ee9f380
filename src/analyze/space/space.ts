/** The settings that are searched. Each is an axis with a few values; a candidate has one value of each. All functions are pure. */

/** A setting of a model, by the name that `--search` gives it. */
export type SettingName = 'instances' | 'threads' | 'max_batch_size' | 'delay' | 'preferred' | 'inline';

/**
 * A value of a setting: a number, or a word. The words are `default` (threads: as many as the backend chooses), `none` (no
 * preferred sizes), `unbatched` (without dynamic_batching), `off` and `auto` (inline runs), and lists such as `4,8`.
 */
export type SettingValue = number | string;

/** A setting of a model, with its values. */
export interface Axis {
  readonly model: string;
  readonly setting: SettingName;
  /** In the order of their size, so that neighbours are alike. */
  readonly values: readonly SettingValue[];
  /** The place of the present configuration's value. */
  readonly present: number;
  /** The max_batch_size of the value `unbatched`. */
  readonly unbatchedRows?: number;
}

/** The place of a value of each axis, in the order of the axes. */
export type Candidate = readonly number[];

/** The candidates. */
export interface Space {
  readonly axes: readonly Axis[];
  /** Cores that instances and their threads share. */
  readonly cores: number;
}

/** The settings that the coarse grid varies; the others matter less, and are searched around its best points. */
const coarse: ReadonlySet<SettingName> = new Set(['instances', 'threads', 'max_batch_size']);

/** The candidate that is the present configuration. */
export function presentOf({ axes }: Space): Candidate {
  return axes.map(({ present }) => present);
}

/** A text that is equal for equal candidates. */
export function keyOf(candidate: Candidate): string {
  return candidate.join();
}

/** The values of a candidate that differ from the present ones. */
export function changedIn(
  { axes }: Space,
  candidate: Candidate,
): readonly { readonly axis: Axis; readonly value: SettingValue }[] {
  return axes.flatMap((axis, i) => {
    const value = axis.values[candidate[i] ?? axis.present];
    return candidate[i] === axis.present || value === undefined ? [] : [{ axis, value }];
  });
}

/** The value of a model's setting in a candidate; undefined: it is not searched. */
export function valueOf(
  { axes }: Space,
  candidate: Candidate,
  model: string,
  setting: SettingName,
): SettingValue | undefined {
  const i = axes.findIndex((axis) => axis.model === model && axis.setting === setting);
  return axes[i]?.values[candidate[i] ?? 0];
}

/**
 * Whether a candidate makes sense: instances times threads are at most the cores, and a delay or preferred sizes have batches
 * to form. The present configuration always does.
 */
export function isSensible(space: Space, candidate: Candidate): boolean {
  if (keyOf(candidate) === keyOf(presentOf(space))) return true;
  const models = new Set(space.axes.map(({ model }) => model));
  return [...models].every((model) => {
    const of = (setting: SettingName): SettingValue | undefined => valueOf(space, candidate, model, setting);
    const isPresent = (setting: SettingName): boolean => {
      const i = space.axes.findIndex((axis) => axis.model === model && axis.setting === setting);
      return i < 0 || candidate[i] === space.axes[i]?.present;
    };
    const [instances, threads, rows] = [of('instances'), of('threads'), of('max_batch_size')];
    if (
      typeof instances === 'number' &&
      typeof threads === 'number' &&
      threads > 1 &&
      instances * threads > space.cores
    )
      return false;
    const batches = rows === undefined || (typeof rows === 'number' && rows > 1);
    if (!batches) return isPresent('delay') && isPresent('preferred');
    const preferred = of('preferred');
    return !(typeof preferred === 'number' && typeof rows === 'number' && preferred >= rows);
  });
}

/** So many candidates can be listed to count them. */
const mostCounted = 10_000;

/**
 * How many candidates the whole coarse grid has. Of a large one those that make no sense count, too: the models of an ensemble
 * together have more combinations than memory can hold.
 */
export function coarseGridSize(space: Space): number {
  const all = space.axes.reduce(
    (product, { setting, values }) => product * (coarse.has(setting) ? values.length : 1),
    1,
  );
  return all > mostCounted ? all : coarseGrid(space, Infinity).length;
}

/** The coarse grid: all combinations of the settings that matter most, the others as they are. The present one comes first. */
export function coarseGrid(space: Space, most: number): readonly Candidate[] {
  const present = presentOf(space);
  let places = space.axes.map(({ setting, values, present: at }) =>
    coarse.has(setting) ? values.map((_, i) => i) : [at],
  );
  // Fewer values of the longest axis, until the grid is small enough.
  const count = (): number => places.reduce((product, list) => product * list.length, 1);
  while (count() > Math.max(1, most)) {
    const longest = places.reduce(
      (best, list, i) => (list.length > (places[best]?.length ?? 0) ? i : best),
      0,
    );
    const list = places[longest] ?? [];
    if (list.length <= 1) break;
    const at = space.axes[longest]?.present;
    const thinned = list.filter(
      (place, i) => place === at || (list.length > 2 && (list.length - 1 - i) % 2 === 0),
    );
    places = places.map((one, i) => (i === longest ? thinned.slice(0, Math.max(1, list.length - 1)) : one));
  }
  const all = places.reduce<Candidate[]>(
    (heads, list) => heads.flatMap((head) => list.map((place) => [...head, place])),
    [[]],
  );
  const others = all.filter((one) => keyOf(one) !== keyOf(present) && isSensible(space, one));
  return [present, ...others];
}

/** The candidates that differ from one by a step of one axis. */
export function neighboursOf(space: Space, candidate: Candidate): readonly Candidate[] {
  return space.axes.flatMap(({ values }, i) =>
    [-1, 1].flatMap((step) => {
      const place = (candidate[i] ?? 0) + step;
      if (place < 0 || place >= values.length) return [];
      const one = candidate.map((at, j) => (j === i ? place : at));
      return isSensible(space, one) ? [one] : [];
    }),
  );
}

/** Every candidate. */
export function allOf(space: Space): readonly Candidate[] {
  return space.axes
    .reduce<Candidate[]>(
      (heads, { values }) => heads.flatMap((head) => values.map((_, place) => [...head, place])),
      [[]],
    )
    .filter((one) => isSensible(space, one));
}

/** The candidates with one change of a candidate taken back. */
export function takenBack(space: Space, candidate: Candidate): readonly Candidate[] {
  return space.axes.flatMap(({ present }, i) => {
    if (candidate[i] === present) return [];
    const one = candidate.map((at, j) => (j === i ? present : at));
    return isSensible(space, one) ? [one] : [];
  });
}

/** The changes of a candidate as text, such as `instances 2, max_batch_size 16`. */
export function candidateText(space: Space, candidate: Candidate): string {
  const changed = changedIn(space, candidate);
  if (changed.length === 0) return 'the present configuration';
  const several = new Set(space.axes.map(({ model }) => model)).size > 1;
  return changed
    .map(({ axis: { model, setting }, value }) => `${several ? `${model}: ` : ''}${setting} ${value}`)
    .join(', ');
}
