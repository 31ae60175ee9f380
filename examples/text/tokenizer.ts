/** The tokenizer of the model `tokenize`, outside of the model. */
import { readFileSync } from 'node:fs';
import { optionalPackage } from '../../test/support/optional.js';
import { modelRepository } from './folder.js';

/** Turns texts into ids. */
export interface Tokenizer {
  encode(text: string): { readonly ids: number[] };
}

/** The part of `@huggingface/tokenizers` that is used here. */
export interface TokenizersPackage {
  readonly Tokenizer: new (tokenizer: object, settings: object) => Tokenizer;
}

/** The package; undefined where it is not installed. */
export async function tokenizersPackage(): Promise<TokenizersPackage | undefined> {
  // The interface says what the package's documentation does.
  return (await optionalPackage('@huggingface/tokenizers')) as TokenizersPackage | undefined;
}

/** The tokenizer with the files of the model. */
export function readTokenizer({ Tokenizer }: TokenizersPackage): Tokenizer {
  const read = (file: string): object =>
    JSON.parse(readFileSync(new URL(`tokenize/1/${file}`, modelRepository), 'utf8')) as object;
  return new Tokenizer(read('tokenizer.json'), read('tokenizer_config.json'));
}
