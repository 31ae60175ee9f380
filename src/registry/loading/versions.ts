/** Chooses the versions of a model that are served. */

import { fieldError, type ConfigSource, type ModelConfig } from '../../config/index.js';
import { TritonError } from '../../errors.js';

/**
 * The existing versions that the config's `version_policy` chooses, ascending.
 *
 * The policy is `latest` (the default, with 1 version), `all`, or `specific`, which ignores missing ones. An
 * empty policy means all.
 *
 * @throws {@link TritonError} INVALID_ARG if no version is left.
 */
export function chooseVersions(
  config: ModelConfig,
  source: ConfigSource,
  existing: readonly number[],
): number[] {
  const policy = config.version_policy;
  const sorted = [...existing].sort((a, b) => a - b);
  let chosen = sorted;
  let said = 'all';
  if (!policy || policy.latest) {
    const count = policy?.latest?.num_versions ?? 1;
    chosen = count === 0 ? [] : sorted.slice(-count);
    said = `latest { num_versions: ${count} }`;
  } else if (policy.specific) {
    const { versions } = policy.specific;
    const listed = new Set(versions);
    chosen = sorted.filter((version) => listed.has(version));
    said = `specific { versions: [${versions.join(', ')}] }`;
  }
  if (chosen.length === 0) {
    const { name } = config;
    const missing = `at least one version must be available under the version policy ${said}, but`;
    if (sorted.length > 0) {
      const text = `${missing} there are only versions ${sorted.join(', ')}`;
      throw fieldError('INVALID_ARG', source, 'version_policy', text, { model: name });
    }
    throw new TritonError(
      'INVALID_ARG',
      `model '${name}': ${missing} there is no version folder ` +
        `(a version is a folder with a number as its name, such as ${name}/1)`,
      { model: name },
    );
  }
  return chosen;
}
