/** The rules for configurations of TensorFlow models: their parameters and accelerators, and their other runtime. */

import { parameterRow, runtimeKey, type BackendRules, type ParameterSupport } from '../../config/index.js';

const runtime = parameterRow(
  'acted',
  'openvino: OpenVINO runs the SavedModel, without TensorFlow and with its own parameters (not in Triton)',
);

/** An accelerator of instances on GPUs. */
const onGpus = {
  class: 'hint',
  text: 'serves instances on GPUs; there are none',
  parameters: {},
} as const;

/** A parameter that OpenVINO replaces by one of its own. */
const replaced = (text: string): ParameterSupport => parameterRow('hint', text);

const threads = replaced("INFERENCE_NUM_THREADS says how many threads OpenVINO's model has");

/** A parameter that chooses a part of a model which OpenVINO does not choose. */
const chosen = (text: string, neutral: readonly string[] = []): ParameterSupport =>
  parameterRow('refused', text, { neutral });

/** The rules of this backend. */
export const rules: BackendRules = {
  ragged: 'joined',
  completesTensors: true,
  knowsAllAccelerators: true,
  parameters: {
    TF_GRAPH_TAG: parameterRow(
      'acted',
      'the tag of the graph in a SavedModel that has several; default: serve',
    ),
    TF_SIGNATURE_DEF: parameterRow(
      'acted',
      'the signature of a SavedModel; default: serving_default, or another one if there is none of that name',
    ),
    TF_NUM_INTRA_THREADS: parameterRow(
      'acted',
      "threads that an operator may use; default and 0: the server's cores. All models share them, and the first one decides",
      { integer: true },
    ),
    TF_NUM_INTER_THREADS: parameterRow(
      'acted',
      'threads that run operators side by side; default, 0 and 1: a batch runs on one thread',
      { integer: true },
    ),
    TF_USE_PER_SESSION_THREADS: parameterRow(
      'acted',
      'true: the model has threads of its own. true, on or 1; false, off or 0; in any case',
    ),
    MAX_SESSION_SHARE_COUNT: parameterRow(
      'acted',
      'how many instances share a session, which has the values of variables; default: 1',
      { integer: true },
    ),
    TF_INIT_OPS_FILE: parameterRow(
      'acted',
      'a file {"init_ops": ["operation", …]} in the folder of the version or of the model; the operations run once in each session',
    ),
    [runtimeKey]: runtime,
  },
  accelerators: {
    gpu_execution_accelerator: { tensorrt: onGpus, auto_mixed_precision: onGpus, gpu_io: onGpus },
    cpu_execution_accelerator: {},
  },
  runtimes: {
    openvino: {
      backend: 'openvino',
      platforms: ['tensorflow_savedmodel'],
      parameters: {
        [runtimeKey]: runtime,
        TF_GRAPH_TAG: chosen('OpenVINO reads the graph with the tag serve', ['serve']),
        TF_SIGNATURE_DEF: chosen('OpenVINO reads the signature serving_default', ['serving_default']),
        TF_INIT_OPS_FILE: chosen('OpenVINO runs no operations before the first request'),
        TF_NUM_INTRA_THREADS: threads,
        TF_NUM_INTER_THREADS: threads,
        TF_USE_PER_SESSION_THREADS: threads,
        MAX_SESSION_SHARE_COUNT: replaced('all instances share one compiled model of OpenVINO'),
      },
    },
  },
};
