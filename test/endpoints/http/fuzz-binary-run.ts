/**
 * Makes requests with binary tensors of every datatype, and wrong statements about them: sizes, shapes, lengths of
 * strings, the size of the JSON, missing or surplus bytes. A correct request is read as written. A wrong one is
 * refused with a TritonError, unless it happens to be consistent: then every byte of the body belongs to one input.
 */

import { isDeepStrictEqual } from 'node:util';
import { TritonError } from '../../../src/index.js';
import { ClientRegions } from '../../../src/endpoints/service/client-regions.js';
import { readInferRequest } from '../../../src/endpoints/http/infer-request.js';
import { wireOf } from '../../../src/tensor/bytes-tensor.js';
import { datatypeSize, type Datatype } from '../../../src/tensor/datatype.js';
import { Dice } from '../../requests/dice.js';

/** No server's. */
const regions = new ClientRegions({}, false);

/** The outcome of a run. */
export interface BinaryFuzzReport {
  readonly executions: number;
  /** Correct requests, all of which were read. */
  readonly honest: number;
  /** Wrong requests, by outcome. */
  readonly refused: number;
  readonly read: number;
}

interface Input {
  readonly name: string;
  datatype: string;
  shape: number[];
  size: number;
  bytes: Buffer;
}

const datatypes = Object.keys(datatypeSize) as Datatype[]; // The keys of that table.

function elements(dice: Dice, datatype: Datatype, count: number): Buffer {
  if (datatype !== 'BYTES') {
    const bytes = Buffer.alloc(count * datatypeSize[datatype]);
    for (let i = 0; i < bytes.length; i++) bytes[i] = datatype === 'BOOL' ? dice.below(2) : dice.below(256);
    return bytes;
  }
  return Buffer.concat(
    Array.from({ length: count }, () => {
      const text = Buffer.alloc(4 + dice.below(5), dice.below(256));
      text.writeUInt32LE(text.length - 4, 0);
      return text;
    }),
  );
}

function honestInput(dice: Dice, name: string): Input {
  const datatype = datatypes[dice.below(datatypes.length)] ?? 'FP32';
  const shape = Array.from({ length: 1 + dice.below(3) }, () => dice.below(4));
  const bytes = elements(
    dice,
    datatype,
    shape.reduce((product, dim) => product * dim, 1),
  );
  return { name, datatype, shape, size: bytes.length, bytes };
}

const oddSizes = [-1, 0, 1, 2, 3, 7, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 2 ** 53, 1e300, 0.5];

/** Makes a wrong statement about an input. */
function lie(dice: Dice, input: Input): void {
  const kind = dice.below(6);
  const odd = oddSizes[dice.below(oddSizes.length)] ?? 1;
  if (kind === 0) input.size += 1 + dice.below(9);
  else if (kind === 1) input.size = odd;
  else if (kind === 2) input.shape[dice.below(input.shape.length)] = odd;
  else if (kind === 3) input.shape.push(2 + dice.below(2));
  else if (kind === 4)
    input.datatype = ['FP33', '', '__proto__', 'BYTES', 'FP64', 'BOOL'][dice.below(6)] ?? '';
  else if (input.bytes.length > 0) input.bytes[dice.below(Math.min(5, input.bytes.length))] = dice.below(256);
}

function bytesOf(tensor: unknown): Buffer {
  const wire = wireOf(tensor as object); // All tensors of a body are objects.
  if (wire !== undefined) return Buffer.from(wire);
  const { data } = tensor as { readonly data: ArrayBufferView };
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * Runs until `isOver` says so.
 *
 * @throws Error with the failing body in base64.
 */
export function fuzzBinary(seed: number, isOver: (executions: number) => boolean): BinaryFuzzReport {
  const dice = new Dice(seed);
  let executions = 0;
  let honest = 0;
  let refused = 0;
  let read = 0;
  while (!isOver(executions)) {
    const inputs = Array.from({ length: 1 + dice.below(4) }, (_, i) => honestInput(dice, `x${i}`));
    const isHonest = dice.below(4) === 0;
    const where = dice.below(4);
    if (!isHonest && where < 2) {
      const victim = inputs[dice.below(inputs.length)];
      if (victim !== undefined) lie(dice, victim);
    }
    const described = inputs.map(({ name, datatype, shape, size }) => ({
      name,
      datatype,
      shape,
      parameters: { binary_data_size: size },
    }));
    const json = Buffer.from(JSON.stringify({ inputs: described }));
    let body = Buffer.concat([json, ...inputs.map(({ bytes }) => bytes)]);
    let jsonSize = json.length;
    if (!isHonest && where === 2) jsonSize = Math.min(body.length, jsonSize + dice.below(4) - 1);
    if (!isHonest && where === 3)
      body =
        dice.below(2) === 0
          ? body.subarray(0, jsonSize + dice.below(body.length - jsonSize + 1))
          : Buffer.concat([body, Buffer.alloc(1 + dice.below(9))]);
    try {
      const given = readInferRequest(body, jsonSize, regions).inputs as Readonly<Record<string, unknown>>;
      const got = inputs.map(({ name }) => bytesOf(given[name]));
      if (isHonest) {
        honest++;
        if (
          !isDeepStrictEqual(
            got,
            inputs.map(({ bytes }) => bytes),
          )
        )
          throw new Error('other bytes were read');
      } else {
        read++;
        if (!Buffer.concat(got).equals(body.subarray(jsonSize))) throw new Error('bytes belong to no input');
      }
    } catch (cause) {
      if (cause instanceof TritonError && !isHonest) refused++;
      else {
        const why = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
        throw new Error(`JSON of ${jsonSize} bytes in ${body.toString('base64')}: ${why}`, { cause });
      }
    }
    executions++;
  }
  return { executions, honest, refused, read };
}
