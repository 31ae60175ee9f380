// The interface between this backend and its shim (tritonts_torch.cc), which is compiled against
// the user's libtorch. It is plain C: no exception and no object of C++ crosses it, as the two
// sides may have different standard libraries. Both sides include this header.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Counts the changes of this interface. A shim of another number is not used.
#define TRITONTS_TORCH_INTERFACE 2

// The only symbol of a shim: a function that returns the table below.
#define TRITONTS_TORCH_SYMBOL "tritonts_torch_api"

typedef struct TorchModule TorchModule;
typedef struct TorchResult TorchResult;
typedef struct TorchMemory TorchMemory;

enum TorchFaultKind {
  kTorchFailed = 0,
  kTorchNoMemory = 1,
};

// Why a function failed. The caller frees it.
typedef struct {
  int32_t kind;         // TorchFaultKind
  const char* message;  // the last part of libtorch's text: the error itself
  const char* origin;   // all of the text, with TorchScript's stack; "": there is no more
} TorchFault;

// Element types, and the kinds of values. TORCH_OTHER: no counterpart here.
enum TorchType {
  kTorchOtherType = 0,
  kTorchBool = 1,
  kTorchUint8 = 2,
  kTorchInt8 = 3,
  kTorchInt16 = 4,
  kTorchInt32 = 5,
  kTorchInt64 = 6,
  kTorchFp16 = 7,
  kTorchFp32 = 8,
  kTorchFp64 = 9,
  kTorchBf16 = 10,
};
enum TorchKind {
  kTorchOtherKind = 0,
  kTorchTensor = 1,
  kTorchStrings = 2,    // List[str]
  kTorchTensorMap = 3,  // Dict[str, Tensor]
};

// An argument of forward. The texts live as long as the module.
typedef struct {
  const char* name;
  const char* type;  // in TorchScript, such as "List[str]"
  int32_t kind;      // TorchKind
} TorchArgument;

// What the graph of a module shows.
enum TorchTrait {
  // Its runs may do more than return results: change or keep an input, or change the module.
  kTorchHasEffects = 1,
  // It has conditions or loops, so the time of a run may depend on the data.
  kTorchBranches = 2,
};

typedef struct {
  const char* text;
  uint64_t size;
} TorchText;

// An input of a run. Either `texts`, or a dense tensor.
typedef struct {
  int32_t kind;  // kTorchTensor or kTorchStrings
  int32_t type;
  const char* key;  // in a Dict[str, Tensor]
  uint64_t rank;
  const int64_t* dims;
  void* data;
  uint64_t size;  // in bytes
  // Null: `data` is borrowed until the result is freed, and is neither changed nor kept. Otherwise
  // the tensor owns the data, and calls `release` once with this, even if the run fails.
  void* owner;
  const TorchText* texts;
  uint64_t text_count;
} TorchInput;

// A value of a result. Pointers live as long as the result.
typedef struct {
  int32_t kind;  // TorchKind
  int32_t type;
  const char* type_name;  // libtorch's name of the value's or element's type
  uint64_t rank;
  const int64_t* dims;
  const void* data;
  uint64_t size;
  // If nothing else refers to the data: what keeps the data alive, for the caller to free. Null:
  // the data belongs to the result, or is shared with the module or an input, and must be copied.
  TorchMemory* memory;
  uint64_t text_count;
} TorchValue;

// What a run needs to know of its model.
enum TorchRunFlag {
  kTorchInferenceMode = 1,
  kTorchOptimize = 2,
};

// A function that returns a fault returns null if it succeeded. Any thread may call any function.
// Different threads may run one module at a time; results belong to one thread at a time.
typedef struct {
  uint32_t interface;   // TRITONTS_TORCH_INTERFACE
  const char* version;  // of the libtorch that the shim was compiled against
  // Frees a fault, a module, a result, or memory. Null is ignored.
  void (*free_fault)(TorchFault*);
  void (*free_module)(TorchModule*);
  void (*free_result)(TorchResult*);
  void (*free_memory)(TorchMemory*);

  // Prepares the library: `release` is called for each owner of inputs, on any thread. Called once,
  // before the functions below. `loaded_version` gets the version of the libtorch that was loaded.
  TorchFault* (*prepare)(void (*release)(void* owner), const char** loaded_version);
  // Sets the number of threads of one operation, or of operations side by side, in this process.
  TorchFault* (*set_threads)(int32_t intra_op, int32_t inter_op);  // 0: left as it is
  int32_t (*intra_op_threads)(void);
  int32_t (*inter_op_threads)(void);
  // Sets switches of the process: 1 on, 0 off, -1 left as it is.
  TorchFault* (*set_switches)(int32_t executor, int32_t profiling, int32_t fuser);

  // Loads a module from a file or, if `bytes` is not null, from memory.
  TorchFault* (*load)(const char* path, const void* bytes, uint64_t size, int32_t flags,
                      TorchModule** module);
  uint32_t (*argument_count)(const TorchModule*);
  TorchArgument (*argument)(const TorchModule*, uint32_t index);
  int32_t (*traits)(const TorchModule*);  // TorchTrait

  // Calls forward. `inputs` are in the order of its arguments, or the entries of its only one.
  // `threads`: of one operation; 0: as many as set_threads says.
  TorchFault* (*run)(TorchModule*, int32_t flags, int32_t threads, const TorchInput* inputs,
                     uint32_t count, TorchResult** result);
  // A result has one value, or those of a tuple, a list or a dict.
  uint32_t (*value_count)(const TorchResult*);
  // The key of a value of a dict; null: the result is no dict.
  const char* (*key)(const TorchResult*, uint32_t index);
  TorchFault* (*value)(TorchResult*, uint32_t index, TorchValue* value);
  TorchText (*text)(const TorchResult*, uint32_t index, uint64_t element);
} TorchApi;

typedef const TorchApi* (*TorchApiFunction)(void);

#ifdef __cplusplus
}
#endif
