/** The versions of Node that the package runs on: one rule and one text, for `import` and for `require`. */

/** These versions; package.json's `engines` says the same. */
export const supportedNode = '^20.19 || >=22.12';

/** What of `process.versions` says whether the package runs here. */
export interface RuntimeVersions {
  readonly node: string;
  readonly bun?: string;
  readonly deno?: string;
}

/**
 * Whether the package runs here. Bun and Deno name the version of Node that they resemble, which says nothing about what they
 * can do. The CommonJS entries contain the text of this function, so it uses nothing from outside of itself.
 */
export function runsHere(versions: RuntimeVersions): boolean {
  if (versions.bun !== undefined || versions.deno !== undefined) return true;
  const [major = 0, minor = 0] = versions.node.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19);
}

/** What is said where it does not run. */
export function neededNode(version: string): string {
  return `tritonts needs Node ${supportedNode}, and this is Node ${version}: install Node 20.19 or a later 20, 22.12 or a later 22, or any from 23 on, and run this with it`;
}
