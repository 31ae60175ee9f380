/** Whether a path leaves its starting folder, even temporarily. */
export function leadsOut(path: string): boolean {
  if (!path.includes('..')) return false;
  let depth = 0;
  for (const part of path.split(/[/\\]/)) {
    if (part === '..') depth--;
    else if (part !== '' && part !== '.') depth++;
    if (depth < 0) return true;
  }
  return false;
}
