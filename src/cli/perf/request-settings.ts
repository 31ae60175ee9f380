/** What the flags of `perf` and `analyze` about requests ask for. */

import { invalidArgument } from '../../errors.js';
import type { PerfOptions } from '../../perf/run.js';
import type { ServerOptions } from '../../options.js';
import { thrownText } from '../../thrown-text.js';
import type { FlagValues } from '../flags/parse-flags.js';

/** The first fault of several parts of the command line is not enough: all are listed. */
export class Faults {
  readonly #faults: string[] = [];

  add(text: string): void {
    this.#faults.push(text);
  }

  /** Adds the message of what a reader throws. */
  read<T>(reader: () => T, otherwise: T): T {
    try {
      return reader();
    } catch (error) {
      this.add(thrownText(error));
      return otherwise;
    }
  }

  check(): void {
    if (this.#faults.length > 0) throw invalidArgument(this.#faults.join('\n'));
  }
}

/** What requests are made of. */
export type RequestSettings = Pick<
  PerfOptions,
  | 'parameters'
  | 'sequences'
  | 'streaming'
  | 'batch'
  | 'shapes'
  | 'inputData'
  | 'stringLength'
  | 'stringData'
  | 'seed'
>;

/**
 * Reads the flags about requests.
 *
 * @param atOnce - How many sequences are open at once with a request rate.
 */
export function requestSettings(values: FlagValues, faults: Faults, atOnce: number): RequestSettings {
  const parameters = faults.read(() => parametersOf(values.list('request-parameter')), {});
  const shapes = faults.read(() => shapesOf(values.list('shape')), new Map<string, readonly number[]>());
  const ids = faults.read(() => idRange(values.text('sequence-id-range') ?? ''), {
    first: 1,
    last: 2 ** 53 - 1,
  });
  return {
    parameters,
    sequences: {
      length: values.givenInteger('sequence-length'),
      variation: values.integer('sequence-length-variation'),
      firstId: ids.first,
      lastId: ids.last,
      atOnce,
    },
    streaming: values.has('streaming'),
    batch: values.integer('batch-size'),
    shapes,
    inputData: values.list('input-data'),
    stringLength: values.integer('string-length'),
    stringData: values.text('string-data'),
    seed: values.integer('random-seed'),
  };
}

/** Whether a place is the address of a server. Schemes have no case. */
export function isUrl(text: string): boolean {
  return /^(?:https?|grpcs?):\/\//i.test(text);
}

/** The options of a server of this process. */
export function serverSettings(values: FlagValues, repositories: readonly string[]): ServerOptions {
  return {
    modelRepository: repositories,
    instanceKind: values.has('instance-kind') ? 'cpu' : undefined,
    backendDirectory: values.text('backend-directory'),
    trustedFolders: values.list('trusted-folder'),
    outsideLinks: values.has('outside-links'),
    ...(values.has('library') && {
      backendConfig: { onnxruntime: { library: values.text('library') ?? '' } },
    }),
  };
}

function parametersOf(given: readonly string[]): Readonly<Record<string, string | number | boolean>> {
  return Object.fromEntries(
    given.map((text): [string, string | number | boolean] => {
      const [, name, value = '', type] = /^([^:]+):(.*):(bool|int|float|string)$/.exec(text) ?? [];
      const wrong = (): Error =>
        invalidArgument(
          `expected name:value:type for --request-parameter, with the type bool, int, float or string, but received '${text}'`,
        );
      if (name === undefined) throw wrong();
      if (type === 'string') return [name, value];
      if (type === 'bool' && /^(true|false)$/.test(value)) return [name, value === 'true'];
      const number = value === '' ? NaN : Number(value);
      if (type === 'bool' || !(type === 'int' ? Number.isSafeInteger(number) : Number.isFinite(number)))
        throw wrong();
      return [name, number];
    }),
  );
}

function shapesOf(given: readonly string[]): ReadonlyMap<string, readonly number[]> {
  return new Map(
    given.map((text): [string, readonly number[]] => {
      const [, name, dims] = /^(.+):(\d+(?:,\d+)*)$/.exec(text) ?? [];
      if (name === undefined || dims === undefined)
        throw invalidArgument(`expected name:d1,d2,… for --shape but received '${text}'`);
      return [name, dims.split(',').map(Number)];
    }),
  );
}

function idRange(text: string): { readonly first: number; readonly last: number } {
  const [first = NaN, last = 2 ** 53 - 1] = text
    .split(':')
    .map((part) => (part === '' ? undefined : Number(part)));
  if (Number.isSafeInteger(first) && Number.isSafeInteger(last) && first >= 1 && last >= first)
    return { first, last };
  throw invalidArgument(
    `expected start:end for --sequence-id-range, with 1 ≤ start ≤ end, but received '${text}'`,
  );
}
