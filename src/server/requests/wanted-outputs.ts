/** Decides which outputs of a version a request wants, and in which form. */

import { checkKeys, show } from '../../argument-checks.js';
import { printableLine } from '../../printable.js';
import { didYouMean } from '../../suggest.js';
import { TritonError } from '../../errors.js';
import { whyUnclassifiable } from '../../tensor/classification.js';
import { checkInto } from '../../tensor/into-check.js';
import type { TypedArray } from '../../tensor/types.js';
import type { TensorMetadata } from '../../api/metadata.js';
import type { InferOptions } from '../../api/results.js';

/** The outputs that a request wants. */
export interface WantedOutputs {
  /** Positions of the outputs; undefined: all. */
  readonly indices: readonly number[] | undefined;
  /** The outputs that are wanted as classes, and how many classes of each. */
  readonly classes: readonly { readonly name: string; readonly count: number }[];
}

/** The most entries of a list of outputs that is read. */
export const mostNamed: number = 2 ** 16;

/**
 * The option `outputs` of a request that is sent later, when the caller may have changed the list. One that is refused anyway is left
 * as it is.
 */
export function keptOutputs(outputs: InferOptions['outputs']): InferOptions['outputs'] {
  if (!Array.isArray(outputs) || outputs.length > mostNamed) return outputs;
  const entries: NonNullable<InferOptions['outputs']> = outputs;
  return Array.from(entries, (entry) =>
    typeof entry === 'object' && (entry as unknown) !== null ? { ...entry } : entry,
  );
}

const allOutputs: WantedOutputs = Object.freeze({ indices: undefined, classes: [] });

/** Reads the `outputs` and `into` options of requests to one version. */
export class OutputChoice {
  readonly #model: string;
  readonly #outputs: readonly TensorMetadata[];
  readonly #names: readonly string[];
  #lastWanted: { readonly names: readonly string[]; readonly wanted: WantedOutputs } | undefined;

  constructor(model: string, outputs: readonly TensorMetadata[]) {
    this.#model = model;
    this.#outputs = outputs;
    this.#names = outputs.map(({ name }) => name);
  }

  /**
   * The outputs that a request wants, and which of them as classes.
   *
   * @throws {@link TritonError} INVALID_ARG for unknown or repeated names.
   */
  wanted(outputs: InferOptions['outputs']): WantedOutputs {
    return outputs === undefined ? allOutputs : (this.before(outputs) ?? this.#read(outputs));
  }

  /** {@link wanted}, if these are the names that were wanted last, none of them as classes; undefined otherwise. */
  before(outputs: InferOptions['outputs']): WantedOutputs | undefined {
    const last = this.#lastWanted;
    return last !== undefined && Array.isArray(outputs) && areEqual(last.names, outputs)
      ? last.wanted
      : undefined;
  }

  #read(outputs: unknown): WantedOutputs {
    const fail = (message: string, tensor?: string): never => {
      throw new TritonError('INVALID_ARG', `model '${this.#model}': ${message}`, {
        model: this.#model,
        tensor,
      });
    };
    if (!Array.isArray(outputs))
      return fail(`expected an array of output names for options.outputs but received ${show(outputs)}`);
    // An output is named once. To copy a list of holes as long as it claims to be could end the process.
    if (!(outputs.length <= mostNamed))
      return fail(
        `expected at most ${mostNamed} outputs in options.outputs but received ${show(outputs.length)}`,
      );
    // From here on, each entry has been read once.
    const entries: readonly unknown[] = Array.from(outputs as readonly unknown[]);
    if (entries.length === 0) return allOutputs; // As in Triton, an empty list means all.
    const indices: number[] = [];
    const classes: { name: string; count: number }[] = [];
    for (const [at, entry] of entries.entries()) {
      const asked: Readonly<Record<string, unknown>> =
        typeof entry === 'object' && entry !== null ? { ...entry } : { name: entry };
      checkKeys(asked, ['name', 'classification'], `options.outputs[${at}]`);
      const { name } = asked;
      const classification = asked['classification'] ?? 0;
      if (typeof name !== 'string')
        return fail(`expected a name for options.outputs[${at}] but received ${show(name)}`);
      const index = this.#names.indexOf(name);
      if (index < 0) {
        fail(
          `unknown output '${printableLine(name)}'${didYouMean(name, this.#names)}; it has ${this.#names.join(', ')}`,
          name,
        );
      }
      if (indices.includes(index)) fail(`output '${name}' is requested twice`, name);
      indices.push(index);
      if (typeof classification !== 'number' || !Number.isSafeInteger(classification) || classification < 0) {
        return fail(
          `output '${name}': expected a count of classes, 0 or more, for options.outputs[${at}].classification but received ${show(classification)}`,
          name,
        );
      }
      if (classification === 0) continue; // As in Triton, 0 means off.
      const datatype = this.#outputs[index]?.datatype;
      const why = datatype && whyUnclassifiable(datatype);
      if (why !== undefined) fail(`output '${name}': ${why}`, name);
      classes.push({ name, count: classification });
    }
    const wanted = { indices, classes };
    const names = entries.filter((entry) => typeof entry === 'string');
    if (names.length === entries.length) this.#lastWanted = { names, wanted };
    return wanted;
  }

  /**
   * The caller's arrays for outputs, by position of the output.
   *
   * @throws {@link TritonError} INVALID_ARG as {@link indexOfInto}, and for arrays of another class than the
   *   output's `data`.
   */
  intoOf(into: NonNullable<InferOptions['into']>, wanted: WantedOutputs): TypedArray[] {
    const targets: TypedArray[] = [];
    for (const [name, target] of Object.entries(into) as [string, unknown][]) {
      const index = this.indexOfInto(name, wanted);
      targets[index] = checkInto(this.#model, name, this.#outputs[index]?.datatype ?? 'BYTES', target);
    }
    return targets;
  }

  /**
   * The position of an output that the caller wants in a certain place.
   *
   * @throws {@link TritonError} INVALID_ARG for unknown names, and for outputs that are not wanted or are wanted
   *   as classes.
   */
  indexOfInto(name: string, { indices, classes }: WantedOutputs): number {
    const fail = (message: string): never => {
      throw new TritonError('INVALID_ARG', `model '${this.#model}': ${message}`, {
        model: this.#model,
        tensor: name,
      });
    };
    const index = this.#names.indexOf(name);
    if (index < 0) {
      fail(
        `unknown output '${printableLine(name)}' in options.into${didYouMean(name, this.#names)}; it has ${this.#names.join(', ')}`,
      );
    }
    if (indices !== undefined && !indices.includes(index)) {
      fail(`output '${name}' is in options.into, but not in options.outputs`);
    }
    if (classes.some((one) => one.name === name)) {
      fail(`output '${name}' is requested as classes, which options.into cannot receive`);
    }
    return index;
  }
}

function areEqual(names: readonly string[], entries: readonly unknown[]): boolean {
  if (names.length !== entries.length) return false;
  for (let i = 0; i < names.length; i++) if (names[i] !== entries[i]) return false;
  return true;
}
