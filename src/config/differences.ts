/** Where we differ from Triton on purpose, for `docs/compatibility.md`. Only what is built is listed. */

/** One difference and its reason. */
export interface Difference {
  /** What Triton does. */
  readonly triton: string;
  /** What happens here, and why. */
  readonly here: string;
}

/** The differences in reading configurations and in dynamic batching. */
export const differences: readonly Difference[] = [
  {
    triton:
      'A configuration that cannot be read, or that breaks a rule checked right after, fails with INTERNAL `failed to poll from model repository`; the cause is in the log only.',
    here: 'INVALID_ARG with file, line and field in the message and in `error.location`, with all problems that were found and a suggestion for misspelt names. Whoever wrote the file needs to know.',
  },
  {
    triton: 'A model whose configuration cannot be read has an index entry with nothing but its name.',
    here: 'The entry carries the reason.',
  },
  {
    triton: 'Stops at the first problem of a configuration.',
    here: 'Lists all of them in one error, whose `cause` is an AggregateError.',
  },
  {
    triton: 'Ignores settings that the chosen backend does not know.',
    here: 'Nothing is ignored in silence: what would change results or behaviour is refused (UNSUPPORTED), what would not is listed in `model.notes`.',
  },
  {
    triton: 'A model on the CPU has two instances by default (onnxruntime, tensorflow).',
    here: 'One. Instances share one session here, and one instance with all cores was as fast as two with half of them, at half the latency. A configuration that says 2 gets 2.',
  },
  {
    triton: 'Two inputs or two outputs of one name load; the first wins.',
    here: 'INVALID_ARG: one of them is a slip.',
  },
  {
    triton: 'An enum value may be any number.',
    here: 'Numbers without a name are refused like unknown names.',
  },
  {
    triton: '64-bit integers have 64 bits.',
    here: 'They are JavaScript numbers; one beyond 2^53 - 1 is refused. In the JSON form all of them are numbers; Triton prints some as strings (`initial_state.dims`, dims of `graph_spec`, `secondary_devices.device_id`).',
  },
  {
    triton: 'Configuration files have no limit, nor have the numbers of instances and of dims.',
    here: 'A file above 1 MiB, a model with more than 1,024 instances and a tensor with more than 1,024 dims are refused, so that a wrong file cannot take the time and memory of the process.',
  },
  {
    triton: 'A reshape to an empty shape needs `max_batch_size` above 0.',
    here: 'It is allowed without batching too: the model gets a tensor without dimensions.',
  },
  {
    triton:
      'Without a queue policy, a batch closes at the first preferred size that is reached: five waiting requests with sizes [2, 4] run as 2, 2, 1.',
    here: 'The largest preferred size that is reached: 4, 1. It is what Triton does itself where there is a queue policy.',
  },
  {
    triton:
      'Whether requests that arrive while a batch waits for an instance still join it depends on chance: six waiting requests may run as 3 + 3.',
    here: 'An instance takes its batch when it is free, from all that wait then: 6.',
  },
  {
    triton: 'KIND_AUTO means GPUs wherever the machine has some.',
    here: 'Where the backend can use them, too: ONNX Runtime without its CUDA provider beside it runs on the CPU.',
  },
  {
    triton:
      'Where a configuration has `parameters`, the four of the CUDA provider that it leaves out put back to defaults what the accelerator `cuda` says.',
    here: 'What the accelerator says holds, unless one of the four is written.',
  },
];
