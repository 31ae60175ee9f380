/** A run of the benchmark: opens the contestants of each model, measures them, and collects the rows. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeRepository } from '../../test/support/repository.js';
import { buildProgram } from '../contestants/bare-loop.js';
import type { Caller, Contestant, Threads } from '../contestants/contestant.js';
import { checkAnswers, describeHow, openRivals } from '../contestants/open.js';
import { openSetImmediate } from '../contestants/set-immediate.js';
import { openTritonts, type Ours } from '../contestants/tritonts.js';
import { isRequired } from '../reports/figures.js';
import type { Measured } from '../limits/limits.js';
import { measure, timedLoops, type Load } from './measure.js';
import { configOf, delayLoads, type BenchModel, type Items } from './models.js';
import { delaysOf, loadsOf, wants, windowOf, type Options } from '../options.js';
import type { ContestantName, DelayRow, LoadRow, ModelHead, OurName, Results } from '../reports/results.js';
import { isOurs, runDelays, runLoad } from './rounds.js';
import { measureCache } from '../limits/cache.js';
import { measureForms } from '../limits/forms.js';
import { measureJavaScript } from '../limits/javascript.js';
import { measureMetrics } from '../limits/metrics.js';
import { measureNative } from '../limits/native.js';
import { measurePlugins } from '../limits/plugins.js';
import { measurePython } from '../limits/python.js';
import { measureEnsembles } from '../limits/ensembles.js';
import { measureStreams } from '../limits/streams.js';
import { measureQueues } from '../limits/queues.js';
import { measureRagged } from '../limits/ragged.js';
import { measureSequences } from '../limits/sequences.js';
import { measureSharedMemory } from '../limits/shared-memory.js';
import { measureShapes } from '../limits/shapes.js';
import { measureTraces } from '../limits/traces.js';
import { measureWarmup } from '../limits/warmup.js';
import { measureStrings } from '../limits/strings.js';
import { measureWeights } from '../weights/figures.js';

/**
 * The longest time that a response may take, in seconds. At some powers of two some contestants would take
 * minutes.
 */
const longestWait = 1;

/** Measures models one by one, and collects the results. */
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
  /** Path of the bare loop's program; undefined if it is not built yet, false if it cannot be built. */
  #program: string | false | undefined;

  /** @param folder - Where model repositories may be written. */
  constructor(options: Options, folder: string, progress: (text: string) => void) {
    this.#options = options;
    this.#folder = folder;
    this.#progress = progress;
    this.#threads = options.threading === 'equal' ? options.threads : undefined;
  }

  /** The results so far. */
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

  /** Measures one model: its loads, and the event loop's delay under it, if they are wanted. */
  async run(model: BenchModel): Promise<void> {
    this.#progress(`${model.name}: loading`);
    const items = model.items();
    await writeRepository(this.#folder, {
      [model.name]: {
        config: configOf(model, items.datatype),
        versions: { '1': model.bytes ? model.bytes() : {} },
      },
    });
    // tritonts comes first, so that the runtime's environment is set up as its users have it.
    const ours = await this.#open(model, items, 'tritonts');
    const contestants: Contestant[] = [ours];
    try {
      if (model.fast && this.#options.loads !== 'readme')
        contestants.push(await this.#open(model, items, 'tritonts, inline off'));
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

  /** Measures all parts that are not loads of a model. */
  async runOthers(): Promise<void> {
    const { rounds, loads } = this.#options;
    if (loads === 'readme') return;
    if (wants(this.#options, 'ensembles')) {
      this.#progress('ensembles');
      this.#measured.push(...(await measureEnsembles(join(this.#folder, 'ensembles'), rounds)));
    }
    if (wants(this.#options, 'forms')) {
      this.#progress('forms');
      this.#measured.push(...(await measureForms(this.#folder, rounds)));
    }
    if (wants(this.#options, 'javascript')) {
      this.#progress('javascript');
      this.#measured.push(...(await measureJavaScript(this.#folder, rounds)));
    }
    if (wants(this.#options, 'metrics')) {
      this.#progress('metrics');
      this.#measured.push(...(await measureMetrics(this.#folder, rounds)));
    }
    const note = (text: string): void => {
      this.#note(text);
    };
    if (wants(this.#options, 'native')) {
      this.#progress('native');
      this.#measured.push(...(await measureNative(rounds, note)));
    }
    if (wants(this.#options, 'plugins')) {
      this.#progress('plugins');
      this.#measured.push(...(await measurePlugins(join(this.#folder, 'plugins'), rounds, note)));
    }
    if (wants(this.#options, 'python')) {
      this.#progress('python');
      this.#measured.push(...(await measurePython(join(this.#folder, 'python'), rounds, note)));
    }
    if (wants(this.#options, 'cache')) {
      this.#progress('cache');
      this.#measured.push(...(await measureCache(rounds)));
    }
    if (wants(this.#options, 'traces')) {
      this.#progress('traces');
      this.#measured.push(...(await measureTraces(rounds)));
    }
    if (wants(this.#options, 'queues')) {
      this.#progress('queues');
      this.#measured.push(...(await measureQueues(this.#folder, rounds)), ...(await measureShapes(rounds)));
    }
    if (wants(this.#options, 'ragged')) {
      this.#progress('ragged');
      this.#measured.push(...(await measureRagged(rounds)));
    }
    if (wants(this.#options, 'sequences')) {
      this.#progress('sequences');
      this.#measured.push(...(await measureSequences(rounds)));
    }
    if (wants(this.#options, 'shared-memory')) {
      this.#progress('shared-memory');
      this.#measured.push(...(await measureSharedMemory(rounds)));
    }
    if (wants(this.#options, 'streams')) {
      this.#progress('streams');
      this.#measured.push(...(await measureStreams(join(this.#folder, 'streams'), rounds)));
    }
    if (wants(this.#options, 'strings')) {
      this.#progress('strings');
      this.#measured.push(...(await measureStrings(this.#folder, rounds)));
    }
    if (wants(this.#options, 'warmup')) {
      this.#progress('warmup');
      this.#measured.push(...(await measureWarmup(rounds)));
    }
    if (wants(this.#options, 'weights')) {
      // Memory varies less than time, so few rounds are enough.
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

  /**
   * Whether an optional contestant is shown: never for the README, and for `quick` only if a figure is about it.
   */
  #isShown({ name }: BenchModel, contestant: ContestantName): boolean {
    const { loads } = this.#options;
    return loads !== 'readme' && (loads !== 'quick' || isRequired(name, contestant));
  }

  async #bareLoop(): Promise<string | undefined> {
    if (this.#program === undefined) {
      this.#progress('building the bare C++ loop');
      try {
        this.#program = await buildProgram('bare_loop');
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
      // The bare loop has no callers that wait.
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

  /** Measures tritonts, and the contestants that share the main thread with everything else. */
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
      // There should be some hundred timers. Batches of slow models that begin in that time are waited for as
      // well.
      2 * this.#options.windowMs,
      this.#options.rounds,
      this.#progress,
    );
    this.#delays.push(...rows);
  }
}
