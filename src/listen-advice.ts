/** Advice for the case that an endpoint cannot listen. */

const taken =
  'another program, or another endpoint of this one, has the port: end it, or take another port (0: any that is free)';
const foreign = "the address is not this machine's: take one of its own, or 0.0.0.0 for all";

/** By the system's error code. */
const advice: ReadonlyMap<string | undefined, string> = new Map([
  ['EADDRINUSE', taken],
  ['EACCES', 'ports below 1024 need a privilege: take a higher one'],
  ['EADDRNOTAVAIL', foreign],
  ['ENOTFOUND', foreign],
  ['EAI_AGAIN', foreign],
]);

/**
 * The end of a message about an endpoint that cannot listen, with advice; empty if there is none for the error.
 */
export function listenAdvice({ code }: NodeJS.ErrnoException): string {
  const words = advice.get(code);
  return words === undefined ? '' : `: ${words}`;
}
