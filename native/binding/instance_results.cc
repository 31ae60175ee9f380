// Converts JavaScript's words and bytes to responses (instance_wrap.h).
#include <cstring>
#include <new>
#include <span>
#include <string>

#include "convert.h"
#include "engine/port/reader.h"
#include "engine/request/response_parameters.h"
#include "instance_wrap.h"

namespace tritonts {

namespace {

// Upper limit of a tensor's rank.
constexpr int32_t kMostDims = 64;

// The words of an output without its dims: index, datatype, rank, bytes, place.
constexpr ptrdiff_t kOutputWords = 5;

// Whether all words of the output at `at` lie before `end`.
bool IsWhole(const int32_t* at, const int32_t* end) {
  return end - at >= kOutputWords && at[2] >= 0 && at[2] <= kMostDims &&
         end - at >= kOutputWords + at[2];
}

// `text` makes the message, if there is memory for it.
template <typename Text>
Status Malformed(const Text& text) {
  return MakeStatus([&] { return Status::Internal(std::string("malformed results: ") + text()); });
}

}  // namespace

bool InstanceWrap::Read(Napi::Env env, Run& run, const int32_t* at, const int32_t* end,
                        Napi::Array objects) {
  bool good = true;
  while (good && at < end) {
    const int32_t kind = *at++;
    good = kind == 0   ? ReadTogether(run, &at, end)
           : kind == 1 ? ReadOne(env, run, &at, end, objects, true)
           : kind == 2 ? ReadError(run, &at, end, objects)
           : kind == 3 ? ReadOne(env, run, &at, end, objects, false)
           : kind == 4 ? ReadEnd(run, &at, end)
           : kind == 5 ? ReadAgain(run, &at, end)
           : kind == 6 ? ReadParameters(run, &at, end)
                       : false;
  }
  return good;
}

bool InstanceWrap::ReadTogether(Run& run, const int32_t** at, const int32_t* end) {
  if (end - *at < 1) return false;
  // Reserve first: the shapes must stay valid until the response is created.
  size_t dims = 0;
  const int32_t outputs = *(*at)++;
  const int32_t* look = *at;
  for (int32_t i = 0; i < outputs; i++) {
    if (!IsWhole(look, end)) return false;
    dims += static_cast<size_t>(look[2]);
    look += kOutputWords + look[2];
  }
  shape_.resize(dims);
  int64_t* shape = shape_.data();
  for (int32_t i = 0; i < outputs; i++) {
    const int32_t* one = *at;
    const auto rank = static_cast<size_t>(one[2]);
    for (size_t dim = 0; dim < rank; dim++) shape[dim] = one[3 + dim];
    const auto size = static_cast<size_t>(one[3 + rank]);
    const auto offset = static_cast<size_t>(one[4 + rank]);
    if (offset > bytes_.size || size > bytes_.size - offset) return false;
    run.SetOutput(static_cast<uint32_t>(one[0]), static_cast<DataType>(one[1]),
                  std::span<const int64_t>(shape, rank), bytes_.data + offset, size, nullptr);
    shape += rank;
    *at += kOutputWords + one[2];
  }
  run.RespondAll(Status::Ok());
  return true;
}

Status InstanceWrap::Declare(Napi::Env env, Run& run, uint32_t request, const int32_t* words,
                             size_t size, int32_t place, Napi::Array objects) {
  const auto rank = static_cast<size_t>(words[2]);
  const std::span<const int64_t> shape(shape_.data() + (shape_.size() - rank), rank);
  const auto index = static_cast<uint32_t>(words[0]);
  const auto datatype = static_cast<DataType>(words[1]);
  const void* data = nullptr;
  if (place >= 0) {
    const auto offset = static_cast<size_t>(place);
    if (offset > bytes_.size || size > bytes_.size - offset) {
      return Malformed([] { return "output bytes outside the buffer"; });
    }
    data = bytes_.data + offset;
  } else {
    const Napi::Value one = objects.Get(static_cast<uint32_t>(~place));
    void* found = nullptr;
    size_t length = 0;
    napi_typedarray_type type = napi_int8_array;
    // No large output is empty: size 0 stands for 4 GiB, which does not fit into the word.
    if (size == 0) size = kMostTensorBytes;
    if (!one.IsTypedArray() || one.As<Napi::TypedArray>().ByteLength() < size ||
        napi_get_typedarray_info(env, one, &type, &length, &found, nullptr, nullptr) != napi_ok) {
      return Malformed(
          [&] { return "expected a typed array of at least " + std::to_string(size) + " bytes"; });
    }
    data = found;
  }
  if (place >= 0) {
    run.SetRequestOutput(request, index, datatype, shape, data, size, nullptr);
    return Status::Ok();
  }
  if (datatype == DataType::kBytes) {
    // The size of strings does not follow from their shape, so they are copied into a block.
    const BlockRef block = run.pool().Acquire(size);
    if (!block) return Status::NoMemory();
    if (size > 0) std::memcpy(block->data(), data, size);
    run.SetRequestOutput(request, index, datatype, shape, block->data(), size, block.get());
    return Status::Ok();
  }
  auto target = run.Output(request, index, datatype, shape);
  if (!target.ok()) return target.status();
  if (target.value().size != size) {
    return Malformed([&] {
      return "expected " + std::to_string(target.value().size) +
             " bytes for the output's shape but received " + std::to_string(size);
    });
  }
  if (size > 0) std::memcpy(target.value().data, data, size);
  return Status::Ok();
}

bool InstanceWrap::ReadOne(Napi::Env env, Run& run, const int32_t** at, const int32_t* end,
                           Napi::Array objects, bool final) {
  if (end - *at < 2) return false;
  const auto request = static_cast<uint32_t>(*(*at)++);
  const int32_t outputs = *(*at)++;
  size_t dims = 0;
  const int32_t* look = *at;
  for (int32_t i = 0; i < outputs; i++) {
    if (!IsWhole(look, end)) return false;
    dims += static_cast<size_t>(look[2]);
    look += kOutputWords + look[2];
  }
  // Reserve capacity first, so that no shape moves.
  shape_.clear();
  shape_.reserve(dims);
  Status status;
  for (int32_t i = 0; i < outputs; i++) {
    const int32_t* one = *at;
    const int32_t rank = one[2];
    for (int32_t dim = 0; dim < rank; dim++) shape_.push_back(one[3 + dim]);
    if (status.ok()) {
      const auto size = static_cast<uint32_t>(one[3 + rank]);
      status = Declare(env, run, request, one, size, one[4 + rank], objects);
    }
    *at += kOutputWords + rank;
  }
  // A failed declaration ends the request with an error.
  run.Respond(request, status, final || !status.ok());
  return true;
}

bool InstanceWrap::ReadEnd(Run& run, const int32_t** at, const int32_t* end) {
  if (*at == end) return false;
  run.EndResponses(static_cast<uint32_t>(*(*at)++));
  return true;
}

bool InstanceWrap::ReadAgain(Run& run, const int32_t** at, const int32_t* end) {
  if (*at == end) return false;
  run.Reschedule(static_cast<uint32_t>(*(*at)++));
  return true;
}

bool InstanceWrap::ReadParameters(Run& run, const int32_t** at, const int32_t* end) {
  if (end - *at < 2) return false;
  const auto request = static_cast<uint32_t>((*at)[0]);
  const auto words = static_cast<uint32_t>((*at)[1]);
  *at += 2;
  if (words > static_cast<size_t>(end - *at)) return false;
  AttributesReader reader({*at, words});
  *at += words;
  ParameterRecord read;
  try {
    ResponseParameterList list;
    while (!reader.done()) {
      if (reader.Parameter(&read)) return false;
      const auto number = [&read](auto value) {
        std::memcpy(&value, read.value.data(), sizeof(value));
        return value;
      };
      Status set;
      if (read.kind == layout::kStringParameter) {
        set = list.Set(read.name, std::string(read.value));
      } else if (read.kind == layout::kIntegerParameter) {
        set = list.Set(read.name, number(int64_t{0}));
      } else if (read.kind == layout::kDoubleParameter) {
        set = list.Set(read.name, number(0.0));
      } else if (read.kind == layout::kFlagParameter) {
        set = list.Set(read.name, number(int32_t{0}) != 0);
      } else {
        return false;
      }
      if (!set.ok()) return false;
    }
    run.SetParameters(request, list.Take());
  } catch (const std::bad_alloc&) {
    // The response that follows is ignored then.
    run.Respond(request, Status::NoMemory());
  }
  return true;
}

bool InstanceWrap::ReadError(Run& run, const int32_t** at, const int32_t* end,
                             Napi::Array objects) {
  if (end - *at < 3) return false;
  const int32_t request = (*at)[0];
  const auto number = static_cast<uint64_t>((*at)[1]);
  const Napi::Value text = objects.Get(static_cast<uint32_t>(~(*at)[2]));
  *at += 3;
  run.Respond(request < 0 ? Run::kAll : static_cast<uint32_t>(request),
              MakeStatus([&] { return Status::Said(number, StringOf(text)); }));
  return true;
}

}  // namespace tritonts
