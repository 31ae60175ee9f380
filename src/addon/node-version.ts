/** The versions of Node that the package supports: one rule and one text, for both `import` and `require`. */

/** The supported versions, as in package.json's `engines`. */
export const supportedNode = '^20.19 || >=22.12';

/** The part of `process.versions` that the check needs. */
export interface RuntimeVersions {
  readonly node: string;
  readonly bun?: string;
  readonly deno?: string;
}

/**
 * Whether the package supports this runtime. Bun and Deno report the version of Node that they resemble, which
 * does not say what they can do. The text of this function is copied into the CommonJS entries, so it must use
 * nothing from outside itself.
 */
export function runsHere(versions: RuntimeVersions): boolean {
  if (versions.bun !== undefined || versions.deno !== undefined) return true;
  const [major = 0, minor = 0] = versions.node.split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19);
}

/** The message for an unsupported version. */
export function neededNode(version: string): string {
  return `tritonts needs Node ${supportedNode}, and this is Node ${version}: install Node 20.19 or a later 20, 22.12 or a later 22, or any from 23 on, and run this with it`;
}
