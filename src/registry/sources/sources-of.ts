/** Chooses the source of each repository that the options name, or that the program registers later. */

import type { NativeServer } from '../../addon/native/server.js';
import type { ResolvedOptions } from '../../options.js';
import { FolderSource } from './folder/folder-source.js';
import type { ModelSource } from './model-source.js';
import { RepositorySource, type RepositoryNames } from './repository-source.js';
import { isStoreAddress, readStorePlace } from './store/store-place.js';
import { StoreSource } from './store/store-source.js';

/** What sources need of the options. */
export type SourceOptions = Pick<
  ResolvedOptions,
  'repositoryCacheDirectory' | 'repositoryCacheBytes' | 'log' | 'outsideLinks' | 'trustedFolders'
>;

/** In the order of the options. */
export function sourcesOf(
  server: NativeServer,
  options: SourceOptions & Pick<ResolvedOptions, 'repositories' | 'namespaces'>,
): ModelSource[] {
  const { repositories, namespaces } = options;
  return repositories.map((repository) =>
    sourceOf(server, options, repository, { namespace: namespaces?.get(repository) }),
  );
}

/**
 * The source of one repository.
 *
 * @param names - Its namespace, and the names of models that are not those of their folders.
 */
export function sourceOf(
  server: NativeServer,
  options: SourceOptions,
  repository: string,
  names: RepositoryNames,
): ModelSource {
  const source = isStoreAddress(repository)
    ? new StoreSource(readStorePlace(repository, 'options.modelRepository'), options)
    : new FolderSource(server, repository, options);
  const isPlain = names.namespace === undefined && !names.models?.size;
  return isPlain ? source : new RepositorySource(source, names);
}
