/** Bytes in the messages of commands. */

/** How much of a download is done: `12.3 of 98.0 MiB`. */
export function downloadText({ done, total }: { readonly done: number; readonly total: number }): string {
  const inMiB = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
  return `${inMiB(done)} of ${inMiB(total)} MiB`;
}
