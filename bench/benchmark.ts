/** A run of the benchmark: opens the contestants of each model, measures them, and collects the rows. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeRepository } from '../test/support/repository.js';
import { buildBareLoop } from './contestants/bare-loop.js';
import type { Caller, Contestant, Threads } from './contestants/contestant.js';
import { checkAnswers, describeHow, openRivals } from './contestants/open.js';
import { openSetImmediate } from './contestants/set-immediate.js';
import { openTritonts, type Ours } from './contestants/tritonts.js';
import { isRequired } from './figures.js';
import type { Measured } from './limits.js';
import { measure, timedLoops, type Load } from './measure.js';
import { configOf, delayLoads, type BenchModel, type Items } from './models.js';
import { delaysOf, loadsOf, wants, windowOf, type Options } from './options.js';
import type { ContestantName, DelayRow, LoadRow, ModelHead, OurName, Results } from './results.js';
import { isOurs, runDelays, runLoad } from './rounds.js';
import { measureForms } from './forms.js';
import { measureStrings } from './strings.js';
import { measureWeights } from './weights/figures.js';

/** Seconds that an answer may take; with every power of two there are loads that some contestants take minutes for. */
const longestWait = 1;

/** Collects what the rows of all models come to. */
export class Benchmark {
  readonly #options: Options;
  readonly #folder: string;
  readonly #progress: (text: string) => void;
  readonly #threads: Threads;
  readonly #models: ModelHead[] = [];
  readonly #loads: LoadRow[] = [];
  readonly #delays: DelayRow[] = [];
  readonly #measured: Measured[] = [];
  readonly #notes: string[] = [];
  #library: Results['library'];
  /** Path of the bare loop's program; undefined: not built yet, false: it cannot be. */
  #program: string | false | undefined;

  /** @param folder - Where model repositories may be written. */
  constructor(options: Options, folder: string, progress: (text: string) => void) {
    this.#options = options;
    this.#folder = folder;
    this.#progress = progress;
    this.#threads = options.threading === 'equal' ? options.threads : undefined;
  }

  /** What there is so far. */
  results(): Omit<Results, 'machine' | 'defaults'> {
    const { threading, rounds } = this.#options;
    return {
      setup: { threading, threads: this.#threads, rounds },
      library: this.#library,
      models: this.#models,
      loads: this.#loads,
      delays: this.#delays,
      measured: this.#measured,
      notes: this.#notes,
    };
  }

  /** Measures one model: its loads, and the event loop's delay beside it, as far as they are wanted. */
  async run(model: BenchModel): Promise<void> {
    this.#progress(`${model.name}: loading`);
    const items = model.items();
    await writeRepository(this.#folder, {
      [model.name]: {
        config: configOf(model, items.datatype),
        versions: { '1': model.bytes ? model.bytes() : {} },
      },
    });
    // First, so that the runtime's environment is made as our users have it.
    const ours = await this.#open(model, items, 'tritonts');
    const contestants: Contestant[] = [ours];
    try {
      if (model.fast) contestants.push(await this.#open(model, items, 'tritonts, inline off'));
      contestants.push(...(await this.#rivals(model, items, ours)));
      await checkAnswers(contestants.filter((contestant) => contestant.kind === 'caller'));
      this.#models.push({
        model: model.name,
        title: model.title,
        how: describeHow(ours, contestants, this.#threads),
        windowMs: windowOf(this.#options, model),
      });
      await this.#underLoads(model, contestants);
      for (const outstanding of delaysOf(this.#options, model)) {
        await this.#delay(model, outstanding, contestants);
      }
    } finally {
      for (const contestant of contestants.reverse()) await contestant.close();
    }
  }

  /** Measures what is no load of a model. */
  async runOthers(): Promise<void> {
    const { rounds } = this.#options;
    if (wants(this.#options, 'forms')) {
      this.#progress('forms');
      this.#measured.push(...(await measureForms(this.#folder, rounds)));
    }
    if (wants(this.#options, 'strings')) {
      this.#progress('strings');
      this.#measured.push(...(await measureStrings(this.#folder, rounds)));
    }
    if (wants(this.#options, 'weights')) {
      // Memory is steadier than time.
      this.#measured.push(...(await measureWeights(this.#folder, Math.min(rounds, 3), this.#progress)));
    }
  }

  #open({ name, input, output }: BenchModel, { values }: Items, as: OurName): Promise<Ours> {
    const tensors = { input: input.name, output: output.name };
    return openTritonts(as, this.#folder, name, tensors, values, this.#threads);
  }

  async #rivals(model: BenchModel, items: Items, ours: Ours): Promise<readonly Contestant[]> {
    if (!model.bytes) return [openSetImmediate()];
    const { library } = ours.model.runtimeInfo();
    if (!library) throw new Error(`${model.name} runs without ONNX Runtime`);
    this.#library = library;
    const { contestants, failures } = await openRivals({
      path: join(this.#folder, model.name, '1', 'model.onnx'),
      model,
      items,
      threads: this.#threads,
      bareLoop: this.#isShown(model, 'bare C++ loop') ? await this.#bareLoop() : undefined,
      library: library.path,
      cores: this.#options.threads,
    });
    for (const failure of failures) this.#note(`${model.name}: ${failure}`);
    return contestants;
  }

  /** In a hurry, who has no figure is left out. */
  #isShown({ name }: BenchModel, contestant: ContestantName): boolean {
    return this.#options.loads !== 'quick' || isRequired(name, contestant);
  }

  async #bareLoop(): Promise<string | undefined> {
    if (this.#program === undefined) {
      this.#progress('building the bare C++ loop');
      try {
        this.#program = await buildBareLoop();
      } catch (error) {
        this.#program = false;
        this.#note(`The bare C++ loop could not be built: ${String(error)}`);
      }
    }
    return this.#program === false ? undefined : this.#program;
  }

  #note(text: string): void {
    this.#notes.push(text);
  }

  async #underLoads(model: BenchModel, contestants: readonly Contestant[]): Promise<void> {
    const { rounds } = this.#options;
    let patient = contestants;
    for (const outstanding of loadsOf(this.#options, model)) {
      const rows = await runLoad(patient, this.#load(model, outstanding), rounds, (text) => {
        this.#progress(`${model.name}, ${outstanding} outstanding, ${text}`);
      });
      this.#loads.push({ model: model.name, outstanding, contestants: rows });
      if (this.#options.loads !== 'sweep') continue;
      // The bare loop has no callers who wait.
      const slow = rows.filter(
        ({ latency, requestsPerSecond }) =>
          latency && (2 * outstanding) / requestsPerSecond.median > longestWait,
      );
      if (slow.length === 0) continue;
      const names = slow.map(({ contestant }) => contestant);
      patient = patient.filter(({ name }) => !names.includes(name));
      this.#note(
        `${model.name}: no more than ${outstanding} outstanding for ${names.join(', ')}: beyond that an answer takes more ` +
          `than ${longestWait} s, and requests/s stay as they are`,
      );
      if (!patient.some(({ kind }) => kind === 'caller')) break;
    }
  }

  #load(model: BenchModel, outstanding: number): Load {
    const windowMs = windowOf(this.#options, model);
    return { outstanding, windowMs, warmUpMs: windowMs / 4, timed: timedLoops(outstanding, model.fast) };
  }

  /** Ours, and those that share the main thread with everything else. */
  async #delay(model: BenchModel, outstanding: number, contestants: readonly Contestant[]): Promise<void> {
    const rivals = this.#options.loads !== 'quick' || delayLoads[model.name]?.rivals === true;
    const callers = contestants
      .filter((contestant): contestant is Caller => contestant.kind === 'caller')
      .filter(({ name }) => isOurs(name) || (rivals && name !== 'piscina'));
    const load = this.#load(model, outstanding);
    const rows = await runDelays(
      [
        { name: 'idle loop', work: sleep },
        ...callers.map((caller) => ({
          name: caller.name,
          work: (windowMs: number) => measure(caller, { ...load, windowMs, warmUpMs: 0 }),
        })),
      ],
      { model: model.name, outstanding },
      // Of timers there should be some hundred. Batches of slow models that begin in that time are waited for as well.
      2 * this.#options.windowMs,
      this.#options.rounds,
      this.#progress,
    );
    this.#delays.push(...rows);
  }
}
