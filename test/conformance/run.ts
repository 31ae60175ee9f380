/**
 * Runs the cases from export.py through `createServer`, runs failed cases in the bare runtime, and prints all
 * outcomes. scripts/onnx-conformance.mjs prepares the files.
 *
 *   node run.js [--raise] [--all] CASES PROGRAM [part of a name]…
 *
 * CASES is export.py's folder, PROGRAM the one of native/. The command fails if fewer cases pass than floor.json
 * requires, or if a case fails that the bare runtime passes. `--raise` writes higher numbers to floor.json. `--all`
 * prints every name with all details. With parts of names, only matching cases run, and the floor is not checked.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findOnnxRuntimeLibrary } from '../../src/backends/onnxruntime/library.js';
import { judgeAll, type Failed } from './judge.js';
import type { Case, CaseList, Outcome } from './outcome.js';
import { passedByKind, reasons, summary } from './report.js';
import { serveCases } from './served.js';

const floorFile = join('test', 'conformance', 'floor.json');

type Floor = Record<string, number>;

async function readJson(file: string): Promise<unknown> {
  return JSON.parse(await readFile(file, 'utf8')) as unknown;
}

/** Outcomes of all cases, in their order. */
async function runCases(folder: string, program: string, cases: readonly Case[]): Promise<Outcome[]> {
  const known = new Map<Case, Outcome>();
  const failed: Failed[] = [];
  for (const kind of new Set(cases.map((one) => one.kind))) {
    const asked = cases.filter((one) => one.kind === kind && one.skip === undefined);
    const failures = await serveCases(join(folder, kind), asked);
    for (const [i, one] of asked.entries()) {
      const failure = failures[i];
      if (failure) failed.push({ one, failure });
    }
  }
  const library = findOnnxRuntimeLibrary();
  const judged = await judgeAll(folder, failed, { program, library });
  for (const [i, { one }] of failed.entries()) {
    const outcome = judged[i];
    if (outcome) known.set(one, outcome);
  }
  return cases.map((one) => {
    const { kind, name, skip: reason } = one;
    if (reason !== undefined) return { kind, name, verdict: 'skipped', reason, detail: reason };
    return known.get(one) ?? { kind, name, verdict: 'passed', reason: '', detail: '' };
  });
}

/** Compares with the floor, and raises it if `raise` is set. Returns whether it holds. */
async function checkFloor(outcomes: readonly Outcome[], raise: boolean): Promise<boolean> {
  // This program has written the file.
  const floor = (await readJson(floorFile)) as Floor;
  const passed = passedByKind(outcomes);
  let holds = true;
  let higher = false;
  for (const [kind, count] of passed) {
    const least = floor[kind] ?? 0;
    if (count < least) {
      holds = false;
      console.log(`${kind}: ${count} cases pass, but the floor is ${least}`);
    }
    higher ||= count > least;
  }
  if (higher && raise) {
    const raised = Object.fromEntries([...passed].map(([kind, n]) => [kind, Math.max(n, floor[kind] ?? 0)]));
    await writeFile(floorFile, `${JSON.stringify(raised, null, 2)}\n`);
    console.log(`${floorFile} was raised`);
  } else if (higher) {
    console.log(`more cases pass than ${floorFile} says: raise it with --raise`);
  }
  return holds;
}

const { values: flags, positionals } = parseArgs({
  options: { raise: { type: 'boolean', default: false }, all: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [folder, program, ...parts] = positionals;
if (folder === undefined || program === undefined) {
  throw new Error('usage: run.js [--raise] [--all] CASES PROGRAM [part of a name]…');
}
// Written by export.py.
const { onnx, cases } = (await readJson(join(folder, 'cases.json'))) as CaseList;
const chosen = cases.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)));
const outcomes = await runCases(folder, program, chosen);

console.log(`onnx ${onnx}: its test cases through createServer\n`);
console.log(summary(outcomes));
console.log(reasons(outcomes, flags.all));
const freed = chosen.filter((one) => one.freed === true).length;
if (freed > 0) {
  console.log(
    `\nIn ${freed} cases a dimension that the model fixes to 0 was made variable: Triton has no such dims.`,
  );
}
const holds = parts.length > 0 || (await checkFloor(outcomes, flags.raise));
if (!holds || outcomes.some(({ verdict }) => verdict === 'ours')) process.exitCode = 1;
