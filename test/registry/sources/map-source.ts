/** A source with files in memory, like an object store: slow, with injected failures, and with copies of opened files. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { versionsAmong } from '../../../src/registry/sources/layout.js';
import type {
  ListedModel,
  LocalFiles,
  ModelSource,
  StampedFiles,
} from '../../../src/registry/sources/model-source.js';

/** A function of a source. */
export type Point = 'list' | 'stamp' | 'read' | 'materialise' | 'release';

/** See the head of this file. */
export class MapSource implements ModelSource {
  place = 'map://bucket';
  namespace = '';
  /** Files by path, such as `digits/1/model.onnx`. */
  readonly files: Map<string, string | Uint8Array>;
  /** The calls so far, in order. */
  readonly calls: string[] = [];
  /** The error that each function currently throws. */
  readonly faults: Map<Point, Error> = new Map();
  /** The promise that each function currently waits for, for all models or for one, besides a short delay. */
  readonly waits: Map<Point | `${Point} ${string}`, Promise<unknown>> = new Map();
  /** Folders that were made and not removed, by model. */
  readonly local: Map<string, string> = new Map();
  #changes = 0;

  constructor(files: Readonly<Record<string, string | Uint8Array>>) {
    this.files = new Map(Object.entries(files));
  }

  /** Writes a file, which changes the stamp. */
  write(path: string, content: string | Uint8Array): void {
    this.files.set(path, content);
    this.#changes++;
  }

  async list(): Promise<readonly ListedModel[]> {
    const names = [...new Set([...this.files.keys()].map((path) => path.split('/')[0] ?? ''))];
    await this.#begin('list', '');
    return names.sort().map((name) => ({ name, path: `${this.place}/${name}` }));
  }

  async stamp({ name }: ListedModel): Promise<string> {
    await this.#begin('stamp', name);
    return String(this.#changes);
  }

  async read({ name }: ListedModel): Promise<StampedFiles> {
    const stamp = String(this.#changes);
    await this.#begin('read', name);
    const files = this.#filesOf(name);
    const config = files.get('config.pbtxt');
    const folders = [...files.keys()].flatMap((path) =>
      path.includes('/') ? [path.split('/')[0] ?? ''] : [],
    );
    const versions = versionsAmong([...new Set(folders)]);
    const first = [...files.keys()].filter((path) => path.startsWith(`${versions[0] ?? ''}/`));
    return {
      config:
        config === undefined
          ? undefined
          : { file: `${this.place}/${name}/config.pbtxt`, bytes: Buffer.from(config) },
      versions,
      firstVersionEntries: first.map((path) => ({ name: path.split('/')[1] ?? '', isDirectory: false })),
      stamp,
    };
  }

  async materialise({ name }: ListedModel, versions: readonly number[]): Promise<LocalFiles> {
    await this.#begin('materialise', `${name} ${versions.join(',')}`);
    const directory = await mkdtemp(join(tmpdir(), 'tritonts-map-'));
    for (const [path, content] of this.#filesOf(name)) {
      const [folder = ''] = path.split('/');
      if (path.includes('/') && !versions.includes(Number(folder))) continue;
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), content);
    }
    const key = `${name} ${this.calls.length}`;
    this.local.set(key, directory);
    return {
      directory,
      release: async () => {
        this.calls.push(`release ${key}`);
        const wait = this.waits.get('release');
        await sleep(20);
        await wait;
        await rm(directory, { recursive: true });
        this.local.delete(key);
      },
    };
  }

  #filesOf(name: string): Map<string, string | Uint8Array> {
    return new Map(
      [...this.files].flatMap(([path, content]) =>
        path.startsWith(`${name}/`) ? [[path.slice(name.length + 1), content] as const] : [],
      ),
    );
  }

  async #begin(point: Point, what: string): Promise<void> {
    this.calls.push(`${point} ${what}`.trim());
    const wait = this.waits.get(point) ?? this.waits.get(`${point} ${what}`);
    await sleep(1);
    await wait;
    const fault = this.faults.get(point);
    if (fault) throw fault;
  }
}
