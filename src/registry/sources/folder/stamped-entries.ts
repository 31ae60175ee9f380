/** Reads the stamp of a model's folder, which native/engine/server/model_folder.cc writes. */

import { givingWay } from '../../give-way.js';
import type { StampedEntry } from '../model-source.js';

/** What Python writes beside the modules that it imports. It says nothing about the model. */
const written = '__pycache__';

/** The entries of a stamp by path. What Python writes when it loads a model is left out. */
export async function entriesOf(stamp: string): Promise<StampedEntry[]> {
  const step = givingWay();
  // The first text is that of the folder itself, which changes with the names in it.
  const texts = stamp.split('\0').slice(1);
  const entries: StampedEntry[] = [];
  const above: string[] = [];
  for (let at = 0; at + 1 < texts.length; at += 2) {
    const turn = step();
    if (turn) await turn;
    const [, slashes = '', name = ''] = /^(\/*)(.*)$/s.exec(texts[at] ?? '') ?? [];
    const text = texts[at + 1] ?? '';
    above.length = slashes.length;
    above.push(name);
    if (above.includes(written)) continue;
    const [kind = ''] = text.split(' ', 1);
    const isFile = kind.startsWith('f');
    const target = kind === 'd' ? targetOf(text) : undefined;
    entries.push({
      path: above.join('/'),
      size: isFile ? Number(kind.slice(1)) : undefined,
      // The times of a folder change with the names in it, too, and those are here.
      stamp: isFile ? text : kind,
      ...(target !== undefined && { target }),
      ...(text.startsWith('- link ') && { isLost: true }),
    });
  }
  return entries;
}

/** The device and the number of the folder to which a link leads; undefined without a link. */
function targetOf(text: string): string | undefined {
  return /^d (\d+ \d+) .* link /.exec(text)?.[1];
}
