/** Prefixes the lines that this thread writes. */

/**
 * Prefixes every line that this thread writes to stdout and stderr with `[name] `, so that readers know its source.
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
      // The chunk is a string now, so the encoding argument is dropped. A callback is the last argument.
      const done = rest.at(-1);
      return typeof done === 'function' ? write(lines, done as () => void) : write(lines);
    };
  }
}
