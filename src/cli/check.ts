/** `tritonts check <repository>`: reports whether the models would load, and with which configuration. */

import { parseArgs } from 'node:util';
import { checkRepository, type CheckedModel } from '../registry/check-repository.js';
import { printConfig } from '../config/index.js';
import { sharedReason } from '../registry/loading/shared-reasons.js';
import { printable, printableLine } from '../printable.js';
import { checkOptions, parsed, repositoryHelp, repositoryOptions } from './repository-arguments.js';
import { downloadText } from './byte-text.js';
import { tensorLines } from './tensor-lines.js';

const commandOptions = {
  ...repositoryOptions,
  json: { type: 'boolean', default: false },
  config: { type: 'boolean', default: false },
} as const;

const help = `Checks every model of one or several repositories as if it were loaded, and serves none.

Usage: tritonts check <repository>… [options]

For each model it prints its inputs, outputs and batches, or all of its problems with file and line; what was completed
from the model's file, and which fields of the configuration are hints without effect here.

Options:
  --json                          one JSON object: { "ok": …, "models": [ … ] }
  --config                        also print each complete configuration, as config.pbtxt
${repositoryHelp}

Exit code: 0 when every model would load, 1 when one would not, 2 for a wrong command line, and for a
repository that is not there or has no models.`;

/** Prints text of one or several lines below the line of its model. */
function below(text: string): void {
  console.log(`       ${printable(text).replaceAll('\n', '\n       ')}`);
}

/**
 * Prints the result for a model.
 *
 * @param told - For each problem, the first model that had it. A problem that all models share, such as a
 *   missing runtime, is printed once.
 */
function print(model: CheckedModel, withConfig: boolean, told: Map<string, string>): void {
  const { name, ok, backend, versions, problems, notes, config } = model;
  const shown = printableLine(name);
  // An ensemble has a platform in place of a backend.
  const kind = backend === '' && config?.ensemble_scheduling ? 'ensemble' : backend;
  const list =
    versions.length === 0 ? '' : `, version${versions.length === 1 ? '' : 's'} ${versions.join(', ')}`;
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  console.log(
    `${ok ? 'ok    ' : 'FAILED'} ${shown}${kind === '' ? '' : ` (${printableLine(kind)}${list})`}${ok ? '' : `: ${count}`}`,
  );
  for (const { code, message, version } of problems) {
    const about = version !== undefined && versions.length > 1 ? ` version ${version}:` : '';
    const reason = sharedReason(name, message);
    const first = told.get(reason);
    below(`${code}:${about} ${first === undefined ? message : `as for ${first}, above`}`);
    if (first === undefined) told.set(reason, shown);
  }
  if (ok && config) for (const line of tensorLines(config)) below(line);
  for (const note of notes) below(`note: ${note}`);
  if (withConfig && config) below(printConfig(config).trimEnd());
}

/**
 * Runs the command.
 *
 * @param args - The arguments after `check`.
 * @returns The exit code.
 * @throws {@link TritonError} INVALID_ARG for a wrong command line.
 */
export async function check(args: readonly string[]): Promise<number> {
  const parse = () => parseArgs({ args: [...args], allowPositionals: true, options: commandOptions });
  const { values, positionals } = parsed(parse, args, commandOptions, help);
  if (values.help) {
    console.log(help);
    return 0;
  }
  const options = checkOptions('check', help, positionals, values);
  const terminal = process.stderr.isTTY && !values.json;
  const models = await checkRepository(options, (model, done, total, download) => {
    const bytes = download && `, downloading ${downloadText(download)}`;
    if (terminal) {
      process.stderr.write(
        `\r\u001b[Kchecking ${done + 1} of ${total}: ${printableLine(model)}${bytes ?? ''}`,
      );
    } else if (!values.json && download?.done === 0) {
      // A log gets one line of each download.
      console.error(`${printableLine(model)}: downloading ${downloadText(download)}`);
    }
  });
  if (terminal) process.stderr.write('\r\u001b[K');
  const ok = models.every((model) => model.ok);
  if (values.json) {
    console.log(printable(JSON.stringify({ ok, models }, undefined, 2)));
  } else {
    const told = new Map<string, string>();
    for (const model of models) print(model, values.config, told);
    const failed = models.filter((model) => !model.ok).length;
    console.log(`${models.length} model${models.length === 1 ? '' : 's'}, ${failed} with problems`);
  }
  return ok ? 0 : 1;
}
