/*
 * An addon that makes frames on a thread of its own and sends them to a model. The frames never enter JavaScript: it
 * starts the thread, and gets a promise of the sums.
 *
 *   frames.start(nativeApi.external, engine, server, model, frames, outstanding) -> Promise<{ frames, seconds, sum }>
 */
#include <node_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tritonts.h"

/* A frame, and the request that reads it. */
typedef struct slot {
  struct job* job;
  tritonts_request* request;
  float* frame;
  int abandoned; /* a run may still use the frame */
  struct slot* next;
} slot;

typedef struct job {
  const tritonts_api* api;
  tritonts_server* server;
  tritonts_model* model;
  uint32_t engine;
  uint32_t server_id;
  char model_name[256];
  uint64_t frames;
  uint32_t outstanding;

  size_t width; /* floats of a frame */
  char input[256];
  slot* slots;

  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t changed;
  slot* free;
  double sum; /* of the first number of each response */
  uint64_t answers;
  double seconds;
  char fault[1024];

  /* Of JavaScript's thread. */
  pthread_t thread;
  int joined;
  int detached; /* no callback runs any more */
  napi_deferred deferred;
  napi_threadsafe_function done;
  napi_async_cleanup_hook_handle hook;
  napi_env env;
  napi_async_work ending; /* waits for the thread when the environment ends */
  int is_ending;
} job;

/* Keeps the first fault. */
static void fault(job* self, const char* text) {
  pthread_mutex_lock(&self->mutex);
  if (self->fault[0] == '\0') snprintf(self->fault, sizeof self->fault, "%s", text);
  pthread_cond_signal(&self->changed);
  pthread_mutex_unlock(&self->mutex);
}

/* Keeps the first fault, and deletes the error. */
static int failed(job* self, tritonts_error* error) {
  if (error == NULL) return 0;
  pthread_mutex_lock(&self->mutex);
  if (self->fault[0] == '\0') {
    snprintf(self->fault, sizeof self->fault, "%s: %s", self->api->error_code_name(error),
             self->api->error_message(error));
  }
  pthread_mutex_unlock(&self->mutex);
  self->api->error_delete(error);
  return 1;
}

/* On a thread of the engine: reads the output in place, and gives it back. */
static void on_response(tritonts_request* request, tritonts_response* response, uint32_t flags,
                        void* user) {
  slot* const one = user;
  job* const self = one->job;
  const tritonts_error* const error = self->api->response_error(response);
  const tritonts_output* const output = self->api->response_output(response, 0);
  (void)request;
  pthread_mutex_lock(&self->mutex);
  if (output != NULL && output->datatype == TRITONTS_FP32 && output->bytes >= sizeof(float)) {
    self->sum += *(const float*)output->data;
  } else if (self->fault[0] == '\0' && (error != NULL || (flags & TRITONTS_RESPONSE_NO_MEMORY))) {
    snprintf(self->fault, sizeof self->fault, "%s",
             error != NULL ? self->api->error_message(error) : "no memory for a response");
  }
  self->answers++;
  pthread_mutex_unlock(&self->mutex);
  self->api->response_delete(response);
}

/* The frame may be overwritten. */
static void on_release(tritonts_request* request, uint32_t flags, void* user) {
  slot* const one = user;
  job* const self = one->job;
  (void)request;
  pthread_mutex_lock(&self->mutex);
  if ((flags & TRITONTS_RELEASE_ABANDONED) == 0) {
    one->next = self->free;
    self->free = one;
  } else {
    one->abandoned = 1;
    if (self->fault[0] == '\0') snprintf(self->fault, sizeof self->fault, "a run did not return");
  }
  /* The thread is woken once for a batch. */
  if ((flags & TRITONTS_RELEASE_MORE) == 0) pthread_cond_signal(&self->changed);
  pthread_mutex_unlock(&self->mutex);
}

/* Makes a request for each slot, over the memory of its frame. */
static int prepare(job* self) {
  const tritonts_api* const api = self->api;
  const tritonts_model_info* info = NULL;
  int64_t dims[8];
  size_t rank = 0;
  uint32_t i;
  if (failed(self, api->attach(self->engine, self->server_id, &self->server)) ||
      failed(self, api->model_open(self->server, NULL, self->model_name, -1, &self->model)) ||
      failed(self, api->model_describe(self->model, &info))) {
    return 0;
  }
  if (info->input_count != 1 || info->inputs[0]->datatype != TRITONTS_FP32 ||
      info->inputs[0]->rank > 8 || strlen(info->inputs[0]->name) >= sizeof self->input) {
    snprintf(self->fault, sizeof self->fault, "expected a model with one input of FP32");
    api->model_info_delete(info);
    return 0;
  }
  strcpy(self->input, info->inputs[0]->name);
  self->width = 1;
  for (rank = 0; rank < info->inputs[0]->rank; rank++) {
    /* One row a frame. */
    dims[rank] = info->inputs[0]->dims[rank] < 0 ? 1 : info->inputs[0]->dims[rank];
    self->width *= (size_t)dims[rank];
  }
  api->model_info_delete(info);
  self->slots = calloc(self->outstanding, sizeof(slot));
  if (self->slots == NULL) {
    fault(self, "no memory for the frames");
    return 0;
  }
  for (i = 0; i < self->outstanding; i++) {
    slot* const one = &self->slots[i];
    one->job = self;
    one->frame = calloc(self->width, sizeof(float));
    if (one->frame == NULL) fault(self, "no memory for a frame");
    if (one->frame == NULL || failed(self, api->request_new(self->model, &one->request)) ||
        failed(self,
               api->request_set_callbacks(one->request, on_response, on_release, one)) ||
        failed(self, api->request_set_input(one->request, self->input, TRITONTS_FP32, dims, rank,
                                            one->frame, self->width * sizeof(float)))) {
      return 0;
    }
    one->next = self->free;
    self->free = one;
  }
  return 1;
}

/* Sends all free slots at once, with new frames, until all frames were sent. */
static void feed(job* self) {
  tritonts_request** const ready = calloc(self->outstanding, sizeof *ready);
  uint64_t sent = 0;
  if (ready == NULL) fault(self, "no memory for the list of requests");
  while (ready != NULL && sent < self->frames) {
    slot* some;
    size_t count = 0;
    size_t accepted = 0;
    pthread_mutex_lock(&self->mutex);
    while (self->free == NULL && self->fault[0] == '\0') {
      pthread_cond_wait(&self->changed, &self->mutex);
    }
    some = self->free;
    self->free = NULL;
    if (self->fault[0] != '\0') sent = self->frames;
    pthread_mutex_unlock(&self->mutex);
    for (; some != NULL && sent < self->frames; some = some->next) {
      size_t i;
      for (i = 0; i < self->width; i++) some->frame[i] = (float)(sent % 100);
      ready[count++] = some->request;
      sent++;
    }
    if (failed(self, self->api->submit(ready, count, &accepted))) break;
  }
  free(ready);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Waits for all responses, and frees everything but the job. What a run may still use stays. */
static void finish(job* self, int fed) {
  const tritonts_api* const api = self->api;
  uint32_t i;
  if (fed) {
    pthread_mutex_lock(&self->mutex);
    while (self->answers < self->frames && self->fault[0] == '\0') {
      pthread_cond_wait(&self->changed, &self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
  }
  /* After this, no callback runs. The server's time limit ends runs that hang. */
  self->detached = self->server == NULL || !failed(self, api->detach(self->server, 60000));
  if (!self->detached) return;
  for (i = 0; self->slots != NULL && i < self->outstanding; i++) {
    failed(self, api->request_delete(self->slots[i].request));
    if (!self->slots[i].abandoned) free(self->slots[i].frame);
  }
  free(self->slots);
  api->model_delete(self->model);
}

static void* run(void* data) {
  job* const self = data;
  const int ready = prepare(self);
  const double begin = now();
  if (ready) feed(self);
  finish(self, ready);
  self->seconds = now() - begin;
  /* If the environment ends, the function is gone after this call. */
  if (napi_call_threadsafe_function(self->done, self, napi_tsfn_blocking) != napi_closing) {
    napi_release_threadsafe_function(self->done, napi_tsfn_release);
  }
  return NULL;
}

static void join(job* self) {
  if (!self->joined) pthread_join(self->thread, NULL);
  self->joined = 1;
}

static void dispose(job* self) {
  /* Callbacks may still come, and use it. */
  if (!self->detached) return;
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->mutex);
  free(self);
}

/* On a thread of Node's pool: the thread may wait for a model of JavaScript, which ends with its environment. So the
 * thread of JavaScript does not wait here. */
static void wait_for_end(napi_env env, void* data) {
  job* const self = data;
  (void)env;
  pthread_join(self->thread, NULL);
}

static void ended(napi_env env, napi_status status, void* data) {
  job* const self = data;
  (void)env;
  (void)status;
  self->joined = 1;
  napi_remove_async_cleanup_hook(self->hook);
  dispose(self);
}

/* The environment ends. It may unload this file when the hook is removed: nothing of it may run any more then. */
static void end(napi_async_cleanup_hook_handle handle, void* data) {
  job* const self = data;
  (void)handle;
  self->is_ending = 1;
  fault(self, "the thread ends");
  napi_queue_async_work(self->env, self->ending);
}

/* On JavaScript's thread: settles the promise. `env` is NULL if the environment ends. */
static void settle(napi_env env, napi_value callback, void* context, void* data) {
  job* const self = data;
  (void)callback;
  (void)context;
  if (self->is_ending) return;
  join(self);
  if (env != NULL) {
    napi_value value;
    napi_remove_async_cleanup_hook(self->hook);
    napi_delete_async_work(env, self->ending);
    if (self->fault[0] != '\0') {
      napi_value message;
      napi_create_string_utf8(env, self->fault, NAPI_AUTO_LENGTH, &message);
      napi_create_error(env, NULL, message, &value);
      napi_reject_deferred(env, self->deferred, value);
    } else {
      napi_value number;
      napi_create_object(env, &value);
      napi_create_int64(env, (int64_t)self->answers, &number);
      napi_set_named_property(env, value, "frames", number);
      napi_create_double(env, self->seconds, &number);
      napi_set_named_property(env, value, "seconds", number);
      napi_create_double(env, self->sum, &number);
      napi_set_named_property(env, value, "sum", number);
      napi_resolve_deferred(env, self->deferred, value);
    }
  }
  dispose(self);
}

static napi_value fail(napi_env env, const char* what) {
  napi_throw_error(env, NULL, what);
  return NULL;
}

/* start(external, engine, server, model, frames, outstanding) */
static napi_value start(napi_env env, napi_callback_info info) {
  static const napi_type_tag tag = {TRITONTS_API_TAG_LOWER, TRITONTS_API_TAG_UPPER};
  napi_value arguments[6];
  napi_value promise;
  napi_value name;
  size_t count = 6;
  size_t length = 0;
  int64_t frames = 0;
  bool is_table = false;
  void* table = NULL;
  job* self;
  if (napi_get_cb_info(env, info, &count, arguments, NULL, NULL) != napi_ok || count < 6 ||
      napi_check_object_type_tag(env, arguments[0], &tag, &is_table) != napi_ok || !is_table ||
      napi_get_value_external(env, arguments[0], &table) != napi_ok) {
    return fail(env, "expected nativeApi.external and five more arguments");
  }
  if (!tritonts_api_fits(table)) return fail(env, "another version of tritonts is needed");
  self = calloc(1, sizeof *self);
  if (self == NULL) return fail(env, "no memory");
  self->api = table;
  self->env = env;
  if (napi_get_value_uint32(env, arguments[1], &self->engine) != napi_ok ||
      napi_get_value_uint32(env, arguments[2], &self->server_id) != napi_ok ||
      napi_get_value_string_utf8(env, arguments[3], self->model_name, sizeof self->model_name,
                                 &length) != napi_ok ||
      napi_get_value_int64(env, arguments[4], &frames) != napi_ok || frames < 1 ||
      napi_get_value_uint32(env, arguments[5], &self->outstanding) != napi_ok ||
      self->outstanding < 1) {
    free(self);
    return fail(env, "expected engine, server, model, frames and outstanding");
  }
  self->frames = (uint64_t)frames;
  pthread_mutex_init(&self->mutex, NULL);
  pthread_cond_init(&self->changed, NULL);
  napi_create_string_utf8(env, "frames", NAPI_AUTO_LENGTH, &name);
  /* It keeps the process alive until the promise is settled. */
  if (napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, NULL, NULL, NULL, settle,
                                      &self->done) != napi_ok ||
      napi_create_promise(env, &self->deferred, &promise) != napi_ok ||
      napi_create_async_work(env, NULL, name, wait_for_end, ended, self, &self->ending) != napi_ok ||
      pthread_create(&self->thread, NULL, run, self) != 0) {
    return fail(env, "no thread");
  }
  napi_add_async_cleanup_hook(env, end, self, &self->hook);
  return promise;
}

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "start", NAPI_AUTO_LENGTH, start, NULL, &function);
  napi_set_named_property(env, exports, "start", function);
  return exports;
}
