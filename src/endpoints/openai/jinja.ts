/** The part of @huggingface/jinja that is used here. Its own types cannot be read by TypeScript's Node resolution. */

import { createRequire } from 'node:module';

/** A template. */
export interface Template {
  /** @throws {Error} For an error of the template, also one that it raises by itself. */
  render(context: Record<string, unknown>): string;
}

// The package exports this class.
const jinja = createRequire(import.meta.url)('@huggingface/jinja') as {
  readonly Template: new (text: string) => Template;
};

/**
 * Parses a template.
 *
 * @throws {Error} For a text that is not Jinja.
 */
export function parseTemplate(text: string): Template {
  return new jinja.Template(text);
}
