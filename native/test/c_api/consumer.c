/* A program of C11 that uses the header alone; compiled with -Wall -Wextra -Wpedantic -Werror. */
#include <string.h>

#include "include/tritonts.h"

typedef struct state {
  const tritonts_api* api;
  void* event;
  void (*set)(void*);
  float sum;
  int responses;
  const char* fault;
} state;

static void on_response(tritonts_request* request, tritonts_response* response, uint32_t flags,
                        void* user) {
  state* const self = user;
  const tritonts_output* const output = self->api->response_find_output(response, "y");
  (void)request;
  self->responses++;
  if (self->api->response_error(response) != NULL) self->fault = "the request failed";
  if ((flags & TRITONTS_RESPONSE_FINAL) == 0) self->fault = "the response is not final";
  if (output != NULL && output->rank == 2 && output->dims[0] == 2) {
    const float* const values = output->data;
    self->sum = values[0] + values[1];
  }
  self->api->response_delete(response);
}

static void on_release(tritonts_request* request, uint32_t flags, void* user) {
  state* const self = user;
  (void)request;
  if ((flags & TRITONTS_RELEASE_ABANDONED) != 0) self->fault = "the request was abandoned";
  self->set(self->event);
}

/* Takes over an error. */
static int failed(state* self, tritonts_error* error, const char* what) {
  if (error == NULL) return 0;
  self->fault = what;
  self->api->error_delete(error);
  return 1;
}

const char* tritonts_test_consumer(const tritonts_api* api, uint32_t engine, uint32_t id,
                                   void* event, void (*set)(void*), void (*wait)(void*));

const char* tritonts_test_consumer(const tritonts_api* api, uint32_t engine, uint32_t id,
                                   void* event, void (*set)(void*), void (*wait)(void*)) {
  static const float values[2] = {1, 2};
  static const int64_t dims[2] = {2, 1};
  state self = {0};
  tritonts_server* server = NULL;
  tritonts_model* model = NULL;
  tritonts_request* request = NULL;
  tritonts_error* error = NULL;
  if (!tritonts_api_fits(api)) return "the table does not fit";
  self.api = api;
  self.event = event;
  self.set = set;
  if (failed(&self, api->attach(engine, id, &server), "attach")) return self.fault;
  error = api->model_open(server, NULL, "unknown", -1, &model);
  if (api->error_code(error) != TRITONTS_NOT_FOUND ||
      strcmp(api->error_code_name(error), "NOT_FOUND") != 0) {
    return "an unknown model was found";
  }
  api->error_delete(error);
  if (failed(&self, api->model_open(server, NULL, "m", -1, &model), "model_open") ||
      failed(&self, api->request_new(model, &request), "request_new") ||
      failed(&self, api->request_set_callbacks(request, on_response, on_release, &self),
             "request_set_callbacks") ||
      failed(&self,
             api->request_set_input(request, "x", TRITONTS_FP32, dims, 2, values, sizeof values),
             "request_set_input") ||
      failed(&self, api->submit(&request, 1, NULL), "submit")) {
    return self.fault;
  }
  wait(event);
  if (failed(&self, api->request_delete(request), "request_delete")) return self.fault;
  api->model_delete(model);
  if (failed(&self, api->detach(server, 60000), "detach")) return self.fault;
  if (self.responses != 1) return "expected one response";
  if (self.sum < 4.5F || self.sum > 5.5F) return "expected other values";
  return self.fault;
}
