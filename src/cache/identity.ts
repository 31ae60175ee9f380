/**
 * What stands for the content of a model's version in the keys of a response cache outside of the process: a restarted
 * server, and another one with the same files, finds the answers again.
 */

import { createHash, type Hash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NativeBytes } from '../addon/native/folder.js';

/** The content of a version. */
export interface VersionContent {
  readonly namespace: string;
  readonly model: string;
  readonly version: number;
  /** The complete configuration, as text. */
  readonly config: string;
  /** The version's folder or only file, and what lies beside the folders of versions. What does not exist has no content. */
  readonly paths: readonly string[];
  /** Its files in memory, by path, and those that versions share; undefined: they are in `paths`. */
  readonly files: Readonly<Record<string, NativeBytes>> | undefined;
  /** The settings of its backend. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** The code of the model or its backend: a file, or the text of a value of the program ({@link sourceText}). */
  readonly code: readonly ({ readonly url: string } | { readonly text: string })[];
}

/** Changes when stored answers of earlier releases must not be used. */
const form = 'tritonts 3';

/**
 * The identity of a version: its namespace, name, number, and a digest of its configuration, its files, those that versions share,
 * its code and the settings of its backend.
 *
 * @throws The error of the file system if a file cannot be read.
 */
export async function versionIdentity(content: VersionContent): Promise<string> {
  const hash = createHash('sha256').update(form);
  const folders: Folders = new Map();
  add(hash, 'config', content.config);
  for (const [key, value] of Object.entries(content.settings).sort(([a], [b]) => (a < b ? -1 : 1)))
    add(hash, `setting ${key}`, `${typeof value} ${String(value)}`);
  if (content.files) {
    for (const path of Object.keys(content.files).sort())
      add(hash, path, content.files[path]?.copy() ?? new Uint8Array());
  } else {
    for (const path of content.paths) await addPath(hash, basename(path), path, folders);
  }
  for (const code of content.code) {
    if ('url' in code) await addPath(hash, 'code', fileURLToPath(code.url), folders);
    else add(hash, 'code', code.text);
  }
  return named(content, hash);
}

/** The identity of an ensemble whose steps' versions have these identities. */
export function ensembleIdentity(
  content: Pick<VersionContent, 'namespace' | 'model' | 'version' | 'config'>,
  steps: readonly string[],
): string {
  const hash = createHash('sha256').update(form);
  add(hash, 'config', content.config);
  for (const step of steps) add(hash, 'step', step);
  return named(content, hash);
}

function named(
  { namespace, model, version }: Pick<VersionContent, 'namespace' | 'model' | 'version'>,
  hash: Hash,
): string {
  // 128 bits of the digest tell versions apart as well as all 256 do.
  return `${namespace}/${model}/${version}/${hash.digest('hex').slice(0, 32)}`;
}

/** Each part has its length in front, so that two different contents never have the same bytes. */
function add(hash: Hash, name: string, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  hash.update(`${JSON.stringify(name)} ${bytes.byteLength} `).update(bytes);
}

/** Numbers of the folders that were entered. Links may form circles, and several may lead to one folder. */
type Folders = Map<string, number>;

/** The names in a folder, sorted; the number of it if it was entered already. */
async function enter(path: string, folders: Folders): Promise<readonly string[] | number> {
  const real = await realpath(path);
  const known = folders.get(real);
  if (known !== undefined) return known;
  folders.set(real, folders.size);
  // What Python writes beside the modules that it imports says nothing about the model.
  return (await readdir(path)).filter((name) => name !== '__pycache__').sort();
}

/** Changes when a file of these folders, or one of these files, is written or replaced. */
export async function filesStamp(paths: readonly string[]): Promise<string> {
  const folders: Folders = new Map();
  const parts: string[] = [];
  for (const path of paths) parts.push(`${JSON.stringify(path)} (${await pathStamp(path, folders)})`);
  return parts.join(', ');
}

async function pathStamp(path: string, folders: Folders): Promise<string> {
  const found = await statOf(path);
  if (found === undefined) return 'none';
  if (!found.isDirectory()) return `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
  const names = await enter(path, folders);
  if (typeof names === 'number') return `folder ${names}`;
  const parts: string[] = [];
  for (const name of names)
    parts.push(`${JSON.stringify(name)} (${await pathStamp(join(path, name), folders)})`);
  return parts.join(', ');
}

/** Undefined for what does not exist: a model of the program has no folder. */
async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function addPath(hash: Hash, name: string, path: string, folders: Folders): Promise<void> {
  const found = await statOf(path);
  if (found?.isDirectory() === true) {
    const names = await enter(path, folders);
    if (typeof names === 'number') add(hash, name, `folder ${names}`);
    else for (const entry of names) await addPath(hash, `${name}/${entry}`, join(path, entry), folders);
  } else if (found?.isFile() === true) {
    hash.update(`${JSON.stringify(name)} ${found.size} `);
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }))
      hash.update(chunk as Uint8Array);
  }
}
