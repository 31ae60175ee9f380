/** The rules for configurations of OpenVINO models: their parameters. Triton's own rules have their files. */

import { parameterRow, type BackendRules, type ParameterSupport } from '../../config/index.js';

/** A number of threads. */
const threads = (text: string): ParameterSupport => parameterRow('acted', text, { integer: true });

/** The rules of this backend. */
export const rules: BackendRules = {
  parameters: {
    TARGET_DEVICE: parameterRow(
      'acted',
      'the device of OpenVINO that runs the model, such as CPU, AUTO or GPU.0; default: CPU',
    ),
    PERFORMANCE_HINT: parameterRow('acted', 'LATENCY, THROUGHPUT or CUMULATIVE_THROUGHPUT; default: LATENCY'),
    NUM_STREAMS: parameterRow(
      'acted',
      'how many batches the device runs side by side: AUTO, NUMA or a number',
    ),
    INFERENCE_NUM_THREADS: threads("threads of the CPU that run batches; default and 0: the server's cores"),
    COMPILATION_NUM_THREADS: threads(
      'threads that compile the model, on other devices than CPU, which has no such property; 0: as if absent',
    ),
    HINT_BF16: parameterRow(
      'acted',
      'YES: the device may compute in BF16; default: in FP32 on CPUs. Any other value is an error',
    ),
    CPU_EXTENSION_PATH: parameterRow(
      'acted',
      "a library of own operators, in the model's directory, beside the library of OpenVINO or in a trusted folder",
    ),
    ENABLE_BATCH_PADDING: parameterRow(
      'acted',
      'YES: a batch is filled up to max_batch_size rows where the model cannot take fewer',
    ),
    RESHAPE_IO_LAYERS: parameterRow('acted', "YES: the model's inputs get the dims of the configuration"),
    SKIP_OV_DYNAMIC_BATCHSIZE: parameterRow(
      'hint',
      "switches off the batches of Triton's device; batches of this server have as many rows as there are",
    ),
  },
};
