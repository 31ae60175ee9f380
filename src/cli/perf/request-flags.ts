/** The flags that `perf` and `analyze` share: what requests are made of, and which server of this process gets them. */

import { alone, choice, integer, lettered, number, text, use, useAll, type Flag } from '../flags/flag.js';

/** The version that is measured. */
export const versionFlag: readonly Flag[] = [
  lettered(
    'x',
    use('model-version', integer(1), undefined, 'its version; without it the one that the server chooses'),
  ),
];

/** Parameters of requests. */
export const parameterFlag: readonly Flag[] = [
  useAll(
    'request-parameter',
    'name:value:type',
    'a parameter of each request; the type is bool, int, float or string',
  ),
];

/** A server of this process. */
export const inProcessFlags: readonly Flag[] = [
  use(
    'backend-directory',
    text('folder'),
    undefined,
    'backends in JavaScript, in this process: <name>/model.js',
  ),
  use('instance-kind', choice('cpu'), undefined, 'run KIND_GPU models on the CPU, in this process'),
  use('library', text('file'), undefined, 'an ONNX Runtime library, in this process'),
  useAll(
    'trusted-folder',
    'folder',
    "a folder that models' configurations may name files in, and that links may lead to, in this process",
  ),
  use(
    'outside-links',
    alone,
    undefined,
    'links may lead out of a repository, in this process; docs/security.md',
  ),
];

/** How responses are read. */
export const streamingFlag: readonly Flag[] = [
  use('streaming', alone, undefined, 'read responses as a stream; always so for decoupled models'),
];

/** Sequences of requests. */
export const sequenceFlags: readonly Flag[] = [
  use(
    'sequence-length',
    integer(1),
    undefined,
    'requests of a sequence (default 20, or the steps of the input data)',
  ),
  use(
    'sequence-length-variation',
    number(0, 100, 'percent'),
    '20',
    'how much the length of sequences varies',
  ),
  use(
    'sequence-id-range',
    text('start:end'),
    '1',
    'the correlation ids; after the last one follows the first',
  ),
];

/** Inputs of requests. */
export const dataFlags: readonly Flag[] = [
  lettered('b', use('batch-size', integer(1, 2 ** 20), '1', 'rows of a request')),
  useAll('shape', 'name:d1,d2,…', 'the shape of an input with variable dims, without the batch dimension'),
  useAll(
    'input-data',
    'random|zero|file',
    "'random', 'zero', a JSON file of perf_analyzer's form, or a folder with a binary file for each input; files may be repeated",
  ),
  use('string-length', integer(0, 2 ** 24), '128', 'the length of random strings'),
  use('string-data', text('text'), undefined, 'the text of all strings'),
  use('random-seed', integer(0, 2 ** 32 - 1), '0', 'equal seeds give equal data, lengths and times'),
];
