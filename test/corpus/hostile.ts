/** Configurations that try to take all time and memory. */

const mebi = 1024 * 1024;

/** A hostile file. */
export interface Hostile {
  readonly what: string;
  /** Makes the pieces of the file, one after another. */
  readonly pieces: () => Iterable<string>;
  /** Part of the message about it. */
  readonly text: string;
  /** The most processor time, in seconds, that reading it may take; default 1. */
  readonly seconds?: number;
}

function* repeated(piece: string, times: number): Iterable<string> {
  for (let i = 0; i < times; i++) yield piece;
}

function once(text: () => string): () => Iterable<string> {
  return () => [text()];
}

/** A file just below the size limit, so that all of it is read. */
function filled(head: string, piece: string, tail = ''): () => Iterable<string> {
  return once(
    () => head + piece.repeat(Math.floor((mebi - head.length - tail.length) / piece.length)) + tail,
  );
}

/** Each is refused as INVALID_ARG. */
export const hostile: readonly Hostile[] = [
  {
    what: '50 MB of blanks',
    pieces: () => repeated(' '.repeat(1_000_000), 50),
    text: 'the size limit of a configuration is 1048576',
  },
  {
    what: 'a million nested braces',
    pieces: () => repeated('input {'.repeat(1000), 1000),
    text: 'the size limit of a configuration is 1048576',
  },
  {
    what: 'a million braces',
    pieces: once(() => '{'.repeat(1_000_000)),
    text: 'expected the name of a field',
  },
  { what: 'braces as deep as the size allows', pieces: filled('', 'a{'), text: 'unknown field a' },
  {
    what: 'brackets as deep as the size allows',
    pieces: filled('input ', '['),
    text: 'expected a value for input',
  },
  {
    what: 'known blocks as deep as the size allows',
    pieces: filled('', 'input{'),
    text: 'unknown field input',
  },
  { what: 'blanks up to the limit, then a fault', pieces: filled('', ' ', '}'), text: 'found }' },
  { what: 'lines up to the limit, then a fault', pieces: filled('', '\n', '}'), text: 'found }' },
  { what: 'comments up to the limit, then a fault', pieces: filled('', '#\n', '}'), text: 'found }' },
  { what: 'a name as long as the file', pieces: filled('', 'n', ': 1'), text: 'unknown field nnn' },
  { what: 'a string as long as the file', pieces: filled('nam: "', 's', '"'), text: 'did you mean name?' },
  { what: 'a string without its end', pieces: filled('name: "', 's'), text: 'is not closed on its line' },
  { what: 'strings side by side', pieces: filled('nam: ', '"" '), text: 'did you mean name?' },
  { what: 'escapes side by side', pieces: filled('name: "', '\\377', '"'), text: 'expected UTF-8' },
  {
    what: 'an integer as long as the file',
    pieces: filled('max_batch_size: ', '9'),
    text: 'expected an integer',
  },
  {
    what: 'an octal integer as long as the file',
    pieces: filled('max_batch_size: 0', '7'),
    text: 'expected an integer',
  },
  {
    what: 'half a million dims',
    pieces: filled('input { dims: [ ', '1,', '1, ] }'),
    text: 'a comma before ]',
    seconds: 2,
  },
  {
    what: 'half a million good dims',
    pieces: filled('input { name: "x" data_type: TYPE_FP32 dims: [ ', '1,', '1 ] }'),
    text: 'expected at most 1024 dims but found 5242',
    seconds: 2,
  },
  {
    what: 'half a million preferred sizes',
    pieces: filled('max_batch_size: 4 dynamic_batching { preferred_batch_size: [ ', '8,', '8 ] }'),
    text: 'expected 1 to max_batch_size, which is 4, but found 8',
  },
  {
    what: 'half a million GPUs',
    pieces: filled('instance_group { kind: KIND_CPU gpus: [ ', '0,', '0 ] }'),
    text: 'must not list GPUs',
  },
  {
    what: 'two thousand million instances',
    pieces: once(() => 'instance_group { count: 2000000000 }'),
    text: 'expected at most 1024 instances',
  },
  {
    what: 'a million instances in small groups',
    pieces: filled('', 'instance_group{count:100}\n'),
    text: 'expected at most 1024 instances',
  },
  { what: 'a hundred thousand inputs', pieces: filled('', 'input{}\n', '}'), text: 'found }' },
  { what: 'a hundred thousand unknown fields', pieces: filled('', 'inptu:1\n'), text: 'did you mean input?' },
  {
    what: 'a hundred thousand values that are too large',
    pieces: filled('input { dims: [ ', '9223372036854775807, ', '1 ] }'),
    text: '… and many more',
    seconds: 2,
  },
  {
    what: 'a batch size written a hundred thousand times',
    pieces: filled('', 'max_batch_size:1\n'),
    text: 'written twice',
  },
  { what: 'minus signs', pieces: filled('max_batch_size: ', '-'), text: 'expected an integer' },
  { what: 'colons', pieces: filled('name', ':'), text: 'expected a value for name' },
];
