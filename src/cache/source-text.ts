/**
 * The text of a model's code that is a value of the program: its functions, those that it inherits, and its data. It runs no
 * code of the model. What the functions capture, and what their modules import, cannot be seen.
 */

import { types } from 'node:util';

/** The most characters of a text, and the most levels of data. What is more than that is not known. */
const mostCharacters = 2 ** 20;
const mostLevels = 100;

/** What the text of a function has already, or has of its own. */
const ownOfFunctions: readonly PropertyKey[] = ['length', 'name', 'prototype', 'arguments', 'caller'];

/**
 * The same values have the same text. Undefined: the value has parts that no text stands for, such as a bound function, a
 * proxy, an object of a class in a member, or a circle; or the text would be too long.
 */
export function sourceText(model: unknown): string | undefined {
  try {
    const text = new SourceText();
    text.addModel(model);
    return text.joined();
  } catch (error) {
    if (error instanceof UnknownPart) return undefined;
    throw error;
  }
}

/** A value has a part that no text stands for. */
class UnknownPart extends Error {}

/** See the head of this file. */
class SourceText {
  readonly #parts: string[] = [];
  #characters = 0;
  #levels = 0;
  /** Functions and objects with functions, by their number: a class and its prototype name each other. */
  readonly #seen = new Map<object, number>();
  /** The data that this is in. */
  readonly #around = new Set<object>();

  joined(): string {
    return this.#parts.join(' ');
  }

  addModel(model: unknown): void {
    if (typeof model === 'object' && model !== null) this.#addChain(model);
    else this.#add(model);
  }

  #put(part: string): void {
    this.#characters += part.length + 1;
    if (this.#characters > mostCharacters) throw new UnknownPart();
    this.#parts.push(part);
  }

  #add(value: unknown): void {
    if (++this.#levels > mostLevels) throw new UnknownPart();
    if (typeof value === 'function') this.#addFunction(value);
    else if (typeof value === 'object' && value !== null) this.#addData(value);
    else if (typeof value === 'string') this.#put(JSON.stringify(value));
    else if (typeof value === 'symbol') throw new UnknownPart();
    else this.#put(Object.is(value, -0) ? '-0' : `${String(value)}${typeof value === 'bigint' ? 'n' : ''}`);
    this.#levels--;
  }

  /** Whether a value comes for the first time. Later its number stands for it. */
  #first(value: object): boolean {
    if (types.isProxy(value)) throw new UnknownPart();
    const number = this.#seen.get(value);
    if (number === undefined) this.#seen.set(value, this.#seen.size);
    else this.#put(`#${number}`);
    return number === undefined;
  }

  /** A function or a class, with its members and those of its prototypes, and what it inherits from. */
  #addFunction(value: object): void {
    if (!this.#first(value)) return;
    const text = Function.prototype.toString.call(value);
    // Bound functions have the same text, and so have those of the runtime, which could be any.
    if (/\{\s*\[native code\]\s*\}$/.test(text)) throw new UnknownPart();
    this.#put(`function ${JSON.stringify(text)}`);
    this.#addMembers(value, ownOfFunctions);
    const prototype: unknown = Object.getOwnPropertyDescriptor(value, 'prototype')?.value;
    // That of a generator is the runtime's.
    if (typeof prototype === 'object' && prototype !== null && !types.isGeneratorFunction(value))
      this.#addChain(prototype);
    const parent: unknown = Object.getPrototypeOf(value);
    // The prototype of asynchronous functions is no function.
    if (typeof parent === 'function' && parent !== Function.prototype) this.#add(parent);
  }

  /** An object and its prototypes. */
  #addChain(object: object): void {
    for (let at: unknown = object; typeof at === 'object' && at !== null && at !== Object.prototype;) {
      if (!this.#first(at)) return;
      this.#addMembers(at);
      at = Object.getPrototypeOf(at);
    }
  }

  /** A plain object or an array. */
  #addData(value: object): void {
    if (types.isProxy(value) || this.#around.has(value)) throw new UnknownPart();
    const prototype: unknown = Object.getPrototypeOf(value);
    const isArray = Array.isArray(value);
    if (prototype !== (isArray ? Array.prototype : Object.prototype) && (isArray || prototype !== null))
      throw new UnknownPart();
    // The keys of a long list would need much memory before its text is too long.
    if (isArray && value.length > mostCharacters) throw new UnknownPart();
    this.#around.add(value);
    this.#put(isArray ? 'array' : 'object');
    this.#addMembers(value);
    this.#around.delete(value);
  }

  #addMembers(object: object, without: readonly PropertyKey[] = []): void {
    this.#put('{');
    for (const key of Reflect.ownKeys(object)) {
      if (without.includes(key)) continue;
      // They are not called.
      const member: Readonly<Partial<Record<'get' | 'set' | 'value', unknown>>> | undefined =
        Object.getOwnPropertyDescriptor(object, key);
      if (member === undefined) continue;
      this.#put(typeof key === 'string' ? JSON.stringify(key) : String(key));
      const { get, set, value } = member;
      if (get === undefined && set === undefined) this.#add(value);
      else {
        this.#put('get set');
        this.#add(get);
        this.#add(set);
      }
    }
    this.#put('}');
  }
}
