/** The intended differences from Triton, for `docs/compatibility.md`. Only what is built is listed. */

/** A difference and its reason. */
export interface Difference {
  /** Triton's behaviour. */
  readonly triton: string;
  /** This server's behaviour, and the reason. */
  readonly here: string;
}

/** The differences in reading configurations and in dynamic batching. */
export const differences: readonly Difference[] = [
  {
    triton:
      'HTTP: elements of JSON that do not fit their datatype, such as 300 for UINT8 or 1e39 for FP32, are cut to its width or become infinite.',
    here: 'INVALID_ARG, with the element. Nothing is cast in silence.',
  },
  {
    triton:
      'HTTP: an empty body, what is no JSON or badly compressed, a value of the wrong type and another number of elements than the shape has are answered with 500, other mistakes of clients with 400. Over both protocols the load of a model that no repository has is INTERNAL, and an unknown `log_format` UNAVAILABLE.',
    here: '400 for all of them, and 404 (NOT_FOUND) for the model: what a client did wrong is no fault of the server, and is not asked again. gRPC messages that cannot be read or decompressed stay INTERNAL, as the specification of gRPC fixes.',
  },
  {
    triton:
      'HTTP: `null` of an optional member, such as `id`, `parameters` or `outputs`, is a value of the wrong type.',
    here: 'It is absent. A free parameter that is null is INVALID_ARG in both.',
  },
  {
    triton: 'HTTP: a client that disconnects is not noticed while its request waits.',
    here: 'Its requests are cancelled.',
  },
  {
    triton: 'HTTP: BYTES outputs are put into JSON as they are, also where they are no text.',
    here: 'INVALID_ARG: ask for them as binary data. What is sent as JSON is JSON.',
  },
  {
    triton: 'HTTP: of a key that is written twice in JSON the first counts.',
    here: 'The last, as in JavaScript. An input or output that is listed twice is INVALID_ARG in both.',
  },
  {
    triton: 'HTTP: whatever is UNAVAILABLE is answered with 503.',
    here: '429 for a full queue or too much in flight, 504 for a time-out, 503 otherwise. The header `tritonts-reason` says why; gRPC has metadata of that name, with the status UNAVAILABLE.',
  },
  {
    triton: 'HTTP: an unload is answered when it has begun.',
    here: "When the model's requests have ended and its memory is free, as from `unloadModel`.",
  },
  {
    triton: 'HTTP: parameters of sequences are ignored by models without a sequence batcher.',
    here: 'UNSUPPORTED, as long as there are no sequences; 0, an empty id and false are no sequence.',
  },
  {
    triton:
      'A configuration that cannot be read, or that breaks a rule checked right after, fails with INTERNAL `failed to poll from model repository`; the cause is in the log only.',
    here: 'INVALID_ARG with file, line and field in the message and in `error.location`, with all problems that were found and a suggestion for misspelt names. Whoever wrote the file needs to know.',
  },
  {
    triton:
      'Of a key that a map in config.pbtxt has twice the last counts, also in `input_map` and `output_map`.',
    here: 'In the maps of a step INVALID_ARG with both lines, because a tensor would go nowhere. In other maps the last counts, and a note says so.',
  },
  {
    triton: 'Label files keep CR and a byte order mark in their labels.',
    here: 'Both are left out, and another encoding than UTF-8 is an error.',
  },
  {
    triton:
      'The backend is inferred from the first sub-folder of a model, and else from what follows the dot in its name.',
    here: 'From the first version that has any files, so that a folder such as `.cache` changes nothing; and what follows the dot counts if it may be a name: `bge-small-v1.5` is no backend 5.',
  },
  {
    triton: 'Polls and loads compare the times of files.',
    here: 'A load compares devices, inodes, sizes and all times of files, folders, links and their targets, and does nothing where all are the same. The parameter `force` loads anyway.',
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
    triton:
      'A model without a configuration is batched where the first dimension of every input and output is variable.',
    here: "Where, besides, it has one name in the model's file, and the graph has no operator that may return more or fewer rows than it is given (such as NonZero or Loop, or one that is not ONNX's; a file in the format .ort is not looked into). Otherwise callers whose requests run together could be answered with each other's rows. `model.notes` says why a model is not batched; a written `max_batch_size` batches it.",
  },
  {
    triton:
      'A model with an output that is no tensor (scikit-learn exports probabilities as a sequence of maps) is not completed.',
    here: 'Its other outputs are, and `model.notes` says which one was left out, and how to export it as a tensor.',
  },
  {
    triton:
      'A `model_warmup` with a batch above the maximum, or an error of its run, mostly crashes the server; random data may be any bytes.',
    here: 'The load fails, with the place in the configuration or the name of the sample. Random data are the same at each load, and booleans are 0 or 1; a file of booleans, too. Paths of files are in the folder `warmup`; an absolute path, or one that leaves it, is refused.',
  },
  {
    triton: 'A written `max_batch_size: 0` counts as left out where `input` or `output` is.',
    here: 'It stays 0: whoever writes it wants no batching.',
  },
  {
    triton: 'A batch that the runtime refuses fails all of its requests.',
    here: 'It is run again in halves, so that only those at fault fail, and `tritonts_inference_reruns` counts them. The parameter `rerun_in_halves` switches that off for a model.',
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
    triton: 'The parameters of a request have no limit.',
    here: 'A request with more than 4,096 is refused with INVALID_ARG, in process, over HTTP and over gRPC.',
  },
  {
    triton: 'A negative `count` of an instance group counts as left out.',
    here: 'INVALID_ARG: it is a slip. So is a negative id of a GPU or device, and a negative `max_candidate_sequences`.',
  },
  {
    triton: 'A library of `op_library_filename` may lie anywhere.',
    here: "In the model's folder, in that of the ONNX Runtime library, or in one that the server's option `trustedFolders` names: see docs/security.md.",
  },
  {
    triton: '`EXECUTION_ENV_PATH` may lead anywhere.',
    here: "To the model's folder, or to one that the server's option `trustedFolders` names.",
  },
  {
    triton: "A model's folder may hold anything.",
    here: 'Files and folders, at most 16,384 of them, 32 deep. Pipes, sockets and devices are refused: to open one may take for ever.',
  },
  {
    triton: 'An input or output whose shape the ONNX file leaves open is taken for one without dimensions.',
    here: 'It has no known rank: completion refuses it, and written dims of any rank are taken.',
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
    triton:
      'A batch closes at the first request of another shape, so requests whose shapes alternate run one by one.',
    here: 'Later requests of its shape join it, and the oldest one that waits leads the next batch; off by the parameter `batch_across_shapes` or the option `batchAcrossShapes`.',
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
  {
    triton:
      "A queue's time-out that a request brings has no effect where default_timeout_microseconds is 0, as only smaller ones count.",
    here: 'It counts: with allow_timeout_override the request says how long it may wait.',
  },
  {
    triton:
      'With any queue policy, limit or level, free instances are noticed by a poll every 500 ms, and late requests then or when they come to the head.',
    here: 'Batches begin when an instance is free, and late requests end when their time is over, while every instance is busy, too.',
  },
  {
    triton: 'Refuses beyond max_queue_size with `Exceeds maximum queue size`.',
    here: 'The message has the model, the level, the limit and how many wait; nothing is refused for want of room that an idle instance makes.',
  },
  {
    triton: '`--metrics-config counter_latencies=false` stops all counters, those of requests among them.',
    here: '`metricsConfig.counterLatencies: false` leaves out the counters of latencies alone.',
  },
  {
    triton: 'The failure counters of a model stay when it is unloaded.',
    here: 'All series of a version go with it.',
  },
  {
    triton: 'Requests that a full queue refuses are counted nowhere.',
    here: 'They are `refused` in the statistics, and `tritonts_inference_request_refused` in the metrics; `fail` has the same numbers as in Triton.',
  },
  {
    triton:
      'Settings of `--metrics-config` that it does not know are ignored, and so are values that make no sense.',
    here: 'INVALID_ARG, with the setting.',
  },
  {
    triton: 'Utilization, memory and energy of GPUs are metrics (`nv_gpu_…`), by DCGM.',
    here: 'The same names, by NVML. What NVML does not tell, as of a part of a divided GPU, has no series.',
  },
  {
    triton:
      'A load that changes nothing but instances or the version policy changes them in place, and the statistics go on.',
    here: 'Every load that finds a change opens its versions anew, and their statistics and metrics begin at 0. One that finds none changes nothing.',
  },
  {
    triton:
      'Requests of a model without a batcher, and those that run, are answered though they were cancelled.',
    here: 'They reject at once, and count as CANCELED. A run goes on, and the rows of a cancelled request are dropped.',
  },
  {
    triton: 'Latencies have counters and summaries, and no histogram that `histogram_quantile` could use.',
    here: 'Beside each counter of a latency stands a family with `_bucket` at the end of its name and the label `le`.',
  },
  {
    triton: 'A key of `metric_tags` may be any text, and buckets of `model_metrics` any numbers.',
    here: 'INVALID_ARG for a key that makes no label, and for buckets that do not ascend: Prometheus could not read the text.',
  },
  {
    triton:
      'Python: requests that a process runs when it crashes fail with INTERNAL, and it is started for the next request.',
    here: 'They fail with UNAVAILABLE, and the process is started anew at once, after a pause that grows. Requests that it had not seen are run by the next one.',
  },
  {
    triton: 'Python: a response sender takes any number of responses, however slow their reader is.',
    here: '`send` waits while its caller has 16 responses or 16 MiB unread.',
  },
  {
    triton:
      'Python: a response that lacks an output which its request wants is a success without it. An output that the configuration does not have is dropped.',
    here: 'The same, but a response that has an output of an unknown name instead of one that is wanted is an error, with both names: it is a slip. The result of a JavaScript model that lacks a wanted output is an error in any case.',
  },
  {
    triton: 'Python: a call that waits for its own instance waits for ever.',
    here: 'UNAVAILABLE, with the chain of models.',
  },
  {
    triton: 'Python: `is_ready()` of a model is asked when its readiness is, which blocks the caller.',
    here: '`checkReady()` and the endpoints ask it; `ready` does not, because it does not wait.',
  },
  {
    triton: 'Python: responses have parameters, and a request can be rescheduled.',
    here: 'UNSUPPORTED from `pb_utils`, as sequence flags and correlation ids of calls are, until sequences exist.',
  },
];
