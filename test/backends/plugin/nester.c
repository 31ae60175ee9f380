/* An addon that asks models by tritonts.h on threads of its own, and from within the batches of the
 * plug-in `hooked` (native/test/plugins/backends/hooked.cc), where it waits for the response. */
#include <dlfcn.h>
#include <node_api.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "tritonts.h"

enum { kMost = 8, kWaitSeconds = 5 };

typedef struct one {
  tritonts_model* model;
  tritonts_request* request;
  float value;
  atomic_int releases;
} one;

static const tritonts_api* api;
static tritonts_server* server;
static one all[kMost];
static one* nested; /* what a batch submits; NULL: nothing */
static atomic_int answered, failed, stuck, is_running;

static void note(tritonts_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "nester: %s\n", api->error_message(error));
  failed++;
  api->error_delete(error);
}

static void on_response(tritonts_request* request, tritonts_response* response, uint32_t flags, void* user) {
  (void)request;
  (void)flags;
  (void)user;
  const tritonts_error* error = api->response_error(response);
  if (error != NULL) fprintf(stderr, "nester: response: %s\n", api->error_message(error));
  if (error != NULL) failed++;
  api->response_delete(response);
}

static void on_release(tritonts_request* request, uint32_t flags, void* user) {
  (void)request;
  (void)flags;
  ((one*)user)->releases++;
}

/* Submits a request, and waits until it is released. The wait is no sleep, which would end the
 * inline runs of the batch that waits. */
static void submit_and_wait(one* self) {
  const int before = self->releases;
  tritonts_error* error = api->submit(&self->request, 1, NULL);
  if (error != NULL) {
    note(error);
    return;
  }
  const time_t until = time(NULL) + kWaitSeconds;
  while (self->releases == before && time(NULL) < until) sched_yield();
  if (self->releases == before) stuck++;
  if (self->releases != before) answered++;
}

static void submit_nested(void) {
  if (nested != NULL) submit_and_wait(nested);
}

static uint32_t number(napi_env env, napi_value value) {
  uint32_t result = 0;
  napi_get_value_uint32(env, value, &result);
  return result;
}

static void get(napi_env env, napi_callback_info info, size_t count, napi_value* arguments) {
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
}

/* attach(table, engine, id, the file of the plug-in) */
static napi_value attach(napi_env env, napi_callback_info info) {
  napi_value arguments[4];
  char file[4096];
  get(env, info, 4, arguments);
  napi_get_value_external(env, arguments[0], (void**)&api);
  napi_get_value_string_utf8(env, arguments[3], file, sizeof file, NULL);
  note(api->attach(number(env, arguments[1]), number(env, arguments[2]), &server));
  void* const library = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
  void (**call)(void) = library == NULL ? NULL : dlsym(library, "hooked_call");
  if (call == NULL) {
    napi_throw_error(env, NULL, "the plug-in is not open");
    return NULL;
  }
  *call = submit_nested;
  return NULL;
}

/* open(slot, model) */
static napi_value open_model(napi_env env, napi_callback_info info) {
  static const int64_t dims[] = {1, 1};
  napi_value arguments[2];
  char name[512];
  get(env, info, 2, arguments);
  one* const self = &all[number(env, arguments[0])];
  napi_get_value_string_utf8(env, arguments[1], name, sizeof name, NULL);
  self->value = 1.5f;
  tritonts_error* error = api->model_open(server, NULL, name, -1, &self->model);
  if (error == NULL) error = api->request_new(self->model, &self->request);
  if (error == NULL) error = api->request_set_callbacks(self->request, on_response, on_release, self);
  if (error == NULL)
    error = api->request_set_input(self->request, "x", TRITONTS_FP32, dims, 2, &self->value, sizeof self->value);
  note(error);
  return NULL;
}

/* nest(slot or kMost): what each batch submits from now on. No batch may run. */
static napi_value nest(napi_env env, napi_callback_info info) {
  napi_value arguments[1];
  get(env, info, 1, arguments);
  const uint32_t slot = number(env, arguments[0]);
  nested = slot < kMost ? &all[slot] : NULL;
  return NULL;
}

typedef struct work {
  one* self;
  uint32_t count;
} work;
static work doing;

static void* run_all(void* unused) {
  for (uint32_t i = 0; i < doing.count; i++) submit_and_wait(doing.self);
  is_running = 0;
  return unused;
}

/* run(slot, count, bytes of stack): submits one after the other on a thread of its own. */
static napi_value run(napi_env env, napi_callback_info info) {
  napi_value arguments[3];
  get(env, info, 3, arguments);
  doing = (work){&all[number(env, arguments[0])], number(env, arguments[1])};
  answered = failed = stuck = 0;
  is_running = 1;
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, number(env, arguments[2])) != 0 ||
      pthread_create(&thread, &attributes, run_all, NULL) != 0) {
    napi_throw_error(env, NULL, "no thread");
    return NULL;
  }
  pthread_detach(thread);
  pthread_attr_destroy(&attributes);
  return NULL;
}

/* look(): "" while a thread runs, and then what became of the requests. */
static napi_value look(napi_env env, napi_callback_info info) {
  (void)info;
  char told[128] = "";
  napi_value result = NULL;
  if (!is_running) snprintf(told, sizeof told, "%d answered, %d failed, %d stuck", answered, failed, stuck);
  napi_create_string_utf8(env, told, NAPI_AUTO_LENGTH, &result);
  return result;
}

static napi_value detach(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  nested = NULL;
  note(api->detach(server, 1000));
  for (int i = 0; i < kMost; i++) {
    if (all[i].request != NULL) note(api->request_delete(all[i].request));
    if (all[i].model != NULL) api->model_delete(all[i].model);
    all[i].request = NULL;
    all[i].model = NULL;
  }
  return NULL;
}

NAPI_MODULE_INIT() {
  static const struct {
    const char* name;
    napi_callback call;
  } functions[] = {{"attach", attach}, {"open", open_model}, {"nest", nest},
                   {"run", run},       {"look", look},       {"detach", detach}};
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    napi_value function = NULL;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL, &function);
    napi_set_named_property(env, exports, functions[i].name, function);
  }
  return exports;
}
