/** Types of models by name, for programs that declare their models. */

import type { Datatype } from './datatype.js';
import type { Inputs, TensorInputOf } from './inputs.js';
import type { AnyTensor, Tensor } from './tensor.js';

/**
 * The models that a program has declared, by name (default: none). `npx tritonts types <repository>` writes
 * the declaration.
 *
 * @example
 * declare module 'tritonts' {
 *   interface ModelRegistry {
 *     digits: { inputs: { image: 'FP32' }; outputs: { label: 'INT64'; scores: 'FP32' } };
 *   }
 * }
 * const { outputs } = await server.model('digits').infer({ image });
 * outputs.scores.data; // a Float32Array
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- programs add to it
export interface ModelRegistry {}

/**
 * Options of {@link ModelRegistry} (default: no option is set). `npx tritonts types --strict` writes
 * `strict: true`: then only names of models in the registry are accepted.
 *
 * @example
 * declare module 'tritonts' {
 *   interface RegistryOptions {
 *     strict: true;
 *   }
 * }
 * server.model('digist'); // an error of the compiler
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- programs add to it
export interface RegistryOptions {}

/**
 * A name of a model that is not in {@link ModelRegistry}: any string, or never if {@link RegistryOptions} has
 * `strict: true`.
 */
export type ModelName = RegistryOptions extends { readonly strict: true } ? never : string;

/**
 * The inputs and outputs of a model, as types.
 *
 * @example
 * type Digits = { inputs: { image: 'FP32' }; outputs: { label: 'INT64'; scores: 'FP32' } };
 * const digits: TypedModel<Digits> = server.model('digits');
 */
export interface ModelSignature {
  /** The datatype of each input. An optional input has a `?`. */
  readonly inputs: Readonly<Record<string, Datatype | undefined>>;
  /** The datatype of each output. */
  readonly outputs: Readonly<Record<string, Datatype | undefined>>;
  /** true: a request gets any number of responses, so that only `stream` runs the model (default: `infer` does, too). */
  readonly decoupled?: boolean | undefined;
}

/** The signature that a model was declared with; any signature, if it is not in {@link ModelRegistry}. */
export type SignatureOf<N extends keyof ModelRegistry> = ModelRegistry[N] extends ModelSignature
  ? ModelRegistry[N]
  : ModelSignature;

/**
 * The signature of a model that is named by its name in {@link ModelRegistry}, or described by its signature
 * itself.
 */
export type SignatureFor<M> = M extends keyof ModelRegistry
  ? SignatureOf<M>
  : M extends ModelSignature
    ? M
    : ModelSignature;

/** The inputs of a model with signature `S`. */
export type InputsOf<S extends ModelSignature> = string extends keyof S['inputs']
  ? Inputs
  : {
      readonly [N in keyof S['inputs']]:
        TensorInputOf<NonNullable<S['inputs'][N]>> | (undefined extends S['inputs'][N] ? undefined : never);
    };

/**
 * What `infer` and `map` take of a model with signature `S`: its inputs, or nothing that could be passed, if the model is
 * decoupled.
 */
export type SingleInputsOf<S extends ModelSignature> = S extends { readonly decoupled: true }
  ? { readonly 'a decoupled model: call stream': never }
  : InputsOf<S>;

/** The tensor of a datatype. For a union of datatypes, the union of their tensors. */
export type TensorOf<D extends Datatype> = { [E in D]: Tensor<E> }[D];

/** The outputs of a model with signature `S`. */
export type OutputsOf<S extends ModelSignature> = string extends keyof S['outputs']
  ? Readonly<Record<string, AnyTensor>>
  : { readonly [N in keyof S['outputs']]: TensorOf<NonNullable<S['outputs'][N]>> };

/** The names of the outputs of a model with signature `S`. */
export type OutputNames<S extends ModelSignature> = keyof S['outputs'] & string;

/** The name in an entry of `options.outputs`. */
type NameOf<E> = E extends string ? E : E extends { readonly name: infer N extends string } ? N : never;

/** The tensor that a request with entry `E` gets for an output of type `T`. Classifications are strings. */
type Answered<T, E> = E extends { readonly classification?: infer C }
  ? 'classification' extends keyof E
    ? C extends undefined | 0
      ? T
      : number extends C
        ? T | Tensor<'BYTES'>
        : Tensor<'BYTES'>
    : T
  : T;

/** Those of the outputs `O` that the entries `E` name. */
type Wanted<O, E> = {
  readonly [N in NameOf<E> & keyof O]: N extends E ? O[N] : Answered<O[N], Extract<E, { readonly name: N }>>;
};

/** The outputs of a request that asks for `W` of the outputs `O`. */
type Chosen<O, W> = W extends readonly []
  ? O
  : W extends readonly (infer E)[]
    ? number extends W['length']
      ? Partial<Wanted<O, E>>
      : Wanted<O, E>
    : O;

/**
 * The outputs of a request to a model with signature `S` that asks for the outputs `W`; undefined: all outputs.
 */
export type WantedOf<S extends ModelSignature, W> = string extends keyof S['outputs']
  ? OutputsOf<S>
  : Chosen<OutputsOf<S>, W>;
