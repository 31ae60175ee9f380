/*
 * tritonts.h: requests from native code to a server of tritonts in the same process.
 *
 * A program gets the table of functions, tritonts_api, from JavaScript: `nativeApi` of the package
 * has its address. It links no library. docs/native.md of the package has an example.
 *
 *   attach --> open a model --> make requests --> submit --> response callbacks --> release
 * callback
 *
 * Versions. `version` grows when something here changes its meaning. Within a version, functions
 * are only added at the end of the table, and fields at the end of structures. So check with
 * tritonts_api_fits, once, before the first call.
 *
 * Errors. A function that returns a tritonts_error* returns NULL on success. The caller deletes an
 * error (error_delete). Null pointers and values without meaning are INVALID_ARG. Nothing throws.
 *
 * Threads. Any thread may call any function. Two threads must not use one object at the same time,
 * except where a comment says so. The callbacks of requests run on the thread on which the request
 * ends: a thread of the engine; a thread of JavaScript whose models are functions, or that closes
 * the server, or that submits or cancels other requests; or a thread that calls submit,
 * request_cancel or detach. A batch that is known to be short may run within submit, so the thread
 * that calls submit must not hold a lock that the callbacks take. They must not block, and must not
 * throw or jump out: that thread waits for them. They may call every function but detach. A thread
 * of JavaScript must not wait for a request to a model that is a function of this thread, and must
 * not detach while one runs: it would wait for itself.
 *
 * Texts are UTF-8 and end with a zero byte. Functions copy the texts that they get.
 */
#ifndef TRITONTS_H
#define TRITONTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRITONTS_API_VERSION 1

/* The type tag of the external value `nativeApi.external` (napi_check_object_type_tag). */
#define TRITONTS_API_TAG_LOWER 0x7c1f0b52a6e94d38ULL
#define TRITONTS_API_TAG_UPPER 0x9d3e51c7f0284ab6ULL

/* Codes of errors, as in TritonError.code. error_code_name has their names. */
enum {
  TRITONTS_UNKNOWN = 1,
  TRITONTS_INTERNAL = 2,
  TRITONTS_NOT_FOUND = 3,
  TRITONTS_INVALID_ARG = 4,
  TRITONTS_UNAVAILABLE = 5,
  TRITONTS_UNSUPPORTED = 6,
  TRITONTS_ALREADY_EXISTS = 7,
  TRITONTS_CANCELLED = 8
};

/* Datatypes of tensors. */
enum {
  TRITONTS_BOOL = 1,
  TRITONTS_UINT8 = 2,
  TRITONTS_UINT16 = 3,
  TRITONTS_UINT32 = 4,
  TRITONTS_UINT64 = 5,
  TRITONTS_INT8 = 6,
  TRITONTS_INT16 = 7,
  TRITONTS_INT32 = 8,
  TRITONTS_INT64 = 9,
  TRITONTS_FP16 = 10,
  TRITONTS_FP32 = 11,
  TRITONTS_FP64 = 12,
  TRITONTS_BYTES = 13, /* each element: its length in 4 bytes, little endian, then its bytes */
  TRITONTS_BF16 = 14
};

/* Kinds of parameters, and what `value` points to. */
enum {
  TRITONTS_PARAMETER_STRING = 0, /* the text itself */
  TRITONTS_PARAMETER_INT = 1,    /* an int64_t */
  TRITONTS_PARAMETER_BOOL = 2,   /* an int32_t, 0 or 1 */
  TRITONTS_PARAMETER_DOUBLE = 3  /* a double */
};

/* Flags of request_set_sequence. */
enum { TRITONTS_SEQUENCE_START = 1, TRITONTS_SEQUENCE_END = 2 };

/* Flags of a response callback. */
enum {
  TRITONTS_RESPONSE_FINAL = 1,    /* the last response to this submission */
  TRITONTS_RESPONSE_NO_MEMORY = 2 /* `response` is NULL, because there was no memory for it */
};

/* Flags of a release callback. */
enum {
  /* A run that was given up may still read the inputs and write to the outputs' memory. Leave that
   * memory as it is until the process ends. The request can be deleted, but not submitted again. */
  TRITONTS_RELEASE_ABANDONED = 1,
  /* A further release callback of the same attachment follows at once on this thread: the last one
   * of a batch lacks the flag. A callee that wakes a thread can wait for that. Ignore it if several
   * parts of a program share an attachment. */
  TRITONTS_RELEASE_MORE = 2
};

typedef struct tritonts_error tritonts_error;
typedef struct tritonts_server tritonts_server;
typedef struct tritonts_model tritonts_model;
typedef struct tritonts_request tritonts_request;
typedef struct tritonts_response tritonts_response;
struct TRITONSERVER_Server; /* of Triton's headers (nativeApi.tritonInclude) */

/* An input or output of a model. */
typedef struct tritonts_tensor_info {
  const char* name;
  const int64_t* dims; /* -1: any size. With the batch dimension, if the model has one */
  size_t rank;
  int32_t datatype;
  int32_t optional; /* 1: a request may leave the input out */
} tritonts_tensor_info;

/* The version that a model handle means at the moment. */
typedef struct tritonts_model_info {
  const char* model_namespace; /* empty on a server without namespaces */
  const char* name;
  int64_t version;
  uint32_t max_batch_size; /* 0: tensors have no batch dimension */
  int32_t decoupled;       /* 1: a request gets any number of responses */
  const tritonts_tensor_info* const* inputs;
  size_t input_count;
  const tritonts_tensor_info* const* outputs;
  size_t output_count;
} tritonts_model_info;

/* A version of a model, or a model without versions. */
typedef struct tritonts_model_entry {
  const char* model_namespace;
  const char* name;
  int64_t version;    /* -1: no version of the model is known */
  const char* state;  /* READY, LOADING, UNLOADING, UNAVAILABLE; empty: never loaded */
  const char* reason; /* why it is in that state; may be empty */
} tritonts_model_entry;

typedef struct tritonts_model_list {
  const tritonts_model_entry* const* entries; /* sorted by name, then by namespace */
  size_t count;
} tritonts_model_list;

/* It never changes, because structures contain it. */
typedef struct tritonts_duration {
  uint64_t count;
  uint64_t ns;
} tritonts_duration;

/* The statistics of a version, with Triton's names. They count the requests of all callers. The
 * caller of model_statistics sets `size` to sizeof(tritonts_statistics). */
typedef struct tritonts_statistics {
  size_t size;
  int64_t version;
  uint64_t last_inference_ms; /* since 1970; 0: never */
  uint64_t inference_count;
  uint64_t execution_count;
  tritonts_duration success;
  tritonts_duration fail;
  tritonts_duration queue;
  tritonts_duration compute_input;
  tritonts_duration compute_infer;
  tritonts_duration compute_output;
  tritonts_duration cache_hit;
  tritonts_duration cache_miss;
  uint64_t cancelled;       /* of `fail`: cancelled by their callers */
  uint64_t timed_out;       /* of `fail`: timed out in the queue */
  uint64_t refused;         /* never accepted, mostly because the queue was full; not of `fail` */
  uint64_t in_flight_bytes; /* of the whole server: what counts against maxInFlightBytes */
} tritonts_statistics;

/* An output of a response. */
typedef struct tritonts_output {
  const char* name;
  const int64_t* dims;
  size_t rank;
  const void* data; /* aligned to 64 bytes, or inside of a batch's memory; the caller's memory after
                       request_set_output */
  size_t bytes;
  int32_t datatype;
} tritonts_output;

/* A parameter of a response: what the model returned besides outputs. */
typedef struct tritonts_parameter {
  const char* name;
  const void* value; /* what `kind` says */
  size_t bytes;      /* of the value; of a text, without the zero byte behind it */
  int32_t kind;      /* TRITONTS_PARAMETER_STRING … */
} tritonts_parameter;

/* When the batch of a request ran, by a clock without origin. The caller of response_timings sets
 * `size`. */
typedef struct tritonts_timings {
  size_t size;
  uint64_t queue_ns;
  uint64_t compute_input_ns;
  uint64_t compute_infer_ns;
  uint64_t compute_output_ns;
  uint32_t batch_size; /* rows; 0: the request was in no batch, and all is 0 */
} tritonts_timings;

/*
 * Takes a response. The callee owns it, and deletes it (response_delete), here or later, on any
 * thread. Responses to one request come one after the other. `response` is NULL if the request of a
 * decoupled model ended without a further response, and with TRITONTS_RESPONSE_NO_MEMORY.
 */
typedef void (*tritonts_response_fn)(tritonts_request* request, tritonts_response* response,
                                     uint32_t flags, void* user);
/*
 * The engine has finished with the request: called once for each accepted submission, after the
 * final response was taken. From its beginning the request and its memory are the caller's again:
 * it may be submitted again or deleted.
 */
typedef void (*tritonts_release_fn)(tritonts_request* request, uint32_t flags, void* user);

typedef struct tritonts_api {
  uint32_t version; /* TRITONTS_API_VERSION of the engine */
  uint32_t size;    /* bytes of its table */

  /* --- Errors. Two threads may read one error. */
  int32_t (*error_code)(const tritonts_error* error);
  const char* (*error_code_name)(const tritonts_error* error);
  /* The reason of an UNAVAILABLE error, such as QUEUE_FULL (TritonError.reason); empty: none. */
  const char* (*error_reason)(const tritonts_error* error);
  const char* (*error_message)(const tritonts_error* error);
  void (*error_delete)(tritonts_error* error);

  /* --- The server. */
  /* Attaches to a server: `engine` and `id` are those of `server.handle` in JavaScript.
   * INVALID_ARG: the handle is of another copy of the package. UNAVAILABLE: the server is closed.
   * An attachment keeps neither the server open nor the process alive. */
  tritonts_error* (*attach)(uint32_t engine, uint32_t id, tritonts_server** server);
  /* Cancels all requests of the attachment, waits until each has had its release callback, and
   * deletes the attachment. Its models, requests and responses stay valid until they are deleted,
   * but are refused. After it has succeeded, no callback runs. UNAVAILABLE after `timeout_ms`: some
   * still run; the attachment takes no more requests, and detach may be called again. INVALID_ARG
   * from a callback, which would wait for itself. Programs that the system may unload, such as
   * addons of worker threads, call it before that. */
  tritonts_error* (*detach)(tritonts_server* server, uint64_t timeout_ms);
  /* All models and versions that the server knows, as they are now. Two threads may call it for one
   * server. */
  tritonts_error* (*list_models)(tritonts_server* server, const tritonts_model_list** list);
  void (*model_list_delete)(const tritonts_model_list* list);

  /* --- Models. Two threads may use one model at the same time, except to delete it. */
  /* Opens a model. `model_namespace` NULL: the only model of this name. `version` -1: at each
   * submission the newest version that is ready, as in JavaScript. The model must be known, but
   * need not be ready. NOT_FOUND: it is unknown. */
  tritonts_error* (*model_open)(tritonts_server* server, const char* model_namespace,
                                const char* name, int64_t version, tritonts_model** model);
  /* Requests that were made of the model stay valid. */
  void (*model_delete)(tritonts_model* model);
  /* NOT_FOUND, UNAVAILABLE: no version serves. */
  tritonts_error* (*model_describe)(tritonts_model* model, const tritonts_model_info** info);
  void (*model_info_delete)(const tritonts_model_info* info);
  tritonts_error* (*model_statistics)(tritonts_model* model, tritonts_statistics* statistics);

  /* --- Requests. A request is its caller's until submit accepts it, and again from the release
   * callback on. Between them, request_cancel is the only function that may be called with it. It
   * can be submitted any number of times, and keeps what was set. */
  tritonts_error* (*request_new)(tritonts_model* model, tritonts_request** request);
  /* INVALID_ARG, with no effect: the request is in flight. */
  tritonts_error* (*request_delete)(tritonts_request* request);
  /* Either function may be NULL, but without `response` responses are deleted unread. `user` is
   * passed on to them. */
  tritonts_error* (*request_set_callbacks)(tritonts_request* request, tritonts_response_fn response,
                                           tritonts_release_fn release, void* user);
  /* Sets an input, or replaces it. The bytes are not copied: from submit to the release callback
   * they must stay unchanged. `dims` are copied. Names, datatypes, dims and sizes are checked by
   * submit. */
  tritonts_error* (*request_set_input)(tritonts_request* request, const char* name,
                                       int32_t datatype, const int64_t* dims, size_t rank,
                                       const void* data, size_t bytes);
  /* Adds bytes to an input: its bytes are those of all parts, one after the other. */
  tritonts_error* (*request_append_input)(tritonts_request* request, const char* name,
                                          const void* data, size_t bytes);
  void (*request_remove_inputs)(tritonts_request* request);
  /* Adds an output to the wanted ones. Without any, all outputs come. */
  tritonts_error* (*request_want_output)(tritonts_request* request, const char* name);
  /* The same, and the output is written to memory of the caller, which must not overlap with inputs
   * or other outputs. Without need it is not written elsewhere before. If it is larger than
   * `bytes`, the response is INVALID_ARG. Not for decoupled models. */
  tritonts_error* (*request_set_output)(tritonts_request* request, const char* name, void* data,
                                        size_t bytes);
  void (*request_remove_outputs)(tritonts_request* request);
  /* INVALID_ARG: more than 131072 bytes. */
  tritonts_error* (*request_set_id)(tritonts_request* request, const char* id);
  /* 0: the default of the model's queue policy. */
  tritonts_error* (*request_set_priority)(tritonts_request* request, uint64_t priority);
  /* The time that it may wait in the queue; 0: as the model's queue policy says. */
  tritonts_error* (*request_set_timeout)(tritonts_request* request, uint64_t microseconds);
  /* A correlation id: `text`, or the number if `text` is NULL. 0 is no id. UNSUPPORTED: more than
   * 128 bytes of text. */
  tritonts_error* (*request_set_sequence)(tritonts_request* request, uint64_t id, const char* text,
                                          uint32_t flags);
  /* Sets a parameter for the model, or replaces it. INVALID_ARG: the name is reserved, or there are
   * more than 4096 parameters or 131072 bytes of them. */
  tritonts_error* (*request_set_parameter)(tritonts_request* request, const char* name,
                                           int32_t kind, const void* value);
  void (*request_remove_parameters)(tritonts_request* request);
  /* Checks and submits requests, in this order. `*accepted` is how many were accepted: each of them
   * gets one final response and one release callback, maybe before submit returns. If there is an
   * error, it is about requests[*accepted], which stays its caller's without a callback, as do
   * those behind it. A full queue (QUEUE_FULL) and the limit of bytes (TOO_MUCH_IN_FLIGHT) are such
   * errors. Only if the engine has accepted a later request of the call, they are responses, as
   * are the errors of ensembles' later steps. So a release callback that submits again ends with an
   * error, and does not cause its own call. A response from a cache ends a request within submit:
   * a callback that submits such requests without end keeps its thread. One call for many requests
   * is faster than one for each.
   * `accepted` may be NULL for a single request. */
  tritonts_error* (*submit)(tritonts_request* const* requests, size_t count, size_t* accepted);
  /* Cancels what is in flight of the request. It still gets its final response, CANCELLED unless it
   * ends otherwise before. Any thread may call it at any time before the request is deleted.
   * Without effect if nothing is in flight. */
  void (*request_cancel)(tritonts_request* request);

  /* --- Responses. All that these functions return is valid until the response is deleted. Two
   * threads may read one response. A response counts in the server's maxInFlightBytes, and the
   * responses of a decoupled model as unread, until it is deleted. Up to 16 responses of a batch
   * share the memory of their small outputs, which is freed and counts no more when the last of
   * them is deleted. Each larger output counts until its own response is deleted. */
  /* The error that the request ended with; NULL: it succeeded. It is deleted with the response. */
  const tritonts_error* (*response_error)(const tritonts_response* response);
  size_t (*response_output_count)(const tritonts_response* response);
  /* NULL: there is none at this position. */
  const tritonts_output* (*response_output)(const tritonts_response* response, size_t index);
  /* NULL: there is none of this name. */
  const tritonts_output* (*response_find_output)(const tritonts_response* response,
                                                 const char* name);
  /* The version that responded; -1: none did. */
  int64_t (*response_version)(const tritonts_response* response);
  tritonts_error* (*response_timings)(const tritonts_response* response, tritonts_timings* timings);
  void (*response_delete)(tritonts_response* response);

  /* --- Triton's own functions on the same server. */
  /* The server for the functions TRITONSERVER_… of libtritonserver.so (nativeApi.library). It is
   * valid until the process ends; those functions return UNAVAILABLE when the server is closed. It
   * needs no attachment any more. */
  tritonts_error* (*triton_server)(tritonts_server* server, struct TRITONSERVER_Server** triton);

  /* --- Parameters of responses, under the rules of the other functions of responses. Each name
   * comes once. A response with an error has none. */
  size_t (*response_parameter_count)(const tritonts_response* response);
  /* NULL: there is none at this position. */
  const tritonts_parameter* (*response_parameter)(const tritonts_response* response, size_t index);
  /* NULL: there is none of this name. */
  const tritonts_parameter* (*response_find_parameter)(const tritonts_response* response,
                                                       const char* name);
} tritonts_api;

/* Whether a program that was compiled with this header can use the table. */
static inline int tritonts_api_fits(const tritonts_api* api) {
  return api != NULL && api->version == TRITONTS_API_VERSION && api->size >= sizeof(tritonts_api);
}

#ifdef __cplusplus
}
#endif

#endif
