import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import * as layout from '../../src/addon/layout.js';
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
    recordTimings: 'Timings',
    finalBit: 'FinalBit',
    limitedBit: 'LimitedBit',
    ranBit: 'RanBit',
    unservedBit: 'UnservedBit',
  } satisfies Partial<Record<keyof typeof layout, string>>;

  for (const [name, native] of Object.entries(pairs) as [keyof typeof pairs, string][]) {
    test(`${name} equals k${native}`, () => {
      assert.equal(layout[name], constantOf(text, native));
    });
  }

  test('no word of it is left out here', () => {
    const known = new Set(Object.keys(pairs));
    const rest = Object.keys(layout).filter((name) => !known.has(name));
    // How requests are cut into ranges is decided in TypeScript alone.
    assert.deepEqual(rest, ['slabMostBytes', 'slabRangeBytes', 'slabUnit']);
  });

  test('a range of a slab never crosses it', () => {
    assert.equal(layout.slabBytes % layout.slabRangeBytes, 0);
  });
});
