/** The type of a flag of a command, and short functions to define flags. */

/** The kind of value that a flag takes. */
export type FlagKind =
  /** No value: the flag's presence is enough. */
  | { readonly type: 'switch' }
  | { readonly type: 'boolean' }
  | { readonly type: 'integer'; readonly least: number; readonly most: number }
  /** A decimal number; `shows` is the value's placeholder in the help. */
  | { readonly type: 'number'; readonly least: number; readonly most: number; readonly shows: string }
  | { readonly type: 'choice'; readonly of: readonly string[] }
  /** `shows` is the value's placeholder in the help. */
  | { readonly type: 'text'; readonly shows: string };

/**
 * The effect of a flag:
 *
 * - `used`: it does what its text says.
 * - `hint`: it is accepted without effect, which does no harm; the text says why.
 * - `only`: only its default is accepted, without effect; any other value is refused, and the text says why.
 * - `refused`: it is not accepted; the text says why.
 */
export type FlagEffect = 'used' | 'hint' | 'only' | 'refused';

/** A row of the table of flags. */
export interface Flag {
  readonly name: string;
  /** The letter after a single dash that means the same; undefined: none. */
  readonly letter?: string | undefined;
  readonly kind: FlagKind;
  /** Whether the flag may be given several times. If not, the last value counts. */
  readonly repeated: boolean;
  /** The default value; undefined: none. */
  readonly otherwise: string | undefined;
  readonly effect: FlagEffect;
  readonly text: string;
}

/** A group of flags, for help and documents. */
export interface FlagGroup {
  readonly title: string;
  readonly flags: readonly Flag[];
}

export const alone: FlagKind = { type: 'switch' };
export const bool: FlagKind = { type: 'boolean' };

/** A file, a folder, or any other text that `shows` describes. */
export function text(shows: string): FlagKind {
  return { type: 'text', shows };
}

export function integer(least: number, most: number = Number.MAX_SAFE_INTEGER): FlagKind {
  return { type: 'integer', least, most };
}

export function choice(...of: readonly string[]): FlagKind {
  return { type: 'choice', of };
}

/** A decimal number from `least` to `most`. */
export function number(least: number, most: number, shows: string): FlagKind {
  return { type: 'number', least, most, shows };
}

/** The flag, which may also be written with a letter after a single dash. */
export function lettered(letter: string, flag: Flag): Flag {
  return { ...flag, letter };
}

/** All flags of groups by name. */
export function byName(groups: readonly FlagGroup[]): ReadonlyMap<string, Flag> {
  return new Map(groups.flatMap(({ flags }) => flags.map((flag): [string, Flag] => [flag.name, flag])));
}

/** A port; 0 picks a free port. */
export const port: FlagKind = integer(0, 65_535);

/** Defines a flag that may be given once. */
export function use(name: string, kind: FlagKind, otherwise: string | undefined, does: string): Flag {
  return { name, kind, repeated: false, otherwise, effect: 'used', text: does };
}

/** Defines a flag that may be given several times. */
export function useAll(name: string, shows: string, does: string): Flag {
  return { name, kind: text(shows), repeated: true, otherwise: undefined, effect: 'used', text: does };
}

export function hint(name: string, kind: FlagKind, why: string): Flag {
  return { name, kind, repeated: true, otherwise: undefined, effect: 'hint', text: why };
}

export function only(name: string, kind: FlagKind, otherwise: string, why: string): Flag {
  return { name, kind, repeated: false, otherwise, effect: 'only', text: why };
}

export function refuse(name: string, shows: string, why: string): Flag {
  return { name, kind: text(shows), repeated: true, otherwise: undefined, effect: 'refused', text: why };
}
