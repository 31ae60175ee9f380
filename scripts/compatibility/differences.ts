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
      'HTTP: JSON elements outside their datatype, such as 300 for UINT8 or 1e39 for FP32, are truncated or become infinite.',
    here: 'INVALID_ARG, which names the element. Nothing is cast silently.',
  },
  {
    triton:
      'HTTP: an empty body, invalid JSON, a badly compressed body, a value of the wrong type, and a number of elements that differs from the shape are 500. Other mistakes of clients are 400. Over both protocols, loading an unknown model is INTERNAL, and an unknown `log_format` is UNAVAILABLE.',
    here: 'All of these are 400, and the unknown model is 404 (NOT_FOUND). A mistake of the client is no fault of the server, and a retry does not help. gRPC messages that cannot be read or decompressed stay INTERNAL, as the specification of gRPC requires.',
  },
  {
    triton:
      'HTTP: `null` for an optional member, such as `id`, `parameters` or `outputs`, is a value of the wrong type.',
    here: 'The member counts as absent. A free parameter that is null is INVALID_ARG in both.',
  },
  {
    triton:
      'Shared memory: a key that cannot be opened, and an output that is larger than its range, are INTERNAL. A region must begin at a page.',
    here: 'INVALID_ARG, because the client is wrong. A region may begin anywhere.',
  },
  {
    triton:
      'Traces: a server that begins with a level but without a file starts, and traces nothing. A change of the general settings with which a model could not be traced changes them, and fails.',
    here: 'The start is refused. The change is refused as a whole.',
  },
  {
    triton: 'OpenAI: `seed` is any integer of 64 bits.',
    here: "It is an integer that JSON's numbers hold exactly: up to 2^53 - 1.",
  },
  {
    triton: 'OpenAI: a chat with any number of messages, tools and values in them is given to the template.',
    here: 'A chat has up to 4,096 messages and 65,536 values; more is 422.',
  },
  {
    triton: 'Traces: `trace_count` of the settings counts down.',
    here: 'It is the count that was given. What is left is kept inside, as in Triton.',
  },
  {
    triton: 'Shared memory: if the file of a region gets shorter, the next access ends the server.',
    here: 'Requests that use the region fail with INVALID_ARG, and the server goes on.',
  },
  {
    triton: 'HTTP: a client that disconnects is not noticed while its request waits.',
    here: 'Its requests are cancelled.',
  },
  {
    triton: 'HTTP: JSON contains BYTES outputs unchanged, even if they are not text.',
    here: 'INVALID_ARG, which advises to ask for binary data. So JSON responses are always valid JSON.',
  },
  {
    triton: 'HTTP: if JSON has a key twice, the first value counts.',
    here: 'The last value counts, as in JavaScript. An input or output that is listed twice is INVALID_ARG in both.',
  },
  {
    triton: 'HTTP: every UNAVAILABLE error has status 503.',
    here: 'The status is 429 for a full queue or too much in flight, 504 for a timeout, and 503 otherwise. The header `tritonts-reason` has the reason. gRPC has metadata of that name, with the status UNAVAILABLE.',
  },
  {
    triton: 'HTTP: an unload is answered when it has begun.',
    here: "An unload is answered when the model's requests have ended and its memory is free, as from `unloadModel`.",
  },
  {
    triton: 'gRPC: `sequence_id` is an `int64_param` or a `string_param`.',
    here: '`uint64_param` is accepted, too.',
  },
  {
    triton:
      'A configuration that cannot be read, or that breaks a rule checked directly afterwards, fails with INTERNAL `failed to poll from model repository`. Only the log has the cause.',
    here: 'INVALID_ARG with file, line and field in the message and in `error.location`. The message lists all problems, with suggestions for misspelt names, so that the author can mend the file.',
  },
  {
    triton:
      'If a map in config.pbtxt has a key twice, the last value counts, also in `input_map` and `output_map`.',
    here: 'In the maps of a step it is INVALID_ARG with both lines, because one tensor would be lost. In other maps the last value counts, and a note says so.',
  },
  {
    triton: 'Labels keep the CR and the byte order mark of their file.',
    here: 'Both are removed. A file that is not UTF-8 is an error.',
  },
  {
    triton:
      'The backend is inferred from the first sub-folder of a model, or from the text after the dot in its name.',
    here: 'It is inferred from the first version that has any files, so a folder such as `.cache` changes nothing. The text after the dot counts only if it can be a name: `bge-small-v1.5` does not mean a backend 5.',
  },
  {
    triton: 'Polls and loads compare the times of files.',
    here: 'A load compares devices, inodes, sizes and all times of files, folders, links and their targets. If all are equal it does nothing. The parameter `force` always loads. A poll does nothing either if only times have changed, and the files have the content that they had.',
  },
  {
    triton: 'A poll loads a model whose files are still being copied.',
    here: 'A model is left alone until two polls in a row have seen the same files.',
  },
  {
    triton: 'A repository that cannot be listed counts as empty: a poll unloads all its models.',
    here: 'It changes nothing. The log has one warning, and `rescan()` returns the reason.',
  },
  {
    triton: 'A load downloads the whole folder of a model from an object store, each time.',
    here: 'It downloads the chosen versions and the files beside them. A cache on the disk keeps them for later loads, restarts and other servers.',
  },
  {
    triton:
      'A poll of an object store compares times in whole seconds, and does not see that a file was removed. In Azure it sees no change at all.',
    here: 'It compares the names, sizes and etags or generations of all objects.',
  },
  {
    triton: 'Each poll tries a load that failed again.',
    here: 'The pauses are 1, 2, 4, … polls, at most a quarter of an hour. The load is tried again at once when the files change, or a model that it needs is loaded.',
  },
  {
    triton: 'A model of a name that a second repository gets is unloaded by a poll.',
    here: 'It is served as before, with the reason in the index.',
  },
  {
    triton: 'A change of only `version_policy` or `instance_group` reloads no version.',
    here: 'A changed config.pbtxt reloads all versions. No request is lost.',
  },
  {
    triton: 'A poll follows right after the start.',
    here: 'The first poll follows after a period. The start has just loaded everything.',
  },
  {
    triton: 'The index entry of a model with an unreadable configuration has only its name.',
    here: 'The entry has the reason.',
  },
  {
    triton: 'A load stops at the first problem of a configuration.',
    here: 'One error lists all problems; its `cause` is an AggregateError.',
  },
  {
    triton:
      'A `batch_input` whose type or number of dims differs from the model loads, and each request fails. So does a `batch_output` of strings, or with more dims than its source.',
    here: 'The load fails and names the field.',
  },
  {
    triton:
      'BATCH_ITEM_SHAPE and BATCH_ITEM_SHAPE_FLATTEN of a model without batches take the first dim of the source for rows.',
    here: 'UNSUPPORTED. There are no rows.',
  },
  {
    triton: 'Settings that the chosen backend does not know are ignored.',
    here: 'No setting is ignored silently. A setting that would change results or behaviour is refused (UNSUPPORTED). Other settings are listed in `model.notes`.',
  },
  {
    triton: 'A model on the CPU has two instances by default (onnxruntime, tensorflow).',
    here: 'The default is one. Instances share one session here. One instance with all cores was as fast as two with half of them, at half the latency. A configuration that says 2 gets 2.',
  },
  {
    triton:
      'A model without a configuration is batched if the first dimension of every input and output is variable.',
    here: "That dimension must also have one name in the model's file. No operator of the graph may return more or fewer rows than it gets, as NonZero and Loop may, and operators of other domains. A file in the format .ort is not inspected, and not batched. A model of TensorFlow has no such names, and is batched as in Triton. Otherwise callers of one batch could get each other's rows. `model.notes` says why a model is not batched; a written `max_batch_size` batches it.",
  },
  {
    triton:
      'A model with an output that is not a tensor is not completed. (scikit-learn exports probabilities as a sequence of maps.)',
    here: 'Its other outputs are completed. `model.notes` names the omitted output, and says how to export it as a tensor.',
  },
  {
    triton:
      'A `model_warmup` with a batch above the maximum, or a failing run, mostly crashes the server. Random data may be any bytes.',
    here: 'The load fails and names the place in the configuration or the sample. Random data are the same at each load. Random booleans are 0 or 1, and those of a file must be. Paths are in the folder `warmup`; an absolute path, or one that leaves the folder, is refused.',
  },
  {
    triton: 'A written `max_batch_size: 0` counts as absent if `input` or `output` is absent.',
    here: 'It stays 0, because its author wants no batching.',
  },
  {
    triton: 'If the runtime fails a batch, all of its requests fail.',
    here: 'The batch runs again in halves, so that only the faulty requests fail. `tritonts_inference_reruns` counts these runs. The parameter `rerun_in_halves` turns this off for a model.',
  },
  {
    triton: 'A model with two inputs or two outputs of one name loads; the first one counts.',
    here: 'INVALID_ARG, because one of them is a mistake.',
  },
  {
    triton: 'An enum value may be any number.',
    here: 'Numbers without a name are refused like unknown names.',
  },
  {
    triton: '64-bit integers have 64 bits.',
    here: 'They are JavaScript numbers; a number above 2^53 - 1 is refused. In the JSON form all of them are numbers. Triton prints some as strings (`initial_state.dims`, dims of `graph_spec`, `secondary_devices.device_id`).',
  },
  {
    triton: 'Configuration files, instances and dims have no limit.',
    here: 'A file above 1 MiB, a model with more than 1,024 instances and a tensor with more than 1,024 dims are refused. So a wrong file cannot exhaust the process.',
  },
  {
    triton: 'The parameters of a request have no limit.',
    here: 'A request with more than 4,096 is refused with INVALID_ARG, in process, over HTTP and over gRPC.',
  },
  {
    triton: 'A negative `count` of an instance group counts as absent.',
    here: 'INVALID_ARG, because it is a mistake. The same holds for a negative id of a GPU or device, and a negative `max_candidate_sequences`.',
  },
  {
    triton:
      'Names, types and shapes of states are not compared with the model. If they do not fit, each request fails. The same holds for `use_growable_memory` on the CPU.',
    here: 'The load fails with INVALID_ARG, and names the state and the tensor of the model.',
  },
  {
    triton:
      'An entry of `control_input` may have no control, or several. Then the model gets no value, or one of them.',
    here: 'INVALID_ARG, because a control tensor has one value. The same holds for a control or state that is an input, too.',
  },
  {
    triton:
      'A key of the response cache is a hash of the bytes of the inputs, and entries are not compared. Shapes, datatypes, wanted outputs and parameters make no difference, and a reloaded model gives old answers.',
    here: 'The whole request is compared, with the load of the model. So no request gets the answer of another one. docs/cache.md has all differences of the cache.',
  },
  {
    triton: 'Without `initial_state`, a new sequence begins with memory that nobody has set.',
    here: 'It begins with zeros, or empty strings.',
  },
  {
    triton:
      'A state of strings begins with empty strings, even if `initial_state` has a `data_file`. The first request of a state with variable dims has 1 for each of them.',
    here: 'It begins with the strings of the file, and has the dims of `initial_state`.',
  },
  {
    triton: '`max_sequence_idle_microseconds` counts from the arrival of the last request.',
    here: 'It counts from the end of the last run, and not in the backlog. So a slow model does not lose its sequences.',
  },
  {
    triton: 'A warm-up sample needs a value for each control tensor. With states it always fails.',
    here: 'Controls and states that a sample does not name are zeros.',
  },
  {
    triton: 'A library of `op_library_filename` may lie anywhere.',
    here: "It must lie in the model's folder, beside the library of ONNX Runtime or TensorFlow, or in a folder of the server's option `trustedFolders`; see docs/security.md.",
  },
  {
    triton: '`EXECUTION_ENV_PATH` may lead anywhere.',
    here: "It must lead to the model's folder, or to a folder of the server's option `trustedFolders`.",
  },
  {
    triton: 'Links in a repository may lead anywhere.',
    here: 'They must end in the repository, or in a folder of `trustedFolders`, unless `outsideLinks` (`--outside-links`) is set; see docs/security.md.',
  },
  {
    triton: "A model's folder may contain anything.",
    here: 'It may contain files and folders, at most 16,384, in a depth of 32. Pipes, sockets and devices are refused, because opening one may take forever.',
  },
  {
    triton: 'If the ONNX file does not give a shape, the input or output counts as one without dimensions.',
    here: 'Its rank is unknown. Completion refuses it, and written dims of any rank are accepted.',
  },
  {
    triton: 'A reshape to an empty shape needs `max_batch_size` above 0.',
    here: 'It is allowed without batching too: the model gets a tensor without dimensions.',
  },
  {
    triton:
      'Without a queue policy, a batch closes at the first preferred size that it reaches: five waiting requests with sizes [2, 4] run as 2, 2, 1.',
    here: 'It closes at the largest preferred size that it can reach: 4, 1. Triton does the same if there is a queue policy.',
  },
  {
    triton:
      'Requests may or may not join a batch that waits for an instance: six waiting requests may run as 3 + 3.',
    here: 'A free instance takes its batch from all requests that wait at that time: 6.',
  },
  {
    triton:
      'A batch closes at the first request of another shape, so requests of alternating shapes run one by one.',
    here: 'Later requests of its shape join it, and the oldest waiting request leads the next batch. The parameter `batch_across_shapes` or the option `batchAcrossShapes` turns this off.',
  },
  {
    triton: 'KIND_AUTO means GPUs if the machine has any.',
    here: 'The backend must also be able to use them: ONNX Runtime without its CUDA provider runs on the CPU.',
  },
  {
    triton:
      'If a configuration has `parameters`, four options of the CUDA provider that are missing there are reset, even if the accelerator `cuda` sets them.',
    here: 'The values of the accelerator stay, unless one of the four is written.',
  },
  {
    triton:
      "A request's queue timeout has no effect if default_timeout_microseconds is 0, because only shorter ones count.",
    here: 'It has an effect: with allow_timeout_override the request sets how long it may wait.',
  },
  {
    triton:
      'With any queue policy, limit or level, a poll every 500 ms notices free instances. Late requests are noticed then, or when they reach the head of the queue.',
    here: 'A batch begins when an instance is free. A late request ends when its time is over, even while every instance is busy.',
  },
  {
    triton: 'Beyond max_queue_size a request is refused with `Exceeds maximum queue size`.',
    here: 'The message has the model, the level, the limit and the number of waiting requests. A request that an idle instance can take is never refused.',
  },
  {
    triton: '`--metrics-config counter_latencies=false` stops all counters, including those of requests.',
    here: '`metricsConfig.counterLatencies: false` stops only the counters of latencies.',
  },
  {
    triton: 'The failure counters of a model stay when it is unloaded.',
    here: 'All series of a version disappear with it.',
  },
  {
    triton: 'Requests that a full queue refuses are not counted.',
    here: 'They are `refused` in the statistics, and `tritonts_inference_request_refused` in the metrics. `fail` has the same numbers as in Triton.',
  },
  {
    triton: 'Unknown settings and invalid values of `--metrics-config` are ignored.',
    here: 'INVALID_ARG, which names the setting.',
  },
  {
    triton: 'Utilization, memory and energy of GPUs are metrics (`nv_gpu_…`), by DCGM.',
    here: 'The metrics have the same names, by NVML. A value that NVML does not give, as for a part of a divided GPU, has no series.',
  },
  {
    triton:
      'A load that changes only instances or the version policy changes them in place, and the statistics continue.',
    here: 'Every load that finds a change opens its versions anew, and their statistics and metrics begin at 0. A load that finds no change does nothing.',
  },
  {
    triton: 'Cancelled requests of a model without a batcher, and running ones, are answered all the same.',
    here: 'They reject at once, and count as CANCELED. A run continues, and the rows of a cancelled request are dropped.',
  },
  {
    triton: 'Latencies have counters and summaries, and no histogram for `histogram_quantile`.',
    here: 'Each counter of a latency also has a family with `_bucket` at the end of its name and the label `le`.',
  },
  {
    triton: 'A key of `metric_tags` may be any text, and buckets of `model_metrics` any numbers.',
    here: 'INVALID_ARG for a key that cannot be a label, and for buckets that do not ascend, because Prometheus could not read the text.',
  },
  {
    triton:
      'Python: if a process crashes, its requests fail with INTERNAL, and it restarts for the next request.',
    here: 'They fail with UNAVAILABLE. The process restarts after a pause that grows with each crash. The new process runs the requests that the old one had not seen.',
  },
  {
    triton: 'Python: a response sender takes any number of responses, even if their reader is slow.',
    here: '`send` waits while its caller has 16 responses or 16 MiB unread.',
  },
  {
    triton:
      'Python: a response without a wanted output is a success without it. An output that the configuration does not list is dropped.',
    here: 'The same, with one exception: a response with an unknown output in place of a wanted one is an error with both names. A JavaScript model must always return all wanted outputs.',
  },
  {
    triton: 'Python: a call that waits for its own instance waits forever.',
    here: 'UNAVAILABLE, with the chain of models.',
  },
  {
    triton: 'Python: a query of readiness calls `is_ready()` of the model, which blocks the caller.',
    here: '`checkReady()` and the endpoints call it. `ready` does not, because it does not wait.',
  },
  {
    triton: 'The parameters of a response have no limit, and a name may come several times.',
    here: 'They have at most 64 KiB. A name that is set again has the last value.',
  },
  {
    triton: 'A response from the cache lacks the parameters that the model returned.',
    here: 'An answer with parameters is not stored.',
  },
  {
    triton:
      'fil: every model needs `is_classifier`, and a classifier `threshold`. A model without a configuration fails to load.',
    here: 'They are false and 0.5 if they are not written. A model without a configuration is completed from its file.',
  },
  {
    triton: 'fil: without `model_type` the file is `xgboost.model`, in the binary format of XGBoost.',
    here: 'The same, unless the folder has one of the other known files: then its name decides.',
  },
  {
    triton:
      'openvino: a model with batching is compiled for exactly `max_batch_size` rows. Smaller batches fail without `ENABLE_BATCH_PADDING`.',
    here: 'A batch has any number of rows up to `max_batch_size`. Only a model that cannot be reshaped so needs the padding.',
  },
  {
    triton: 'openvino: FP64 and BF16 are refused. Processors with BF16 compute in BF16.',
    here: 'They are served. The device CPU computes in FP32 unless `HINT_BF16` is YES.',
  },
  {
    triton:
      'tensorflow: a model with a scalar, or with a tensor that has no rank in its signature, is not completed.',
    here: 'A model with a scalar is completed without batches. A tensor without a rank must be written.',
  },
  {
    triton: 'tensorflow: a model needs the library of TensorFlow.',
    here: 'With the parameter `runtime: "openvino"` a SavedModel runs with OpenVINO, with its parameters.',
  },
  {
    triton:
      'Namespaces: a composing model may be unloaded by its name; the ensembles that use it become unavailable.',
    here: 'INVALID_ARG as long as an ensemble needs one of the models of that name, as without namespaces. None of them is unloaded.',
  },
  {
    triton:
      "Repository agents: libraries `libtritonrepoagent_<name>.so`. `checksum` knows MD5, and reads files out of the model's folder, too.",
    here: "Objects of the program, modules in JavaScript, or such libraries. `checksum` knows SHA256 and SHA512, too, and reads files in the model's folder only.",
  },
  {
    triton: 'Repository agents: a model whose files come with the load may have agents.',
    here: 'UNSUPPORTED, because the files are in no folder.',
  },
  {
    triton: 'Repository agents: when one version of a model changes, the others go on with their files.',
    here: 'All versions are loaded again, from the folder that the agents choose now.',
  },
  {
    triton:
      'Rate limiter: only the first instance of those that wait is tried. An instance that was idle gets all turns until it has had as many batches as the others.',
    here: 'An instance passes those that need other resources. An instance that was idle begins with the turn of the others.',
  },
  {
    triton: 'pytorch: a missing `input` or `output` is INTERNAL.',
    here: 'It is INVALID_ARG, with what to write. So are an index that no argument of `forward` has, and two inputs of one argument.',
  },
  {
    triton: 'pytorch: the result is a tensor, a list of strings, or a tuple of these. BF16 is refused.',
    here: 'It may also be a list or a dict of tensors. BF16 is served.',
  },
  {
    triton: 'pytorch: a model that changes its input in place changes the memory of the request.',
    here: 'Such a model gets a copy.',
  },
  {
    triton: 'OpenAI: the front end is a program of its own, with a tokenizer for all models (`--tokenizer`).',
    here: "It is part of `tritonts serve` (`--openai-port`) and of the library. Each model's folder has its chat template; there is no tokenizer.",
  },
  {
    triton: 'OpenAI: an error is `{"detail":…}`, and one of a body that is too large has only `error`.',
    here: "An error has `detail` and OpenAI's `error`, so that the official clients show its text, type and code. What Triton answers with 500 while a model is not ready or too much is in flight is 429, 503 or 504, which these clients try again.",
  },
  {
    triton:
      'OpenAI: calls of tools are read out of the text of Llama and Mistral, tools can be forced, `logprobs` of vLLM are passed on, and LoRA adapters are models.',
    here: 'These are refused: 400, or the flag is.',
  },
  {
    triton:
      'OpenAI: stop sequences and the limit of tokens are left to the model, and `finish_reason` is always `stop` or `tool_calls`.',
    here: 'The text ends at a stop sequence even if the model does not know it, and the request is cancelled. A model that tells its tokens is held to the limit, and `finish_reason` may be `length`.',
  },
  {
    triton:
      'OpenAI: `sampling_parameters` has a default for each field that a client leaves away, and nothing is sent for inputs that a model does not have.',
    here: "It has `max_tokens` and what the client gives. Inputs that a model does not have are left away, and those that it insists on get OpenAI's defaults.",
  },
  {
    triton: 'OpenAI: embeddings come from vLLM alone, one a request.',
    here: 'They come from any model with a row of FP32 for a text, too, and for up to 2,048 texts a request.',
  },
];
