/** What helps where an endpoint cannot listen. */

const taken =
  'another program, or another endpoint of this one, has the port: end it, or take another port (0: any that is free)';
const foreign = "the address is not this machine's: take one of its own, or 0.0.0.0 for all";

/** By the system's code. */
const advice: ReadonlyMap<string | undefined, string> = new Map([
  ['EADDRINUSE', taken],
  ['EACCES', 'ports below 1024 need a privilege: take a higher one'],
  ['EADDRNOTAVAIL', foreign],
  ['ENOTFOUND', foreign],
  ['EAI_AGAIN', foreign],
]);

/** What helps where a port cannot be had, as the end of a message; empty if that is not known. */
export function listenAdvice({ code }: NodeJS.ErrnoException): string {
  const words = advice.get(code);
  return words === undefined ? '' : `: ${words}`;
}
