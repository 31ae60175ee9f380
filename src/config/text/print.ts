/** Prints a configuration as `config.pbtxt` and as JSON. Reading either returns an equal configuration. */

import { defaultOf, fieldsOf, rootMessage, type Field } from '../schema/fields.js';
import type { ModelConfig } from '../schema/types.js';

/**
 * Prints the configuration in protobuf's text format. Fields with their default value are left out, except
 * `max_batch_size`, because a written 0 has a meaning.
 *
 * @param config - A whole configuration.
 */
export function printConfig(config: ModelConfig): string {
  return printFields(rootMessage, config, '').join('\n') + '\n';
}

/**
 * Prints the configuration as JSON in Triton's shape (`GET /v2/models/<model>/config`), except that all 64-bit
 * integers are numbers. NaN and infinities, which JSON lacks, become the strings `NaN`, `Infinity` and
 * `-Infinity`.
 *
 * @param config - A whole configuration.
 * @param indent - Spaces per level; default 2.
 */
export function printConfigJson(config: ModelConfig, indent = 2): string {
  const replacer = (_key: string, value: unknown): unknown =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
  return JSON.stringify(config, replacer, indent);
}

function printFields(message: string, value: object, indent: string): string[] {
  const present = new Map<string, unknown>(Object.entries(value));
  const lines: string[] = [];
  for (const field of fieldsOf(message).values()) {
    const one = present.get(field.name);
    if (one === undefined) continue;
    if (message === rootMessage && field.name === 'max_batch_size')
      lines.push(printScalar(field, one, indent));
    else lines.push(...printField(field, one, indent));
  }
  return lines;
}

/** Prints a field. There is no line for a scalar with its default value. */
export function printField(field: Field, value: unknown, indent: string = ''): string[] {
  if (Array.isArray(value)) return printList(field, value, indent);
  if (field.mapKey !== undefined) return printMap(field, value as object, indent);
  if (field.kind === 'message') return printBlock(field.name, field, value as object, indent);
  if (field.oneof === undefined && Object.is(value, defaultOf(field))) return [];
  return [printScalar(field, value, indent)];
}

function printScalar(field: Field, value: unknown, indent: string): string {
  return `${indent}${field.name}: ${scalarText(field, value)}`;
}

function printBlock(name: string, field: Field, value: object, indent: string): string[] {
  const inside = printFields(field.type, value, `${indent}  `);
  return inside.length === 0 ? [`${indent}${name} { }`] : [`${indent}${name} {`, ...inside, `${indent}}`];
}

function printList(field: Field, values: readonly unknown[], indent: string): string[] {
  if (values.length === 0) return [];
  if (field.kind !== 'message') {
    return [`${indent}${field.name}: [ ${values.map((value) => scalarText(field, value)).join(', ')} ]`];
  }
  const blocks = values.flatMap((value, index) => {
    const inside = printFields(field.type, value as object, `${indent}    `);
    const comma = index < values.length - 1 ? ',' : '';
    return [`${indent}  {`, ...inside, `${indent}  }${comma}`];
  });
  return [`${indent}${field.name} [`, ...blocks, `${indent}]`];
}

function printMap(field: Field, map: object, indent: string): string[] {
  return Object.entries(map).flatMap(([key, value]: [string, unknown]) => [
    `${indent}${field.name} {`,
    `${indent}  key: ${field.mapKey === 'string' ? quote(key) : key}`,
    ...(field.kind === 'message'
      ? printBlock('value', field, value as object, `${indent}  `)
      : [`${indent}  value: ${scalarText(field, value)}`]),
    `${indent}}`,
  ]);
}

/** A scalar's value as text. */
export function scalarText(field: Field, value: unknown): string {
  if (field.type === 'string') return quote(String(value));
  if (typeof value !== 'number') return String(value);
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  return Object.is(value, -0) ? '-0' : String(value);
}

/**
 * Quotes a string. Control characters are written as three octal digits, so that the escape's end is
 * unambiguous.
 */
function quote(text: string): string {
  const escaped = text.replace(/["\\\u0000-\u001f\u007f]/g, (character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    if (character === '\n') return '\\n';
    return `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;
  });
  return `"${escaped}"`;
}
