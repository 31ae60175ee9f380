/**
 * Configurations that differ in the model's name alone are worked out once. Repositories of many models often hold one
 * for each customer, shop or device, and to work a configuration out takes half as long as to open a small model.
 */

import type { BackendDefaults } from './complete.js';
import type { ModelDescription } from './description.js';
import {
  finishConfig,
  prepareConfig,
  renameConfig,
  type ConfigContext,
  type FinishedConfig,
  type PreparedConfig,
} from './prepare.js';
import type { ParsedConfig } from './read.js';
import type { WrittenConfig } from './text-source.js';

/** What models alike have in common. */
interface Kind {
  /** Of the first of them. */
  readonly prepared: PreparedConfig;
  /** What became of it, by the model's inputs and outputs. */
  readonly finished: Map<string, FinishedConfig>;
}

/**
 * See the head of this file. One object is for the models of one server: their contexts and backends differ in what the
 * model's folder says and in nothing else. It remembers every kind of model whose configuration is right.
 */
export class AlikeConfigs {
  readonly #kinds: Map<string, Kind> = new Map();
  readonly #kindOf: WeakMap<PreparedConfig, Kind> = new WeakMap();
  readonly #likenessOf: typeof likenessOf =
    process.env['TRITONTS_ALIKE'] === '0' ? () => undefined : likenessOf;

  /**
   * What {@link prepareConfig} would return, if an earlier model was alike.
   *
   * @param written - Undefined: the model has no `config.pbtxt`.
   */
  find(written: WrittenConfig | undefined, context: ConfigContext): PreparedConfig | undefined {
    const likeness = this.#likenessOf(written, context);
    const kind = likeness && this.#kinds.get(likeness.key);
    if (!kind) return undefined;
    const prepared = renameConfig(kind.prepared, written, context);
    this.#kindOf.set(prepared, kind);
    return prepared;
  }

  /**
   * Does what {@link prepareConfig} does, and remembers it.
   *
   * @param parsed - What `written` says.
   */
  prepare(
    written: WrittenConfig | undefined,
    parsed: ParsedConfig | undefined,
    context: ConfigContext,
  ): PreparedConfig {
    const prepared = prepareConfig(parsed, context);
    const likeness = this.#likenessOf(written, context);
    // A name that is written in another way than the usual one is the same for all that are alike.
    if (likeness && (likeness.named || parsed?.value.name === undefined)) {
      const kind: Kind = { prepared, finished: new Map() };
      this.#kinds.set(likeness.key, kind);
      this.#kindOf.set(prepared, kind);
    }
    return prepared;
  }

  /**
   * Does what {@link finishConfig} does.
   *
   * @param prepared - From {@link find} or {@link prepare}, or `prepareConfig`.
   */
  finish(
    prepared: PreparedConfig,
    description: ModelDescription | undefined,
    defaults: BackendDefaults,
  ): FinishedConfig {
    const kind = this.#kindOf.get(prepared);
    if (!kind) return finishConfig(prepared, description, defaults);
    const key = JSON.stringify(description ?? null);
    const known = kind.finished.get(key);
    if (!known) {
      const finished = finishConfig(prepared, description, defaults);
      kind.finished.set(key, finished);
      return finished;
    }
    const { name, instance_group } = prepared.config;
    return { config: Object.freeze({ ...known.config, name, instance_group }), notes: known.notes };
  }
}

/** What precedes a name that is the first thing in a file, but for comments. */
const beforeName = /^(?:\s|#[^\n]*\n)*name\s*:\s*$/;

/**
 * What the folders of models alike have in common, and others' have not, and whether it begins with their names; undefined
 * where no model is alike.
 */
function likenessOf(
  written: WrittenConfig | undefined,
  { modelName, firstVersionEntries }: ConfigContext,
): { readonly key: string; readonly named: boolean } | undefined {
  // What such a name means, or how it is written, is not the same for others: `model.python` names a backend.
  if (!/^[\w-]+$/.test(modelName)) return undefined;
  const parts = written?.text.split(`"${modelName}"`) ?? [];
  const named = parts.length > 1;
  if (named && (parts.length > 2 || !beforeName.test(parts[0] ?? ''))) return undefined;
  return { key: JSON.stringify([parts, firstVersionEntries]), named };
}
