/** Checks the options of requests. */

import { joinSignals, type CallSignal, type StopSignal } from '../../call-signal.js';
import { checkKeys, checkObject, readOptions, show } from '../../argument-checks.js';
import { checkTimeoutMs, withDeadline } from '../../dispatch/ending/deadlines.js';
import type { DispatchRequest, SequenceMark } from '../../dispatch/types.js';
import { invalidArgument, TritonError } from '../../errors.js';
import type { RegionRange } from '../../tensor/region-tensor.js';
import { CallingRequest } from '../../javascript/batches/calling-request.js';
import { encodeAttributes, withCaller, withTrace } from './request-attributes.js';
import { checkSequence } from './sequence-option.js';
import type { InferOptions } from '../../api/results.js';

export const inferKeys: readonly (keyof InferOptions)[] = [
  'id',
  'outputs',
  'signal',
  'ownOutputs',
  'into',
  'priority',
  'timeoutUs',
  'timeoutMs',
  'parameters',
  'parent',
  'sequence',
];

/** Checked options of requests. Wanted outputs are looked up for the version that serves each request. */
export interface CheckedOptions {
  readonly request: DispatchRequest;
  readonly outputs: InferOptions['outputs'];
  readonly into: InferOptions['into'];
  /** Where outputs go, by name, if they go to regions of shared memory. */
  readonly targets?: ReadonlyMap<string, RegionRange> | undefined;
  /** Whether nobody has to ask any more whether the request is traced: somebody has, or its caller decides. */
  readonly traceKnown?: boolean | undefined;
}

/**
 * The options of a request whose front end has asked whether it is traced.
 *
 * @param trace - The id of its trace; 0: it is not.
 */
export function traced(options: CheckedOptions, trace: number): CheckedOptions {
  if (trace === 0) return { ...options, traceKnown: true };
  const { request } = options;
  return {
    ...options,
    request: { ...request, attributes: withTrace(request.attributes, trace) },
    traceKnown: true,
  };
}

/** What to write instead of an option of Triton's clients. */
export function whyRefused(key: string): string | undefined {
  return /^sequence./i.test(key) ? ': write sequence: { id, start, end } instead' : undefined;
}

/** The most characters of a request id, as in Triton's clients. */
const longestId = 4096;

/** Has something forgotten at the end of this tick. `EngineConnection` does it. */
export interface TickEnd {
  /** Calls `forget` of `one` then, once for each call. */
  forgetAtTickEnd(one: { forget(): void }): void;
}

/** How many are kept: a program has few priorities and time-outs. */
const mostShared = 16;

/**
 * Options that many requests of a model share: none at all, or a priority and a time-out alone. One object for all of
 * them is what costs the least to tell from others. One a model's handle.
 */
export class SharedOptions {
  /** Those of requests without any. */
  readonly none: CheckedOptions;
  readonly #kept: { priority: number | undefined; timeoutUs: number | undefined; checked: CheckedOptions }[] =
    [];

  readonly #tickEnd: TickEnd | undefined;
  /** The last ones with a signal alone. Requests of a tick often share it; later it would be kept for nothing. */
  #signalled: CheckedOptions | undefined;

  constructor(pinned: boolean, tickEnd?: TickEnd) {
    this.#tickEnd = tickEnd;
    const plain = request('', undefined, false, pinned, undefined, undefined);
    this.none = { request: plain, outputs: undefined, into: undefined };
  }

  /** Those that were kept for these; undefined: none were. */
  find(priority: number | undefined, timeoutUs: number | undefined): CheckedOptions | undefined {
    for (const kept of this.#kept) {
      if (kept.priority === priority && kept.timeoutUs === timeoutUs) return kept.checked;
    }
    return undefined;
  }

  /** Those with this signal alone, of this tick; undefined: there are none. */
  findSignalled(signal: StopSignal): CheckedOptions | undefined {
    const last = this.#signalled;
    return last?.request.signal === signal ? last : undefined;
  }

  keepSignalled(checked: CheckedOptions): void {
    if (this.#tickEnd === undefined) return;
    if (this.#signalled === undefined) this.#tickEnd.forgetAtTickEnd(this);
    this.#signalled = checked;
  }

  /** Forgets the signal. */
  forget(): void {
    this.#signalled = undefined;
  }

  keep(priority: number | undefined, timeoutUs: number | undefined, checked: CheckedOptions): void {
    if (this.#kept.length === mostShared) this.#kept.shift();
    this.#kept.push({ priority, timeoutUs, checked });
  }
}

/**
 * Checks whatever does not depend on the version.
 *
 * @param shared - The model's.
 * @param caller - Returns the engine's number of the batch that makes the call, where `parent` is not given; 0: none.
 * @param mark - The sequence, if the options must not name one.
 * @throws {@link TritonError} INVALID_ARG for unknown keys and wrong values.
 */
export function checkInferOptions(
  model: string,
  options: InferOptions,
  shared: SharedOptions,
  caller?: () => number,
  mark?: SequenceMark,
): CheckedOptions {
  // Most options are plain objects, and to ask first what else they might be costs a tenth of a small request.
  const prototype: unknown = Object.getPrototypeOf(options);
  const isPlainObject =
    (prototype === Object.prototype || prototype === null) &&
    typeof options === 'object' &&
    !Array.isArray(options);
  // What a class inherits is not among the keys of its objects. The cast: the values are checked below.
  const own = isPlainObject
    ? options
    : (readOptions<InferOptions>(options, inferKeys, 'infer options', whyRefused) as InferOptions);
  let id: InferOptions['id'] | null;
  let outputs: InferOptions['outputs'] | null;
  let ownOutputs: InferOptions['ownOutputs'] | null;
  let into: InferOptions['into'] | null;
  let parent: InferOptions['parent'] | null;
  let timeoutMs: InferOptions['timeoutMs'] | null;
  let ownSignal: InferOptions['signal'] | null;
  let priority: InferOptions['priority'] | null;
  let timeoutUs: InferOptions['timeoutUs'] | null;
  let parameters: InferOptions['parameters'] | null;
  let given: InferOptions['sequence'] | null;
  // Only those that are there are read: each of the others would be looked for, in objects of many kinds.
  for (const key in own) {
    switch (key) {
      case 'id':
        ({ id } = own);
        break;
      case 'outputs':
        ({ outputs } = own);
        break;
      case 'ownOutputs':
        ({ ownOutputs } = own);
        break;
      case 'into':
        ({ into } = own);
        break;
      case 'parent':
        ({ parent } = own);
        break;
      case 'timeoutMs':
        ({ timeoutMs } = own);
        break;
      case 'signal':
        ownSignal = own.signal;
        break;
      case 'priority':
        ({ priority } = own);
        break;
      case 'timeoutUs':
        ({ timeoutUs } = own);
        break;
      case 'parameters':
        ({ parameters } = own);
        break;
      case 'sequence':
        given = own.sequence;
        break;
      default:
        checkKeys(own, inferKeys, 'infer options', whyRefused);
    }
  }
  // One that is null is left out.
  id ??= '';
  outputs ??= undefined;
  ownOutputs ??= false;
  into ??= undefined;
  parent ??= undefined;
  timeoutMs ??= undefined;
  ownSignal ??= undefined;
  priority ??= undefined;
  timeoutUs ??= undefined;
  parameters ??= undefined;
  given ??= undefined;
  const { none } = shared;
  const { pinned } = none.request;
  if (typeof (id as unknown) !== 'string' || id.length > longestId) {
    const got = typeof (id as unknown) === 'string' ? `${id.length} characters` : show(id);
    throw invalidArgument(
      `model '${model}': expected a string of at most ${longestId} characters for options.id but received ${got}`,
      { model },
    );
  }
  if (ownSignal !== undefined && !((ownSignal as unknown) instanceof AbortSignal)) {
    throw invalidArgument(
      `model '${model}': expected an AbortSignal for options.signal but received ${show(ownSignal)}`,
      { model },
    );
  }
  if (typeof (ownOutputs as unknown) !== 'boolean') {
    throw invalidArgument(
      `model '${model}': expected true or false for options.ownOutputs but received ${show(ownOutputs)}`,
      { model },
    );
  }
  checkTimeoutMs(model, timeoutMs);
  let called = 0;
  let signal: StopSignal | undefined = ownSignal;
  if (parent !== undefined) {
    const { number, callSignal } = callerOf(model, parent);
    called = number;
    signal = ownSignal ? joinSignals(callSignal, ownSignal) : callSignal;
  } else if (caller !== undefined) {
    called = caller();
  }
  signal = withDeadline(signal, timeoutMs);
  const sequence = given === undefined ? mark : checkSequence(model, given);
  const isPlain =
    called === 0 &&
    id === '' &&
    outputs === undefined &&
    !ownOutputs &&
    into === undefined &&
    parameters === undefined &&
    sequence === undefined;
  const isSharable = isPlain && signal === undefined;
  // The signal of a deadline, or of several signals, is of one request.
  const isSignalled =
    isPlain &&
    signal !== undefined &&
    signal === ownSignal &&
    priority === undefined &&
    timeoutUs === undefined;
  const known = isSharable
    ? shared.find(priority, timeoutUs)
    : isSignalled && signal !== undefined
      ? shared.findSignalled(signal)
      : undefined;
  if (known !== undefined) return known;
  let attributes: Int32Array | undefined;
  if (priority !== undefined || timeoutUs !== undefined || parameters !== undefined) {
    attributes = encodeAttributes(model, { priority, timeoutUs, parameters });
  }
  if (called !== 0) attributes = withCaller(attributes, called);
  const traceKnown = called !== 0;
  if (into !== undefined) {
    checkObject(into, 'infer options.into');
    const asked = request(id, signal, ownOutputs, pinned, attributes, sequence);
    return { request: asked, outputs, into: { ...into }, traceKnown };
  }
  // Requests without options share one object, which is the fastest to recognise; those that only choose outputs share its request.
  if (
    id === '' &&
    signal === undefined &&
    !ownOutputs &&
    attributes === undefined &&
    sequence === undefined
  ) {
    return outputs === undefined ? none : { request: none.request, outputs, into };
  }
  const asked = request(id, signal, ownOutputs, pinned, attributes, sequence);
  const checked = { request: asked, outputs, into, traceKnown };
  if (isSharable) shared.keep(priority, timeoutUs, checked);
  if (isSignalled) shared.keepSignalled(checked);
  return checked;
}

/**
 * The engine's number for calls that a model makes for a request, and what aborts them.
 *
 * @throws {@link TritonError} INVALID_ARG for something that is no request of a model here, CANCELLED for one that has
 *   ended.
 */
function callerOf(
  model: string,
  parent: unknown,
): { readonly number: number; readonly callSignal: CallSignal } {
  if (!(parent instanceof CallingRequest)) {
    throw invalidArgument(
      `model '${model}': expected a request that execute got, in the same thread, for options.parent`,
      { model },
    );
  }
  const number = parent.caller;
  if (number !== 0) return { number, callSignal: parent.callSignal };
  throw new TritonError('CANCELLED', `model '${model}': the request given as options.parent has ended`, {
    model,
  });
}

function request(
  id: string,
  signal: StopSignal | undefined,
  ownOutputs: boolean,
  pinned: boolean,
  attributes: Int32Array | undefined,
  sequence: SequenceMark | undefined,
): DispatchRequest {
  const [wanted, owner, into, regions] = [undefined, undefined, undefined, undefined];
  return { id, wanted, signal, attributes, owner, ownOutputs, into, regions, pinned, sequence };
}
