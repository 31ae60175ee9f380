/** What a flag of `tritonts serve` is, and short ways to write one down. */

/** What may stand behind a flag. */
export type FlagKind =
  /** Nothing: the flag alone says it. */
  | { readonly type: 'switch' }
  | { readonly type: 'boolean' }
  | { readonly type: 'integer'; readonly least: number; readonly most: number }
  | { readonly type: 'choice'; readonly of: readonly string[] }
  /** `shows` stands for the value in the help. */
  | { readonly type: 'text'; readonly shows: string };

/**
 * What a flag does here:
 *
 * - `used`: what its text says.
 * - `hint`: it is read and has no effect, which does no harm; the text says why.
 * - `only`: as a hint with its default; any other value is refused, and the text says why.
 * - `refused`: the text says why.
 */
export type FlagEffect = 'used' | 'hint' | 'only' | 'refused';

/** A row of the table of flags. */
export interface Flag {
  readonly name: string;
  readonly kind: FlagKind;
  /** Whether it may be given several times; of others the last counts. */
  readonly repeated: boolean;
  /** What is read where it is not given; undefined: nothing. */
  readonly otherwise: string | undefined;
  readonly effect: FlagEffect;
  readonly text: string;
}

/** Flags that belong together, for help and documents. */
export interface FlagGroup {
  readonly title: string;
  readonly flags: readonly Flag[];
}

export const alone: FlagKind = { type: 'switch' };
export const bool: FlagKind = { type: 'boolean' };

/** A file, a folder, or whatever else `shows` stands for. */
export function text(shows: string): FlagKind {
  return { type: 'text', shows };
}

export function integer(least: number, most: number = Number.MAX_SAFE_INTEGER): FlagKind {
  return { type: 'integer', least, most };
}

export function choice(...of: readonly string[]): FlagKind {
  return { type: 'choice', of };
}

/** A port; 0 is wherever there is room. */
export const port: FlagKind = integer(0, 65_535);

/** A flag that may be given once. */
export function use(name: string, kind: FlagKind, otherwise: string | undefined, does: string): Flag {
  return { name, kind, repeated: false, otherwise, effect: 'used', text: does };
}

/** A flag that may be given several times. */
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
