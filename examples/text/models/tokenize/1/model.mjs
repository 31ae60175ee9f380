import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';

/** @typedef {import('tritonts/javascript').ModelRequest} ModelRequest */

/** Lengths are multiples of this: so batches of several threads fit together in the next model. */
const step = 32;

/** Texts to `input_ids` and `attention_mask`, as models that were exported from Hugging Face's library take them. */
export default class Tokenize {
  /** @param {import('tritonts/javascript').ModelContext} context */
  async initialize({ directory }) {
    const read = async (/** @type {string} */ file) =>
      JSON.parse(await readFile(join(directory, file), 'utf8'));
    const settings = await read('tokenizer_config.json');
    this.tokenizer = new Tokenizer(await read('tokenizer.json'), settings);
    this.longest = Number(settings.model_max_length ?? 512);
  }

  /** @param {readonly ModelRequest[]} requests */
  execute(requests) {
    const batch = requests.map(({ inputs }) => inputs.text.strings().map((text) => this.encode(text)));
    // One length for all: so they can go on as one batch.
    const longest = Math.max(...batch.flat().map((ids) => ids.length));
    const length = Math.min(Math.ceil(longest / step) * step, this.longest);
    return batch.map((texts) => {
      const shape = [texts.length, length];
      const ids = new BigInt64Array(texts.length * length);
      const mask = new BigInt64Array(texts.length * length);
      for (const [row, text] of texts.entries()) {
        ids.set(text.map(BigInt), row * length);
        mask.fill(1n, row * length, row * length + text.length);
      }
      return { input_ids: { data: ids, shape }, attention_mask: { data: mask, shape } };
    });
  }

  /**
   * The ids of a text, the last of them [SEP], where it had to be cut, too.
   *
   * @param {string} text
   */
  encode(text) {
    const { ids } = this.tokenizer.encode(text);
    return ids.length <= this.longest ? ids : [...ids.slice(0, this.longest - 1), ...ids.slice(-1)];
  }
}
