/**
 * The engine of a test server: what the addon's is to a server, in JavaScript. It has queues, batches, sequences and streams,
 * and runs models of this environment alone. Everything above it is the package's own: the checks of requests, the
 * configurations, the registry, promises, endpoints.
 */

import type { EngineFunctions } from '../../addon/engine-functions.js';
import type { NativeBatches, NativeMetrics, NativeStatistics } from '../../addon/native/statistics.js';
import type { NativeInstance } from '../../addon/native/instance.js';
import type { NativePort } from '../../addon/native/port.js';
import type { NativeServer } from '../../addon/native/server.js';
import type { NativeStatus } from '../../addon/native/status.js';
import type { NativeDescription, NativeVersionConfig } from '../../addon/native/version-config.js';
import { sequenceUnknown } from '../../addon/sequence-fates.js';
import { statusNumber } from '../../addon/status.js';
import { TritonError } from '../../errors.js';
import { defaultNamespace, type ModelKey } from '../../model-key.js';
import { clearTimeout, setTimeout } from '../../timers.js';
import { longestTimerMs } from '../../time-limit.js';
import { Inbox } from './inbox.js';
import { TestInstance } from './instance.js';
import { TestPort, type PortEngine } from './port.js';
import type { EngineRequest } from './request.js';
import { soon } from './soon.js';
import type { Stage } from './stage.js';
import { TestVersion } from './version.js';

/** A published model. */
interface Published {
  readonly revision: number;
  readonly json: string;
}

const noDescription: NativeDescription = {
  inputs: [],
  outputs: [],
  rowsVary: '',
  config: '',
  instanceGroups: '',
};

function unsupported(what: string): NativeStatus {
  return { code: statusNumber('UNSUPPORTED', undefined), message: `a test server has no ${what}` };
}

/** See the head of this file. */
export class TestEngine implements NativeServer, PortEngine {
  readonly functions: EngineFunctions;
  readonly #stageOf: (model: string) => Stage;
  readonly #models: Map<string, Published> = new Map();
  readonly #versions: Map<number, TestVersion> = new Map();
  readonly #versionOf: WeakMap<EngineRequest, TestVersion> = new WeakMap();
  readonly #inboxes: Map<number, Inbox> = new Map();
  readonly #instances: Map<Inbox, TestInstance> = new Map();
  readonly #ports: Set<TestPort> = new Set();
  #epoch = 0;
  #revision = 0;
  #uid = 0;
  #inboxNumber = 0;

  /** @param backends - The names that a server of the addon has, for its metadata. */
  constructor(stageOf: (model: string) => Stage, backends: readonly string[]) {
    this.#stageOf = stageOf;
    this.functions = {
      backends: () => [...backends],
      engineId: () => {
        throw new TritonError(
          'UNSUPPORTED',
          'a test server has no handle: other threads cannot attach to it',
        );
      },
      latencyBoundsNs: () => [],
      pluginMetrics: () => '[]',
      reserveInstances: (_model, _names, concurrency) => this.#reserve(concurrency),
      attachInstance: (number, _index, wake) => this.#attachInstance(number, wake),
      settleInstances: () => undefined,
      releaseInstances: (number) => {
        const inbox = this.#inboxes.get(number);
        this.#inboxes.delete(number);
        if (inbox === undefined) return;
        inbox.isClosed = true;
        inbox.onWake();
      },
    };
  }

  /** The versions of a model. */
  versionsOf(model: string): TestVersion[] {
    return [...this.#versions.values()].filter(({ name }) => name === model);
  }

  #reserve(concurrency: number): number {
    this.#inboxes.set(++this.#inboxNumber, new Inbox(concurrency));
    return this.#inboxNumber;
  }

  #attachInstance(number: number, wake: () => void): NativeInstance | undefined {
    const inbox = this.#inboxes.get(number);
    if (inbox === undefined) return undefined;
    const instance = new TestInstance(inbox, wake);
    this.#instances.set(inbox, instance);
    return instance;
  }

  accept(uid: number, requests: readonly EngineRequest[]): void {
    const version = this.#versions.get(uid);
    if (version === undefined) {
      const status = {
        code: statusNumber('UNAVAILABLE', 'NOT_READY'),
        message: "the model's version was unloaded",
      };
      for (const request of requests) request.fail({ status, unserved: true });
      return;
    }
    for (const request of requests) this.#versionOf.set(request, version);
    version.accept(requests);
  }

  cancel(request: EngineRequest): void {
    const version = this.#versionOf.get(request);
    if (version === undefined) return;
    version.cancel(request);
    this.#instances.get(version.inbox)?.listen(request);
  }

  hasRead(request: EngineRequest): void {
    const inbox = this.#versionOf.get(request)?.inbox;
    if (inbox !== undefined) this.#instances.get(inbox)?.listen(request);
  }

  isDecoupled(uid: number): boolean {
    return this.#versions.get(uid)?.isDecoupled ?? false;
  }

  id(): number {
    return 0;
  }

  attach(onPages: (count: number) => void): NativePort {
    const port = new TestPort(this, this.#epoch, onPages);
    this.#ports.add(port);
    return port;
  }

  open(
    backend: string,
    name: string,
    version: number,
    _path: string,
    settings: Readonly<Record<string, string>>,
    done: (error: NativeStatus | null, uid: number, description: NativeDescription) => void,
  ): void {
    const inbox = this.#inboxes.get(Number(settings['inboxes']));
    if (inbox === undefined) {
      const status = unsupported(`backend '${backend}': give the model as a function`);
      soon(() => {
        done(status, 0, noDescription);
      });
      return;
    }
    const uid = ++this.#uid;
    const stage = this.#stageOf(name);
    const opened = new TestVersion(name, version, inbox, stage);
    this.#versions.set(uid, opened);
    stage.onChange = (): void => {
      for (const one of this.versionsOf(name)) one.dispatchSoon();
    };
    soon(() => {
      done(null, uid, noDescription);
    });
  }

  start(uid: number, config: NativeVersionConfig, done: (error: NativeStatus | null) => void): void {
    this.#versions.get(uid)?.start(config);
    soon(() => {
      done(null);
    });
  }

  changeInstances(
    _uid: number,
    _removed: readonly number[],
    _added: readonly unknown[],
    done: (error: NativeStatus | null, numbers: readonly number[]) => void,
  ): void {
    soon(() => {
      done(unsupported('instances that come and go'), []);
    });
  }

  sequenceFate(uid: number, id: bigint | string): number {
    return this.#versions.get(uid)?.sequenceFate(id) ?? sequenceUnknown;
  }

  addEnsemble(name: string): number {
    throw new TritonError(
      'UNSUPPORTED',
      `model '${name}': a test server runs no ensembles: give it as a function`,
    );
  }
  bindEnsemble(): NativeStatus {
    return unsupported('ensembles');
  }
  cancelLoads(): void {
    // Loads do not leave this thread.
  }
  openRuntime(
    _backend: string,
    _settings: Readonly<Record<string, string>>,
    done: (error: NativeStatus | null, info: Readonly<Record<string, string>>) => void,
  ): void {
    done(unsupported('runtimes'), {});
  }
  findGpus(done: (error: NativeStatus | null) => void): void {
    done(null);
  }
  findNvml(): void {
    // Nothing asks for GPUs, as the server has instances on the CPU alone.
  }
  watchGpus(): void {
    // There are none.
  }
  readFolder(model: string): void {
    throw new TritonError('UNSUPPORTED', `model '${model}': a test server reads no folders of models`);
  }
  returnMemory(done: () => void): void {
    done();
  }

  publish({ name }: ModelKey, json: string): void {
    this.#models.set(name, { revision: ++this.#revision, json });
    this.#show();
  }
  withdraw({ name }: ModelKey): void {
    if (this.#models.delete(name)) this.#show();
  }
  #show(): void {
    this.#epoch++;
    for (const port of this.#ports) port.show(this.#epoch);
  }
  read(
    { name }: ModelKey,
    knownRevision: number,
  ): { readonly revision: number; readonly json?: string } | undefined {
    const known = this.#models.get(name);
    return known?.revision === knownRevision ? { revision: knownRevision } : known;
  }
  resolveModel(name: string): ModelKey | undefined {
    return this.#models.has(name) ? { namespace: defaultNamespace, name } : undefined;
  }
  modelKeys(): ModelKey[] {
    return [...this.#models.keys()].sort().map((name) => ({ namespace: defaultNamespace, name }));
  }

  retire(uid: number, done: (abandoned: boolean) => void): void {
    const version = this.#versions.get(uid);
    if (version === undefined) {
      done(false);
      return;
    }
    version.close(() => {
      this.#versions.delete(uid);
      soon(() => {
        done(false);
      });
    });
  }
  isIdle(uid: number): boolean {
    return this.#versions.get(uid)?.isIdle ?? true;
  }

  close(timeoutMs: number, done: (abandoned: readonly string[]) => void): void {
    this.#epoch++;
    for (const port of this.#ports) {
      port.showClosed();
      port.show(this.#epoch);
    }
    const versions = [...this.#versions.values()];
    const drained = versions.map(
      (version) =>
        new Promise<void>((resolve) => {
          version.close(resolve);
        }),
    );
    const limit = setTimeout(
      () => {
        for (const version of versions) version.cutOff();
      },
      Math.min(timeoutMs, longestTimerMs),
    );
    void Promise.all(drained).then(() => {
      clearTimeout(limit);
      done([]);
    });
  }
  join(): void {
    this.#versions.clear();
  }

  statistics(uid: number): NativeStatistics | undefined {
    return this.#versions.get(uid)?.counts.all;
  }
  metrics(uid: number): NativeMetrics | undefined {
    const version = this.#versions.get(uid);
    if (version === undefined) return undefined;
    return {
      statistics: version.counts.all,
      latencies: [],
      firstResponses: [],
      firstResponseMs: 0,
      quantiles: [],
      pending: version.waiting,
      sequences: undefined,
      gpus: [],
    };
  }
  batches(uid: number): NativeBatches | undefined {
    const version = this.#versions.get(uid);
    return version && { instances: 1, waiting: version.waiting, held: 0, batches: version.counts.recent };
  }
  info(): undefined {
    return undefined;
  }
  inFlightBytes(): number {
    return 0;
  }
  resources(): readonly [] {
    return [];
  }
  cache(): undefined {
    return undefined;
  }
  attachPluginCache(): boolean {
    return false;
  }
  attachCache(): undefined {
    return undefined;
  }
  ownPlugins(): void {
    // Plug-ins and native programs find only engines of the addon.
  }

  registerRegion(): NativeStatus {
    return unsupported('shared memory');
  }
  findRegion(): undefined {
    return undefined;
  }
  registerCudaRegion(
    _name: string,
    _handle: Uint8Array,
    _device: number,
    _size: number,
    done: (error: NativeStatus | null, id: number) => void,
  ): void {
    done(unsupported('shared memory of GPUs'), 0);
  }
  readsRegion(): boolean {
    return false;
  }
  writesRegion(): boolean {
    return false;
  }
  holdRegion(): boolean {
    return false;
  }
  releaseRegion(): void {
    // There are none.
  }
  readRegion(
    _region: number,
    _offset: number,
    _size: number,
    done: (error: NativeStatus | null, bytes: Uint8Array<ArrayBuffer>) => void,
  ): void {
    done(unsupported('shared memory'), new Uint8Array(0));
  }
  writeRegion(
    _region: number,
    _offset: number,
    _bytes: Uint8Array,
    done: (error: NativeStatus | null) => void,
  ): void {
    done(unsupported('shared memory'));
  }
  regions(): readonly [] {
    return [];
  }
  mapRegion(): undefined {
    return undefined;
  }
  unregisterRegion(): boolean {
    return false;
  }

  setTrace(): void {
    // Requests are recorded for the test; traces are the addon's.
  }
  sampleTrace(): number {
    return 0;
  }
  noteTrace(): void {
    // There are no traces.
  }
  endTrace(): void {
    // There are no traces.
  }
  takeTraces(): string {
    return '';
  }
  traceCounts(): { readonly written: number; readonly dropped: number; readonly fault: string } {
    return { written: 0, dropped: 0, fault: '' };
  }
}
