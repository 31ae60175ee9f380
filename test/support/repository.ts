/** Model repositories in temporary folders. */
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Files by path, relative to the folder they go into. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** One model of a repository. */
export interface RepositoryModel {
  /** Text of config.pbtxt; none is written where this is absent. */
  readonly config?: string;
  /** Versions by number: the bytes of `model.onnx`, or every file of the version's folder. */
  readonly versions?: Readonly<Record<string, Uint8Array | Files>>;
  /** Further files in the model's folder, such as labels. */
  readonly files?: Files;
}

/** The part of a test's or suite's context that releases things at its end. */
export interface Context {
  after(release: () => Promise<void>): void;
}

/** Creates an empty folder. It is removed after the test, with its content. */
export async function temporaryFolder(context: Context): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-'));
  const recursive = { recursive: true, force: true };
  context.after(async () => {
    try {
      await rm(folder, recursive);
    } catch (error) {
      // A server that the test made later closes later, and Windows removes no file that is in use.
      if (process.platform !== 'win32') throw error;
      process.once('exit', () => {
        rmSync(folder, recursive);
      });
    }
  });
  return folder;
}

/**
 * Writes models into `folder` in Triton's layout; models that are there already keep their other files.
 * @returns `folder`.
 * @example
 * const path = await writeRepository(await temporaryFolder(t), {
 *   add: { config: 'backend: "onnxruntime" …', versions: { '1': addModel() } },
 * });
 */
export async function writeRepository(
  folder: string,
  models: Readonly<Record<string, RepositoryModel>>,
): Promise<string> {
  for (const [name, model] of Object.entries(models)) {
    const modelFolder = join(folder, name);
    await mkdir(modelFolder, { recursive: true });
    if (model.config !== undefined) await writeFile(join(modelFolder, 'config.pbtxt'), model.config);
    await writeFiles(modelFolder, model.files ?? {});
    for (const [version, content] of Object.entries(model.versions ?? {})) {
      const versionFolder = join(modelFolder, version);
      await mkdir(versionFolder, { recursive: true });
      await writeFiles(versionFolder, content instanceof Uint8Array ? { 'model.onnx': content } : content);
    }
  }
  return folder;
}

async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
}
