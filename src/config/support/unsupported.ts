/** Looks up a configuration's fields in the class table, and finds the fields that are refused or noted. */

import { emptyList, emptyMap } from '../schema/expand.js';
import { fieldListOf, rootMessage, type Field } from '../schema/fields.js';
import { fieldPath, indexPath, keyPath } from '../schema/paths.js';
import type { Problem, Report } from '../text/problems.js';
import { didYouMean } from '../../suggest.js';
import { acceleratorLists } from './accelerator-support.js';
import type { BackendRules } from './backend-rules.js';
import { commonParameters, type ParameterSupport } from './parameter-support.js';
import { supportOf } from './field-support.js';
import type { Support } from './support.js';
import type { ModelConfig } from '../schema/types.js';

/** The result of {@link findUnsupported}. */
export interface Unsupported {
  /** One UNSUPPORTED problem for every refused field, and INVALID_ARG for a parameter that is not an integer. */
  readonly problems: readonly Problem[];
  /** One sentence for every field without effect, beginning with its path. */
  readonly notes: readonly string[];
}

/**
 * Looks up every written field in the class table.
 *
 * @param config - As written and filled in from the files, before defaults are filled in, which need no notes.
 * @param rules - The rules of the configuration's backend; undefined if it has none.
 * @param onGpu - Whether any instance is on a GPU.
 */
export function findUnsupported(
  config: ModelConfig,
  rules: BackendRules | undefined,
  onGpu: boolean,
): Unsupported {
  const problems: Problem[] = [];
  const notes: string[] = [];
  const report: Report = (path, text, code = 'UNSUPPORTED') => {
    problems.push({ code, path, text });
    return null;
  };
  const walk: Walk = {
    config,
    rules,
    report,
    notes,
    onGpu,
  };
  visitMessage(walk, (rootRows ??= rowsOf(rootMessage, '')), config, '');
  lookUpAccelerators(walk);
  lookUpParameters(walk);
  return { problems, notes };
}

interface Walk {
  readonly config: ModelConfig;
  readonly rules: BackendRules | undefined;
  readonly report: Report;
  readonly notes: string[];
  readonly onGpu: boolean;
}

/** The row that applies, depending on GPUs, priority levels and the backend. */
function placed<S extends Support>({ onGpu, config, rules }: Walk, support: S): S | Support {
  // Backends of the program and ensembles have no rules. The models of both get each request by itself.
  const ragged = rules === undefined ? 'apart' : (rules.ragged ?? 'none');
  if (support.ragged && ragged !== 'joined') return support.ragged[ragged];
  const hasLevels = (config.dynamic_batching?.priority_levels ?? 0) > 0;
  if (support.withoutLevels && !hasLevels) return support.withoutLevels;
  if (support.only && !support.only.backends.includes(config.backend)) return support.only.others;
  return onGpu ? support : (support.onCpu ?? support);
}

/** A field at its place in the schema, with its row of the class table. */
interface Row {
  readonly field: Field;
  readonly path: string;
  readonly support: Support;
  /** The rows of a message's fields; undefined until such a message was found. */
  parts: readonly Row[] | undefined;
}

/** The fields of a message that must be looked up. */
function rowsOf(message: string, parent: string): readonly Row[] {
  const rows: Row[] = [];
  for (const field of fieldListOf(message)) {
    const path = fieldPath(parent, field.name);
    const { support } = supportOf(path);
    const varies = support.onCpu ?? support.withoutLevels ?? support.only ?? support.ragged ?? support.values;
    if (support.class !== 'acted' || varies || field.kind === 'message') {
      rows.push({ field, path, support, parts: undefined });
    }
  }
  return rows;
}

let rootRows: readonly Row[] | undefined;

function visitMessage(walk: Walk, rows: readonly Row[], value: object, path: string): void {
  // A message's fields are own properties, and objects inherit nothing with such names.
  const written = value as Readonly<Record<string, unknown>>;
  for (const row of rows) {
    const { field } = row;
    const one = written[field.name];
    // All lists and maps that were not written are the same two objects.
    if (one === field.initial || one === undefined || one === emptyList || one === emptyMap) continue;
    if (!isDefault(field, one)) visitField(walk, row, one, fieldPath(path, field.name));
  }
}

function visitField(walk: Walk, row: Row, value: unknown, path: string): void {
  const own = placed(walk, row.support);
  const support = (typeof value === 'string' ? own.values?.[value] : undefined) ?? own;
  if (support.harmless?.(value, walk.config, walk.rules)) return;
  if (support.class === 'refused') {
    const what = support === own ? '' : `${String(value)} is `;
    walk.report(path, `${what}not supported: ${support.text}`);
  } else if (support.class === 'hint') {
    walk.notes.push(`${path}: accepted, without effect here: ${support.text}`);
  } else if (row.field.kind === 'message') {
    visitParts(walk, row, value, path);
  }
}

function visitParts(walk: Walk, row: Row, value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return;
  const parts = (row.parts ??= rowsOf(row.field.type, row.path));
  if (Array.isArray(value)) {
    value.forEach((one: object, index) => {
      visitMessage(walk, parts, one, indexPath(path, index));
    });
  } else if (row.field.mapKey !== undefined) {
    for (const [key, one] of Object.entries(value) as [string, object][]) {
      visitMessage(walk, parts, one, keyPath(path, key));
    }
  } else {
    visitMessage(walk, parts, value, path);
  }
}

/**
 * Whether a value equals the default. A written message never does: `sequence_batching {}` asks for sequences.
 */
function isDefault(field: Field, value: unknown): boolean {
  if (field.repeated) return (value as readonly unknown[]).length === 0;
  return field.mapKey !== undefined && Object.keys(value as object).length === 0;
}

function lookUpAccelerators(walk: Walk): void {
  const { config, report, notes } = walk;
  const known = walk.rules?.accelerators;
  for (const list of acceleratorLists) {
    config.optimization?.execution_accelerators?.[list].forEach(({ name, parameters }, index) => {
      const path = indexPath(`optimization.execution_accelerators.${list}`, index);
      const at = fieldPath(path, 'name');
      if (known === undefined) {
        notes.push(
          `${path}: accepted, without effect here: the ${config.backend} backend has no accelerators`,
        );
        return;
      }
      const row = ownRow(known[list], name);
      if (row === undefined) {
        const names = Object.keys(known[list]);
        const all = names.length === 0 ? 'none for this backend' : names.join(', ');
        const text = `unknown accelerator ${JSON.stringify(name)}${didYouMean(name, names)}; Triton has ${all}`;
        // Without GPUs, most of Triton's backends ignore the accelerators of GPU instances.
        const isError =
          walk.onGpu || list === 'cpu_execution_accelerator' || walk.rules?.knowsAllAccelerators === true;
        if (isError) report(at, text, 'INVALID_ARG');
        else notes.push(`${path}: accepted, without effect here: ${text}`);
        return;
      }
      const support = placed(walk, row);
      if (support.class === 'refused')
        report(at, `${JSON.stringify(name)} is not supported: ${support.text}`);
      else if (support.class === 'hint')
        notes.push(`${path}: accepted, without effect here: ${support.text}`);
      else lookUpOptions(walk, fieldPath(path, 'parameters'), row.parameters, parameters);
    });
  }
}

function lookUpOptions(
  walk: Walk,
  path: string,
  rows: Readonly<Record<string, ParameterSupport>>,
  options: Readonly<Record<string, string>>,
): void {
  for (const [key, value] of Object.entries(options)) {
    const support = ownRow(rows, key);
    if (support !== undefined) lookUpValue(walk, keyPath(path, key), support, value);
  }
}

function lookUpParameters(walk: Walk): void {
  const { config, notes } = walk;
  const known = walk.rules?.parameters;
  for (const [key, { string_value: value }] of Object.entries(config.parameters)) {
    const path = keyPath('parameters', key);
    const support = ownRow(commonParameters, key) ?? (known && ownRow(known, key));
    if (support === undefined) {
      if (known === undefined) continue;
      const near = didYouMean(key, Object.keys(known));
      notes.push(
        `${path}: accepted, without effect here: the ${config.backend} backend has no such parameter${near}`,
      );
    } else {
      lookUpValue(walk, path, support, value);
    }
  }
}

/** Looks up the value of a key. */
function lookUpValue(walk: Walk, path: string, row: ParameterSupport, value: string): void {
  const support = placed(walk, row);
  if (support === row && row.integer && !/^-?\d+$/.test(value.trim())) {
    walk.report(path, `expected an integer but found ${JSON.stringify(value)}`, 'INVALID_ARG');
  } else if (row.neutral.includes(value.trim())) {
    return;
  } else if (support.class === 'refused') {
    walk.report(path, `${JSON.stringify(value)} is not supported: ${support.text}`);
  } else if (support.class === 'hint') {
    walk.notes.push(`${path}: accepted, without effect here: ${support.text}`);
  } else if (row.note !== undefined) {
    walk.notes.push(`${path}: ${row.note}`);
  }
}

/** The row of a key, which may be any string from the configuration. */
function ownRow<S>(rows: Readonly<Record<string, S>>, key: string): S | undefined {
  return Object.hasOwn(rows, key) ? rows[key] : undefined;
}
