/** Reads the caller's object of inputs. Each value is read once. */

import { invalidArgument, type TritonError } from '../errors.js';
import { keyless } from '../keyless.js';
import { describe, quote } from './describe.js';
import type { InputPlan } from './plan.js';
import { formatShape } from './shape.js';

/** How many unknown names an error lists. */
const listedNames = 10;

/** In a `for … in` loop, V8 can skip the check for own properties, but only if this function makes it. */
// eslint-disable-next-line @typescript-eslint/unbound-method -- called with the object it is for
const isOwn = Object.prototype.hasOwnProperty;

/** Reads the values of a model's inputs from an object. Only its own properties count. */
export class InputReader {
  readonly #model: string;
  readonly #plans: readonly InputPlan[];
  readonly #noun: string;
  readonly #names: readonly string[];
  readonly #indexOf: ReadonlyMap<string, number>;
  /** What {@link readAll} returned last, if nobody uses it. */
  #spare: unknown[] | undefined;

  constructor(model: string, plans: readonly InputPlan[]) {
    this.#model = model;
    this.#plans = plans;
    this.#noun = plans[0]?.noun ?? 'input';
    this.#names = plans.map(({ name }) => name);
    this.#indexOf = new Map(plans.map((plan, index) => [plan.name, index]));
  }

  /**
   * The values in the order of the model's inputs; undefined for optional inputs that are absent or null. Give the array back with
   * {@link done}, so that the next request needs no new one.
   *
   * @throws {@link TritonError} INVALID_ARG for unknown and missing names.
   */
  readAll(inputs: unknown): unknown[] {
    const object = this.#checkObject(inputs);
    const names = this.#names;
    // A getter of the caller may make a request of the same model, which then takes another array.
    const values = this.#spare ?? new Array<unknown>(names.length).fill(undefined);
    this.#spare = undefined;
    let unknown: string[] | undefined;
    let next = 0;
    for (const name in object) {
      if (!isOwn.call(object, name)) continue;
      const value = object[name];
      // Most callers write the names in the model's order.
      const index = names[next] === name ? next : this.#indexOf.get(name);
      next++;
      if (index === undefined) unknown = noteUnknown(unknown, name, value);
      else values[index] = value === null && this.#plans[index]?.optional === true ? undefined : value;
    }
    let complete = unknown === undefined;
    for (let i = 0; i < values.length; i++) complete &&= values[i] !== undefined;
    if (!complete) this.#checkNames(object, unknown, values);
    return values;
  }

  /** Takes back an array of {@link readAll}, which must not be used any more. */
  done(values: unknown[]): void {
    // What it holds would otherwise live as long as the model.
    for (let i = 0; i < values.length; i++) values[i] = undefined;
    this.#spare = values;
  }

  /** As {@link readAll} for a model with one input, without the array and the lookups. */
  readOnly(inputs: unknown, only: string): unknown {
    const object = this.#checkObject(inputs);
    let found: unknown;
    let unknown: string[] | undefined;
    for (const name in object) {
      if (!isOwn.call(object, name)) continue;
      const value = object[name];
      if (name === only) found = value === null && this.#plans[0]?.optional === true ? undefined : value;
      else unknown = noteUnknown(unknown, name, value);
    }
    if (found === undefined || unknown !== undefined) this.#checkNames(object, unknown, [found]);
    return found;
  }

  #checkObject(inputs: unknown): Readonly<Record<string, unknown>> {
    if (
      typeof inputs !== 'object' ||
      inputs === null ||
      Array.isArray(inputs) ||
      ArrayBuffer.isView(inputs)
    ) {
      throw this.#notInputs(inputs);
    }
    return inputs as Readonly<Record<string, unknown>>;
  }

  #notInputs(inputs: unknown): TritonError {
    const example = quote(this.#plans[0]?.name ?? 'x');
    const expected = `expected ${this.#noun}s by name, such as { ${example}: … }`;
    return invalidArgument(`model ${quote(this.#model)}: ${expected}, but got ${describe(inputs)}`, {
      model: this.#model,
    });
  }

  #checkNames(inputs: object, unknown: readonly string[] | undefined, values: readonly unknown[]): void {
    const missing = this.#plans.filter((plan, i) => !plan.optional && values[i] === undefined);
    if (missing.length === 0 && unknown === undefined) {
      // Not a Map, whose content would be ignored.
      if (keyless(inputs) !== undefined) throw this.#notInputs(inputs);
      return;
    }
    const what = describe(inputs);
    if (unknown === undefined && what !== 'an object' && what !== 'a Proxy') throw this.#notInputs(inputs);
    const faults: string[] = [];
    if (unknown !== undefined) faults.push(`no ${this.#noun} is named ${unknown.map(quote).join(', ')}`);
    if (missing.length > 0) faults.push(`missing ${missing.map((plan) => quote(plan.name)).join(', ')}`);
    faults.push(`expected ${this.#plans.map(summary).join(', ')}`);
    const message = `model ${quote(this.#model)}: ${faults.join('; ')}`;
    throw invalidArgument(message, { model: this.#model, tensor: unknown?.[0] ?? missing[0]?.name });
  }
}

/** Describes an input in a message that lists the model's inputs. */
function summary(plan: InputPlan): string {
  const shape = formatShape(plan.batchRank === 1 ? ['N', ...plan.dims] : plan.dims);
  return `${quote(plan.name)} (${plan.datatype} ${shape}${plan.optional ? ', optional' : ''})`;
}

/** Adds a name that the model does not have, unless its value is undefined and so counts as absent. */
function noteUnknown(unknown: string[] | undefined, name: string, value: unknown): string[] | undefined {
  if (value === undefined || (unknown?.length ?? 0) >= listedNames) return unknown;
  if (unknown === undefined) return [name];
  unknown.push(name);
  return unknown;
}
