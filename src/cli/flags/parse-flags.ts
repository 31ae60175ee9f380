/** Parses a command line according to the table of flags. */

import { invalidArgument } from '../../errors.js';
import { didYouMean } from '../../suggest.js';
import type { Flag } from './flag.js';

/** The parsed command line. */
export class FlagValues {
  readonly #flags: ReadonlyMap<string, Flag>;
  readonly #given: ReadonlyMap<string, readonly string[]>;
  /** The given flags that have no effect here. */
  readonly hints: readonly Flag[];

  constructor(
    flags: ReadonlyMap<string, Flag>,
    given: ReadonlyMap<string, readonly string[]>,
    hints: readonly Flag[],
  ) {
    this.#flags = flags;
    this.#given = given;
    this.hints = hints;
  }

  /** All values of a flag that may be given several times. */
  list(name: string): readonly string[] {
    if (!this.#flags.has(name)) throw new RangeError(`there is no flag --${name}`);
    return this.#given.get(name) ?? [];
  }

  /** Whether the flag is on the command line. */
  has(name: string): boolean {
    return this.list(name).length > 0;
  }

  /** The flag's last value, or its default. */
  text(name: string): string | undefined {
    return this.list(name).at(-1) ?? this.#flags.get(name)?.otherwise;
  }

  boolean(name: string): boolean {
    return readBoolean(this.text(name) ?? 'false') === true;
  }

  /** NaN if the flag is not given and has no default. */
  integer(name: string): number {
    return Number(this.text(name) ?? NaN);
  }

  /** Undefined if the flag is not given. */
  givenInteger(name: string): number | undefined {
    return this.has(name) ? this.integer(name) : undefined;
  }
}

/** Parses a boolean as Triton does: true, false, 1 or 0, in any case. */
function readBoolean(value: string): boolean | undefined {
  const lower = value.toLowerCase();
  if (lower === 'true' || lower === '1') return true;
  return lower === 'false' || lower === '0' ? false : undefined;
}

/** What is wrong with a flag's value; undefined if it is valid. */
function fault({ name, kind, effect, otherwise, text }: Flag, value: string): string | undefined {
  const expected = (what: string): string => `expected ${what} for --${name} but received '${value}'`;
  if (kind.type === 'boolean' && readBoolean(value) === undefined) return expected('true or false');
  if (kind.type === 'integer') {
    const number = /^[+-]?\d+$/.test(value) ? Number(value) : NaN;
    const { least, most } = kind;
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    if (!(number >= least && number <= most)) return expected(`an integer ${range}`);
  }
  if (kind.type === 'number') {
    const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value) ? Number(value) : NaN;
    const { least, most } = kind;
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    if (!(number >= least && number <= most)) return expected(`a number ${range}`);
  }
  if (kind.type === 'choice' && !kind.of.includes(value)) {
    return expected(kind.of.length === 1 ? `'${kind.of.join()}'` : `one of ${kind.of.join(', ')}`);
  }
  if (kind.type === 'text' && value === '' && effect === 'used') return expected(kind.shows);
  if (effect !== 'only' || otherwise === undefined || isEqual(kind.type, value, otherwise)) return undefined;
  return `--${name}=${value} is not supported, only ${otherwise}: ${text}`;
}

function isEqual(type: Flag['kind']['type'], a: string, b: string): boolean {
  if (type === 'boolean') return readBoolean(a) === readBoolean(b);
  return type === 'integer' || type === 'number' ? Number(a) === Number(b) : a === b;
}

/** The flag that was probably meant, at the end of a message. */
function nearFlag(flags: ReadonlyMap<string, Flag>, written: string): string {
  const name = written.replace(/^-+/, '').replace(/=.*$/s, '');
  return didYouMean(
    `--${name}`,
    [...flags.keys()].map((flag) => `--${flag}`),
  );
}

/**
 * Parses a command line: `--flag=value`, `--flag value`, `-f value` or `-fvalue`.
 *
 * @param flags - All flags, by name.
 * @param alone - The flag of arguments that stand alone.
 * @throws {@link TritonError} INVALID_ARG with a list of all faults.
 */
export function parseFlags(
  flags: ReadonlyMap<string, Flag>,
  alone: string,
  args: readonly string[],
): FlagValues {
  const given = new Map<string, string[]>();
  const hints: Flag[] = [];
  const faults: string[] = [];
  const add = (name: string, value: string): void => {
    const values = given.get(name);
    if (values) values.push(value);
    else given.set(name, [value]);
  };
  for (let i = 0; i < args.length; i++) {
    const written = args[i] ?? '';
    if (written === '-h' && flags.has('help')) {
      add('help', 'true');
      continue;
    }
    if (!written.startsWith('-') || written === '-') {
      add(alone, written);
      continue;
    }
    const arg = written.startsWith('--') ? written : longForm(flags, written);
    if (arg === undefined) {
      faults.push(`unknown flag ${written}${nearFlag(flags, written)}`);
      continue;
    }
    const equals = arg.indexOf('=');
    const name = arg.slice(2, equals < 0 ? undefined : equals);
    const flag = flags.get(name);
    if (flag === undefined) {
      faults.push(`unknown flag --${name}${nearFlag(flags, name)}`);
      // The next argument may be the unknown flag's value, so it is skipped.
      if (equals < 0 && args[i + 1]?.startsWith('-') === false) i++;
      continue;
    }
    let value = equals < 0 ? undefined : arg.slice(equals + 1);
    if (flag.kind.type === 'switch') {
      if (flag.effect === 'refused') faults.push(`--${name} is not supported: ${flag.text}`);
      else if (value === undefined) add(name, 'true');
      else faults.push(`--${name} takes no value`);
      if (flag.effect === 'hint') hints.push(flag);
      continue;
    }
    const next = args[i + 1];
    if (value === undefined && next !== undefined && !isFlag(flags, next)) {
      value = next;
      i++;
    }
    if (flag.effect === 'refused') {
      faults.push(`--${name} is not supported: ${flag.text}`);
      continue;
    }
    const wrong = value === undefined ? `--${name} needs a value` : fault(flag, value);
    if (wrong !== undefined) faults.push(wrong);
    else add(name, value ?? '');
    if (flag.effect === 'hint') hints.push(flag);
  }
  if (faults.length > 0) throw invalidArgument([...new Set(faults)].join('\n'));
  return new FlagValues(flags, given, hints);
}

/** Whether an argument is a flag, and not the value of the one before: values may begin with a dash. */
function isFlag(flags: ReadonlyMap<string, Flag>, arg: string): boolean {
  return (
    arg.startsWith('--') || (arg.length === 2 && arg.startsWith('-') && longForm(flags, arg) !== undefined)
  );
}

/** A flag with a letter as the flag of its name, with its value if there is one; undefined if there is no such letter. */
function longForm(flags: ReadonlyMap<string, Flag>, written: string): string | undefined {
  const letter = written.charAt(1);
  const flag = [...flags.values()].find((one) => one.letter === letter);
  const value = written.slice(2).replace(/^=/, '');
  return flag && (written.length === 2 ? `--${flag.name}` : `--${flag.name}=${value}`);
}
