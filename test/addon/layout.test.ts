import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import * as layout from '../../src/addon/layout.js';
import { maxTensorBytes } from '../../src/tensor/max-bytes.js';
import { constantOf, header } from './native-headers.js';

void suite('the layout is that of native/engine/port/port_layout.h', () => {
  let text = '';
  before(async () => {
    text = await header('port/port_layout.h');
  });

  const pairs = {
    slabBytes: 'SlabBytes',
    submissionWords: 'SubmissionWords',
    pageBytes: 'PageBytes',
    headerEpoch: 'Epoch',
    headerClosed: 'Closed',
    headerPages: 'Pages',
    sourceSlab: 'Slab',
    sourceBlock: 'Block',
    sourceRegion: 'Region',
    outputInRegion: 'InRegion',
    recordTimings: 'Timings',
    finalBit: 'FinalBit',
    limitedBit: 'LimitedBit',
    ranBit: 'RanBit',
    unservedBit: 'UnservedBit',
    countedBit: 'CountedBit',
    emptyBit: 'EmptyBit',
    parametersBit: 'ParametersBit',
    parameterString: 'StringParameter',
    parameterInteger: 'IntegerParameter',
    parameterDouble: 'DoubleParameter',
    parameterFlag: 'FlagParameter',
    parameterCaller: 'CallerParameter',
    parameterTrace: 'TraceParameter',
    markedBit: 'MarkedBit',
    sequenceStart: 'SequenceStart',
    sequenceEnd: 'SequenceEnd',
  } satisfies Partial<Record<keyof typeof layout, string>>;

  for (const [name, native] of Object.entries(pairs) as [keyof typeof pairs, string][]) {
    test(`${name} equals k${native}`, () => {
      assert.equal(layout[name], constantOf(text, native));
    });
  }

  test('no word of it is left out here', () => {
    const known = new Set(Object.keys(pairs));
    const rest = Object.keys(layout).filter((name) => !known.has(name));
    // Only TypeScript decides how requests are cut into ranges.
    assert.deepEqual(rest, ['guessedCaller', 'slabMostBytes', 'slabRangeBytes', 'slabUnit', 'streamedBytes']);
  });

  test('a response counts as the engine counts it', async () => {
    const counts = await header('request/stream_count.h');
    assert.equal(layout.streamedBytes, constantOf(counts, 'ResponseBytes'));
  });

  test("a guess of who calls is the engine's", async () => {
    assert.equal(layout.guessedCaller, constantOf(await header('request/call_graph.h'), 'Guess'));
  });

  test('a tensor may be as large as in the engine', async () => {
    assert.equal(maxTensorBytes, constantOf(await header('base/datatype.h'), 'MostTensorBytes'));
  });

  test('a range of a slab never crosses it', () => {
    assert.equal(layout.slabBytes % layout.slabRangeBytes, 0);
  });
});
