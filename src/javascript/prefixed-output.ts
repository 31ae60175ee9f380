/** Puts a name in front of the lines that this thread writes. */

/**
 * Has every line that this thread writes to stdout and stderr begin with `[name] `, so that it can be told
 * who wrote it.
 */
export function prefixOutput(name: string): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream);
    let atStart = true;
    stream.write = (chunk: unknown, ...rest: unknown[]): boolean => {
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk as Uint8Array).toString();
      const begin = atStart ? `[${name}] ` : '';
      atStart = text.endsWith('\n');
      const body = atStart ? text.slice(0, -1) : text;
      const lines = begin + body.replaceAll('\n', `\n[${name}] `) + (atStart ? '\n' : '');
      // The encoding does not matter: it is text now. A callback comes last.
      const done = rest.at(-1);
      return typeof done === 'function' ? write(lines, done as () => void) : write(lines);
    };
  }
}
