/** Where the links of a repository may lead. The author of a model must not make the server read other files of the machine. */

import type { NativeFolder } from '../../../addon/native/folder.js';
import { TritonError } from '../../../errors.js';
import type { ListedModel } from '../model-source.js';

/** The options that decide it. */
export interface LinkOptions {
  /** Whether links may lead anywhere. */
  readonly outsideLinks: boolean;
  /** Folders besides the repository in which links may end. */
  readonly trustedFolders: readonly string[];
}

/** See the head of this file. A repository has one. */
export class LinkRoots {
  /** The folders in which links must end; empty: they may end anywhere. */
  readonly folders: readonly string[];
  /** The stamps of models with links, by their folders: a poll resolves links again only when the stamp has changed. */
  readonly #checked: Map<string, string> = new Map();
  readonly #repository: string;

  constructor(repository: string, { outsideLinks, trustedFolders }: LinkOptions) {
    this.#repository = repository;
    this.folders = outsideLinks ? [] : [repository, ...trustedFolders];
  }

  /** The stamp with which the links of a model were found to end in these folders; empty: none. */
  checkedStamp({ path }: ListedModel): string {
    return this.#checked.get(path) ?? '';
  }

  /** The links of a model end in these folders. */
  noteChecked({ path }: ListedModel, stamp: string): void {
    // A folder without links has nothing to check.
    if (this.folders.length > 0 && stamp.includes(' link ')) this.#checked.set(path, stamp);
    else this.#checked.delete(path);
  }

  /** Forgets the models that are not listed any more. */
  keep(models: readonly ListedModel[]): void {
    if (this.#checked.size === 0) return;
    const paths = new Set(models.map(({ path }) => path));
    for (const path of this.#checked.keys()) if (!paths.has(path)) this.#checked.delete(path);
  }

  /** The error for a link that leads elsewhere. */
  outsideError(
    { name, path: folder }: ListedModel,
    { path, target }: NonNullable<NativeFolder['outsideLink']>,
  ): TritonError {
    const link = path === '' ? `its folder '${folder}'` : `'${path}'`;
    return new TritonError(
      'INVALID_ARG',
      `model '${name}': ${link} is a link to '${target}', outside of the model repository '${this.#repository}': ` +
        'set outsideLinks: true (--outside-links) if links may leave the repository, as those of a Hugging Face cache do, ' +
        'or name the folder of the target in trustedFolders (--trusted-folder)',
      { model: name },
    );
  }
}

/** For a folder that the program's own code has chosen. */
export const anywhere: LinkOptions = { outsideLinks: true, trustedFolders: [] };
