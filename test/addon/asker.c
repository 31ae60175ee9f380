/* An addon that asks a model by tritonts.h, and by Triton's own functions. JavaScript looks for the
 * answers, because its thread has to load what is asked. */
#include <node_api.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "triton.h"
#include "tritonts.h"

enum { kMost = 8, kStream = 20000 };

/* A request and what became of it. */
typedef struct one {
  tritonts_server* server;
  tritonts_model* model;
  tritonts_request* request;
  float value;
  int is_released;
  char text[512];
} one;

static const tritonts_api* api;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the texts, and is_released */
static one all[kMost];
static int is_repeated; /* release callbacks submit again */

/* Requests that a thread submits one after the other. */
static struct {
  tritonts_server* server;
  tritonts_model* model;
  tritonts_request* requests[kStream];
  float values[kStream];
  int released, disordered; /* guarded by the mutex */
  float last;
  char fault[512];
} stream;

static void tell(one* self, tritonts_error* error) {
  if (error == NULL) return;
  pthread_mutex_lock(&mutex);
  snprintf(self->text, sizeof self->text, "%s/%s: %s", api->error_code_name(error), api->error_reason(error),
           api->error_message(error));
  pthread_mutex_unlock(&mutex);
  api->error_delete(error);
}

static void on_response(tritonts_request* request, tritonts_response* response, uint32_t flags, void* user) {
  one* self = user;
  const tritonts_error* error = api->response_error(response);
  const tritonts_output* y = api->response_find_output(response, "y");
  (void)request;
  (void)flags;
  pthread_mutex_lock(&mutex);
  if (y != NULL) {
    snprintf(self->text, sizeof self->text, "%g of version %d", (double)*(const float*)y->data,
             (int)api->response_version(response));
  } else if (error != NULL) {
    snprintf(self->text, sizeof self->text, "response %s/%s: %s", api->error_code_name(error), api->error_reason(error),
             api->error_message(error));
  }
  pthread_mutex_unlock(&mutex);
  api->response_delete(response);
}

static void on_release(tritonts_request* request, uint32_t flags, void* user) {
  (void)flags;
  if (is_repeated) {
    tritonts_error* error = api->submit(&request, 1, NULL);
    if (error == NULL) return;
    tell(user, error);
  }
  pthread_mutex_lock(&mutex);
  ((one*)user)->is_released++;
  pthread_mutex_unlock(&mutex);
}

static void on_answer(tritonts_request* request, tritonts_response* response, uint32_t flags, void* user) {
  const tritonts_error* error = api->response_error(response);
  const tritonts_output* y = api->response_find_output(response, "y");
  (void)request;
  (void)flags;
  (void)user;
  pthread_mutex_lock(&mutex);
  if (y != NULL) {
    const float value = *(const float*)y->data;
    if (value < stream.last) stream.disordered++;
    stream.last = value;
  } else if (error != NULL) {
    snprintf(stream.fault, sizeof stream.fault, "%s", api->error_message(error));
  }
  pthread_mutex_unlock(&mutex);
  api->response_delete(response);
}

static void on_end(tritonts_request* request, uint32_t flags, void* user) {
  (void)request;
  (void)flags;
  (void)user;
  pthread_mutex_lock(&mutex);
  stream.released++;
  pthread_mutex_unlock(&mutex);
}

/* Submits the requests of the stream. The pauses have it last longer than a load. */
static void* submit_all(void* unused) {
  static const struct timespec pause = {0, 400000};
  for (int i = 0; i < kStream; i++) {
    tritonts_error* error = api->submit(&stream.requests[i], 1, NULL);
    if (error != NULL) {
      pthread_mutex_lock(&mutex);
      snprintf(stream.fault, sizeof stream.fault, "request %d: %s", i, api->error_message(error));
      stream.released += kStream - i;
      pthread_mutex_unlock(&mutex);
      api->error_delete(error);
      break;
    }
    if (i % 16 == 0) nanosleep(&pause, NULL);
  }
  return unused;
}

static uint32_t number(napi_env env, napi_value value) {
  uint32_t result = 0;
  napi_get_value_uint32(env, value, &result);
  return result;
}

/* The text of an argument; NULL: it is none. */
static const char* text(napi_env env, napi_value value, char* buffer, size_t size) {
  size_t length = 0;
  return napi_get_value_string_utf8(env, value, buffer, size, &length) == napi_ok ? buffer : NULL;
}

static napi_value string(napi_env env, const char* value) {
  napi_value result = NULL;
  napi_create_string_utf8(env, value, NAPI_AUTO_LENGTH, &result);
  return result;
}

/* ask(slot, table, engine, id, namespace or undefined, model, value): whether it was accepted. */
static napi_value ask(napi_env env, napi_callback_info info) {
  static const int64_t dims[] = {1, 1};
  napi_value arguments[7], result = NULL;
  size_t count = 7;
  char space[512], name[512];
  double value = 0;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  one* self = &all[number(env, arguments[0])];
  napi_get_value_external(env, arguments[1], (void**)&api);
  napi_get_value_double(env, arguments[6], &value);
  memset(self, 0, sizeof *self);
  self->value = (float)value;
  int accepted = 0;
  tritonts_error* error = api->attach(number(env, arguments[2]), number(env, arguments[3]), &self->server);
  if (error == NULL)
    error = api->model_open(self->server, text(env, arguments[4], space, sizeof space),
                            text(env, arguments[5], name, sizeof name), -1, &self->model);
  if (error == NULL) error = api->request_new(self->model, &self->request);
  if (error == NULL) error = api->request_set_callbacks(self->request, on_response, on_release, self);
  if (error == NULL)
    error = api->request_set_input(self->request, "x", TRITONTS_FP32, dims, 2, &self->value, sizeof self->value);
  if (error == NULL) {
    error = api->submit(&self->request, 1, NULL);
    accepted = error == NULL;
  }
  tell(self, error);
  napi_get_boolean(env, accepted, &result);
  return result;
}

/* repeat(): from now on, each release callback submits its request again. */
static napi_value repeat(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
  is_repeated = 1;
  return NULL;
}

/* begin(table, engine, id, model): has a thread submit a stream of requests. Returns the error. */
static napi_value begin(napi_env env, napi_callback_info info) {
  static const int64_t dims[] = {1, 1};
  napi_value arguments[4];
  size_t count = 4;
  char name[512], told[512] = "";
  pthread_t thread;
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  napi_get_value_external(env, arguments[0], (void**)&api);
  memset(&stream, 0, sizeof stream);
  tritonts_error* error = api->attach(number(env, arguments[1]), number(env, arguments[2]), &stream.server);
  if (error == NULL)
    error = api->model_open(stream.server, NULL, text(env, arguments[3], name, sizeof name), -1, &stream.model);
  for (int i = 0; i < kStream && error == NULL; i++) {
    float* const value = &stream.values[i];
    *value = (float)i;
    error = api->request_new(stream.model, &stream.requests[i]);
    if (error == NULL) error = api->request_set_callbacks(stream.requests[i], on_answer, on_end, NULL);
    if (error == NULL)
      error = api->request_set_input(stream.requests[i], "x", TRITONTS_FP32, dims, 2, value, sizeof *value);
  }
  if (error != NULL) {
    snprintf(told, sizeof told, "%s", api->error_message(error));
    api->error_delete(error);
  } else if (pthread_create(&thread, NULL, submit_all, NULL) == 0) {
    pthread_detach(thread);
  } else {
    snprintf(told, sizeof told, "no thread");
  }
  return string(env, told);
}

/* end(): "" while requests of the stream are in flight. Then deletes all of it, and returns what became of them. */
static napi_value end(napi_env env, napi_callback_info info) {
  char told[700];
  (void)info;
  pthread_mutex_lock(&mutex);
  const int is_over = stream.released == kStream;
  snprintf(told, sizeof told, "%d out of order; %s", stream.disordered, stream.fault);
  pthread_mutex_unlock(&mutex);
  if (!is_over) return string(env, "");
  tritonts_error* error = api->detach(stream.server, 1000);
  for (int i = 0; i < kStream && error == NULL; i++) error = api->request_delete(stream.requests[i]);
  api->model_delete(stream.model);
  if (error != NULL) {
    snprintf(told, sizeof told, "%s", api->error_message(error));
    api->error_delete(error);
  }
  return string(env, told);
}

/* look(slot): the text, once the request was released or refused; otherwise "". */
static napi_value look(napi_env env, napi_callback_info info) {
  napi_value argument;
  size_t count = 1;
  char told[512];
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  one* self = &all[number(env, argument)];
  pthread_mutex_lock(&mutex);
  snprintf(told, sizeof told, "%s", self->is_released == 1 || self->request == NULL ? self->text : "");
  if (self->is_released > 1) snprintf(told, sizeof told, "released %d times", self->is_released);
  pthread_mutex_unlock(&mutex);
  return string(env, told);
}

static napi_value cancel(napi_env env, napi_callback_info info) {
  napi_value argument;
  size_t count = 1;
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  api->request_cancel(all[number(env, argument)].request);
  return NULL;
}

/* detach(slot): cancels what is under way, and deletes all of the slot. Returns the error. */
static napi_value detach(napi_env env, napi_callback_info info) {
  napi_value argument;
  size_t count = 1;
  char told[512] = "";
  napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
  one* self = &all[number(env, argument)];
  tritonts_error* error = api->detach(self->server, 1000);
  if (error == NULL && self->request != NULL) error = api->request_delete(self->request);
  api->model_delete(self->model);
  if (error != NULL) {
    snprintf(told, sizeof told, "%s", api->error_message(error));
    api->error_delete(error);
  }
  return string(env, told);
}

/* find(table, engine, id, model): the model's metadata by Triton's functions, or the error. */
static napi_value find(napi_env env, napi_callback_info info) {
  napi_value arguments[4];
  size_t count = 4;
  char name[512], told[4096] = "";
  napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
  napi_get_value_external(env, arguments[0], (void**)&api);
  text(env, arguments[3], name, sizeof name);
  tritonts_server* attached = NULL;
  TRITONSERVER_Server* server = NULL;
  TRITONSERVER_Message* message = NULL;
  const char* json = NULL;
  size_t size = 0;
  if (api->attach(number(env, arguments[1]), number(env, arguments[2]), &attached) != NULL ||
      api->triton_server(attached, &server) != NULL) {
    return string(env, "no server");
  }
  api->detach(attached, 0);
  TRITONSERVER_Error* error = TRITONSERVER_ServerModelMetadata(server, name, -1, &message);
  if (error == NULL) error = TRITONSERVER_MessageSerializeToJson(message, &json, &size);
  if (error == NULL) {
    snprintf(told, sizeof told, "%.*s", (int)size, json);
    TRITONSERVER_MessageDelete(message);
  } else {
    snprintf(told, sizeof told, "%s: %s", TRITONSERVER_ErrorCodeString(error), TRITONSERVER_ErrorMessage(error));
    TRITONSERVER_ErrorDelete(error);
  }
  return string(env, told);
}

NAPI_MODULE_INIT() {
  static const struct {
    const char* name;
    napi_callback call;
  } functions[] = {{"ask", ask},       {"look", look},   {"cancel", cancel}, {"detach", detach},
                   {"find", find},     {"repeat", repeat}, {"begin", begin},   {"end", end}};
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    napi_value function;
    napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL, &function);
    napi_set_named_property(env, exports, functions[i].name, function);
  }
  return exports;
}
