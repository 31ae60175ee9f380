/** Chooses the source of each repository that the options name. */

import type { NativeServer } from '../../addon/native/server.js';
import type { ResolvedOptions } from '../../options.js';
import { FolderSource } from './folder/folder-source.js';
import type { ModelSource } from './model-source.js';

/** In the order of the options. */
export function sourcesOf(
  server: NativeServer,
  { repositories }: Pick<ResolvedOptions, 'repositories'>,
): ModelSource[] {
  return repositories.map((repository) => new FolderSource(server, repository));
}
