/** Reads a backend's settings from a model's `parameters` and the server's options. */

import { keyPath } from '../config/index.js';
import { invalidArgument, type TritonError } from '../errors.js';
import type { BackendContext } from './context.js';

/** A setting's value, with a function that makes its error. */
interface Written {
  readonly value: string | number | boolean;
  /** Makes the error for a wrong value. */
  readonly fault: (expected: string) => TritonError;
  /** Makes an error with other words. */
  readonly refuse: (text: string) => TritonError;
}

/** The form that a text must have. */
export interface TextRule {
  readonly expected: string;
  readonly allows: (text: string) => boolean;
}

/** Reads settings. A model's `parameters` take precedence over the backend's configuration. */
export class SettingsReader {
  readonly #context: BackendContext;
  /** Whether the model has any parameters. */
  readonly #hasOwn: boolean;

  constructor(context: BackendContext) {
    this.#context = context;
    this.#hasOwn = Object.keys(context.config.parameters).length > 0;
  }

  /** Whether a key is set, in either place. */
  says(key: string): boolean {
    return this.#find(key) !== undefined;
  }

  /** The value of a key in the model's own `parameters`. */
  own(key: string): string | undefined {
    const own = this.#hasOwn ? this.#context.config.parameters[key]?.string_value : undefined;
    return own === '' ? undefined : own;
  }

  text(key: string, rule?: TextRule): string | undefined {
    const written = this.#find(key);
    if (written === undefined) return undefined;
    const text = String(written.value);
    if (rule && !rule.allows(text)) throw written.fault(rule.expected);
    return text;
  }

  integer(key: string, most: number): number | undefined {
    return this.#number(this.#find(key), most);
  }

  /** '0' or '1'; undefined if the key is not set. */
  flag(key: string): '0' | '1' | undefined {
    return this.#flag(this.#find(key));
  }

  /** A boolean in the words of Triton's backends for PyTorch and TensorFlow; undefined if the key is not set. */
  boolean(key: string): boolean | undefined {
    const written = this.#find(key);
    if (written === undefined) return undefined;
    const text = String(written.value).toLowerCase();
    if (['true', 'on', '1'].includes(text)) return true;
    if (['false', 'off', '0'].includes(text)) return false;
    throw written.refuse(
      `failed to convert '${String(written.value)}' to boolean: expected true, on or 1, or false, off or 0`,
    );
  }

  /** Does the same as {@link flag}, for the backend's configuration only. */
  generalFlag(key: string): '0' | '1' | undefined {
    return this.#flag(this.#general(key));
  }

  #find(key: string): Written | undefined {
    const own = this.own(key);
    if (own === undefined) return this.#general(key);
    const refuse = (text: string): TritonError => this.#context.fault(keyPath('parameters', key), text);
    return {
      value: own,
      fault: (expected) => refuse(`expected ${expected} but received '${own}'`),
      refuse,
    };
  }

  #general(key: string): Written | undefined {
    const value = this.#context.options[key];
    if (value === undefined) return undefined;
    const { name, backend } = this.#context.config;
    const option = `backendConfig.${backend}['${key}']`;
    const error = (text: string): TritonError => invalidArgument(`model '${name}': ${text}`, { model: name });
    return {
      value,
      fault: (expected) => error(`expected ${expected} for ${option} but received '${String(value)}'`),
      refuse: (text) => error(`${option}: ${text}`),
    };
  }

  #flag(written: Written | undefined): '0' | '1' | undefined {
    if (typeof written?.value === 'boolean') return written.value ? '1' : '0';
    const number = this.#number(written, 1);
    return number === undefined ? undefined : number === 1 ? '1' : '0';
  }

  #number(written: Written | undefined, most: number): number | undefined {
    if (written === undefined) return undefined;
    const text = String(written.value).trim();
    const number = /^\d+$/.test(text) ? Number(text) : NaN;
    if (number <= most) return number;
    throw written.fault(`a whole number from 0 to ${most}`);
  }
}
