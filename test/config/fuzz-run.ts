/** Tests the configuration reader with {@link anyContent} for a while. */

import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import fc from '../support/fast-check.js';
import { decodeConfig } from '../../src/config/text/decode.js';
import { tritonDefaults } from '../../src/config/rules/complete.js';
import type { ModelDescription } from '../../src/config/rules/description.js';
import { expandConfig } from '../../src/config/schema/expand.js';
import { finishConfig, prepareConfig, type ConfigContext } from '../../src/config/rules/prepare.js';
import { printConfig } from '../../src/config/text/print.js';
import { readModelConfig, type ParsedConfig } from '../../src/config/text/read.js';
import { TritonError } from '../../src/errors.js';
import { anyContent } from './fuzz-inputs.js';
import { backends, gpus } from './helpers.js';
import { secondOpinion } from './second-opinion.js';

/** The result of a run. */
export interface FuzzReport {
  /** How many texts were tried. */
  readonly executions: number;
  /** How many of them could be read, and how many would be served for a model with input x and output y. */
  readonly read: number;
  readonly served: number;
  /** The longest time for one text, in milliseconds. */
  readonly slowestMs: number;
  /** What failed with which text, for readers; undefined if nothing failed. */
  readonly failure: string | undefined;
}

/** Options of {@link fuzz}. */
export interface FuzzOptions {
  readonly seed: number;
  /** Ends after this time, in milliseconds (default: no limit). */
  readonly ms?: number;
  /** Ends after this number of texts (default: no limit). */
  readonly executions?: number;
  /** Called with each text before it is tried. */
  readonly onExecution?: (content: Uint8Array) => void;
}

/** More time for one text counts as a hang, in milliseconds. */
const hangMs = 60_000;

const file = 'config.pbtxt';

const model: ModelDescription = {
  inputs: [
    {
      name: 'x',
      datatype: 'FP32',
      typeName: 'tensor(float)',
      shape: [-1, 16],
      optional: false,
      dimNames: ['N', ''],
    },
  ],
  outputs: [
    {
      name: 'y',
      datatype: 'FP32',
      typeName: 'tensor(float)',
      shape: [-1, 16],
      optional: false,
      dimNames: ['N', ''],
    },
  ],
};

/** Runs until a limit is reached or a text fails. */
export function fuzz({ seed, ms, executions, onExecution }: FuzzOptions): FuzzReport {
  const counts = { executions: 0, read: 0, served: 0, slowestMs: 0 };
  const property = fc.property(anyContent, (content) => {
    onExecution?.(content);
    const begin = performance.now();
    const outcome = execute(content);
    const took = performance.now() - begin;
    counts.executions++;
    if (outcome !== 'refused') counts.read++;
    if (outcome === 'served') counts.served++;
    counts.slowestMs = Math.max(counts.slowestMs, took);
    assert.ok(took < hangMs, `took ${took} ms`);
  });
  const details = fc.check(property, {
    seed,
    numRuns: executions ?? Number.MAX_SAFE_INTEGER,
    ...(ms !== undefined && { interruptAfterTimeLimit: ms }),
    markInterruptAsFailure: false,
  });
  if (!details.failed) return { ...counts, failure: undefined };
  const [content = new Uint8Array()] = details.counterexample ?? [];
  const text = Buffer.from(content);
  return {
    ...counts,
    failure: [
      inspect(details.errorInstance),
      `seed ${details.seed}, path ${details.counterexamplePath ?? ''}`,
      `text: ${JSON.stringify(text.toString('utf8'))}`,
      `base64: ${text.toString('base64')}`,
    ].join('\n'),
  };
}

type Outcome = 'refused' | 'read' | 'served';

/** Runs all steps of a load on a text. Throws if an error is not a proper TritonError. */
function execute(content: Uint8Array): Outcome {
  const lines = content.reduce((count, byte) => count + Number(byte === 0x0a), 1);
  const decoded = decodeConfig(content);
  const other = 'text' in decoded ? secondOpinion(decoded.text) : undefined;
  let parsed: ParsedConfig;
  try {
    parsed = readModelConfig({ file, text: content });
  } catch (error) {
    checkError(error, lines);
    if (other !== undefined) checkStricter(error);
    return 'refused';
  }
  assert.deepEqual(parsed.value, other, 'protobufjs reads something else');
  const config = expandConfig(parsed.value);
  const again = readModelConfig({ file: 'printed', text: printConfig(config) });
  assert.deepEqual(expandConfig(again.value), config, 'reads back other than it was printed');
  let outcome: Outcome = 'read';
  for (const autoComplete of [true, false]) {
    try {
      finishConfig(prepare(parsed, config.name, autoComplete), model, tritonDefaults);
      outcome = 'served';
    } catch (error) {
      checkError(error, lines);
    }
  }
  return outcome;
}

/** Prepares a configuration for a folder with the name in the text. */
function prepare(
  parsed: ParsedConfig,
  name: string,
  autoComplete: boolean,
): ReturnType<typeof prepareConfig> {
  return prepareConfig(parsed, contextOf(name, autoComplete));
}

function contextOf(name: string, autoComplete: boolean): ConfigContext {
  return {
    modelName: name === '' ? 'm' : name,
    modelDirectory: '/m',
    firstVersionEntries: [{ name: 'model.onnx', isDirectory: false }],
    autoComplete,
    backends,
    gpus: () => gpus(0),
    instanceKind: undefined,
  };
}

/** Texts that this reader refuses and protobufjs does not. Triton refuses all but the first two. */
const stricter =
  /unknown value -?[\dxXa-fA-F]+ for|2\^53 - 1|(?:key|value) is written twice|expected a number but found -?0\d/;

function checkStricter(error: unknown): void {
  if (!(error instanceof TritonError)) throw error;
  for (const line of error.message.split('\n'))
    assert.match(line, stricter, 'protobufjs reads what is refused');
}

function checkError(error: unknown, lines: number): void {
  // The property's own message is more useful than its stack.
  if (!(error instanceof TritonError)) throw error;
  const parts: unknown[] = error.cause instanceof AggregateError ? error.cause.errors : [error];
  for (const part of [error, ...parts]) {
    assert.ok(part instanceof TritonError);
    const { code, message, location } = part;
    assert.ok(['INVALID_ARG', 'UNSUPPORTED', 'UNAVAILABLE'].includes(code), `${code}: ${message}`);
    assert.ok(location !== undefined, `no location: ${message}`);
    assert.equal(location.file, file);
    assert.ok(location.line >= 0 && location.line <= lines, `line ${location.line} of ${lines}: ${message}`);
    assert.ok(message.startsWith(file), message);
    assert.ok(message.length < 100_000, `a message of ${message.length} characters`);
  }
}
