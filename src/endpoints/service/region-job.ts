/** A request with tensors in regions of GPUs. When it is sent, the version that then serves decides what is copied. */

import type { Waiter } from '../../dispatch/types.js';
import type { CudaMemory } from '../../server/memory/cuda-memory.js';
import type { CheckedOptions } from '../../server/requests/infer-options.js';
import type { ModelHandle } from '../../server/models/model-handle.js';
import type { InferResult } from '../../api/results.js';
import type { Client } from './client.js';
import { Staging, type Tensors } from './staging.js';
import { Job, type Sendable } from './submitter.js';

/** The parts of a {@link RegionJob}. */
export interface RegionRequest {
  readonly memory: CudaMemory;
  readonly client: Client;
  readonly handle: ModelHandle;
  readonly tensors: Tensors;
  readonly checked: CheckedOptions;
  /** Begins its trace, when its inputs are there. */
  readonly begin: (options: CheckedOptions) => CheckedOptions;
  readonly waiter: Waiter<InferResult>;
}

/** See the head of this file. */
export class RegionJob implements Sendable {
  readonly #request: RegionRequest;

  constructor(request: RegionRequest) {
    this.#request = request;
  }

  send(): void {
    const { memory, client, handle, tensors, checked, begin, waiter } = this.#request;
    const isPart = checked.request.sequence !== undefined;
    if (isPart && client.behind !== undefined) {
      void client.behind.then(() => {
        this.send();
      });
      return;
    }
    try {
      const staging = Staging.of(memory, handle, tensors);
      if (staging === undefined) {
        new Job(client, handle, tensors.inputs, begin(checked), waiter).send();
        return;
      }
      const sent = this.#stage(staging);
      if (!isPart) return;
      const behind = sent.then(() => {
        if (client.behind === behind) client.behind = undefined;
      });
      client.behind = behind;
    } catch (error) {
      waiter.reject(error);
    }
  }

  /** Resolves when the request was sent, or has failed. It does not reject. */
  async #stage(staging: Staging): Promise<void> {
    const { client, handle, checked, begin, waiter } = this.#request;
    try {
      const inputs = await staging.fetch();
      const options = begin({ ...checked, targets: staging.targets });
      new Job(client, handle, inputs, options, staging.waiter(waiter)).sendNow();
    } catch (error) {
      staging.end();
      waiter.reject(error);
    }
  }
}
