// CheckRequest: which requests a model accepts.
#include "engine/version/check_request.h"

#include "engine_fixture.h"

namespace tritonts::test {

namespace {

// A model with rows of 2 floats, and an optional string per row.
ModelIo TwoInputs(uint32_t max_batch_size = 4) {
  return {max_batch_size,
          {{"x", DataType::kFp32, {-1, 2}, false}, {"s", DataType::kBytes, {-1, 1}, true}},
          {{"y", DataType::kFp32, {-1, 2}, false}}};
}

std::string FloatBytes(size_t count) {
  return BytesOf(std::vector<float>(count, 1));
}

std::string Text(const std::vector<std::string>& elements) {
  std::string bytes;
  for (const std::string& element : elements) {
    const auto length = static_cast<uint32_t>(element.size());
    bytes += std::string(reinterpret_cast<const char*>(&length), 4) + element;
  }
  return bytes;
}

struct CheckedRequest {
  explicit CheckedRequest(uint32_t rows = 2) : request(requests.Add(rows)) {}
  CheckedRequest& X(std::vector<int64_t> shape, const std::string& bytes,
                    DataType datatype = DataType::kFp32) {
    requests.Input(request, 0, datatype, std::move(shape), bytes);
    return *this;
  }
  CheckedRequest& S(std::vector<int64_t> shape, const std::string& bytes) {
    requests.Input(request, 1, DataType::kBytes, std::move(shape), bytes);
    return *this;
  }
  // The error for the request, or "".
  std::string Complaint(const ModelIo& io = TwoInputs()) const {
    const Status status = CheckRequest("m", io, *request);
    if (status.ok()) return "";
    CHECK(status.code() == Code::kInvalidArg);
    return status.message();
  }

  Requests requests;
  Request* request;
};

}  // namespace

TEST(check_takes_a_request_that_fits) {
  CHECK_EQ(CheckedRequest().X({2, 2}, FloatBytes(4)).Complaint(), "");
  CHECK_EQ(CheckedRequest().X({2, 2}, FloatBytes(4)).S({2, 1}, Text({"a", ""})).Complaint(), "");
  CHECK_EQ(CheckedRequest(1).X({0, 2}, "").Complaint(TwoInputs(0)), "");
}

TEST(check_names_what_is_wrong_with_a_request) {
  const std::pair<std::string, std::string> cases[] = {
      {CheckedRequest().Complaint(), "model 'm', input 'x': it is missing"},
      {CheckedRequest().X({2, 2}, FloatBytes(4)).X({2, 2}, FloatBytes(4)).Complaint(),
       "model 'm', input 'x': it was passed twice"},
      {CheckedRequest().X({2, 2}, FloatBytes(4), DataType::kInt32).Complaint(),
       "model 'm', input 'x': expected FP32 but received INT32"},
      {CheckedRequest().X({2, 3}, FloatBytes(6)).Complaint(),
       "model 'm', input 'x': expected dims [-1,2] but received shape [2,3]"},
      {CheckedRequest().X({2}, FloatBytes(2)).Complaint(),
       "model 'm', input 'x': expected dims [-1,2] but received shape [2]"},
      {CheckedRequest().X({-2, 2}, FloatBytes(4)).Complaint(),
       "model 'm', input 'x': expected dims [-1,2] but received shape [-2,2]"},
      {CheckedRequest().X({3, 2}, FloatBytes(6)).Complaint(),
       "model 'm', input 'x': expected 2 rows, as the request has, but received shape [3,2]"},
      {CheckedRequest().X({2, 2}, FloatBytes(3)).Complaint(),
       "model 'm', input 'x': expected 16 bytes for shape [2,2] but received 12"},
      {CheckedRequest().X({2, 2}, FloatBytes(4)).S({1, 1}, Text({"a"})).Complaint(),
       "model 'm', input 's': expected 2 rows, as the request has, but received shape [1,1]"},
      {CheckedRequest(5).X({5, 2}, FloatBytes(10)).Complaint(),
       "model 'm': expected 1 to 4 rows, its max_batch_size, but received 5"},
      {CheckedRequest(0).X({0, 2}, "").Complaint(),
       "model 'm': expected 1 to 4 rows, its max_batch_size, but received 0"},
  };
  for (const auto& [complaint, expected] : cases) CHECK_EQ(complaint, expected);
}

TEST(check_walks_the_elements_of_strings) {
  const auto complaint = [](const std::string& bytes) {
    return CheckedRequest().X({2, 2}, FloatBytes(4)).S({2, 1}, bytes).Complaint();
  };
  const std::string both = Text({"ab", "c"});
  CHECK_EQ(complaint(both), "");
  CHECK_EQ(complaint(Text({"abcdef"})), "model 'm', input 's': expected 2 elements but found 1");
  CHECK_EQ(complaint(both.substr(0, 4)),
           "model 'm', input 's': expected 2 elements, each with a length prefix of 4 bytes, but "
           "received 4 bytes");
  CHECK_EQ(complaint(both.substr(0, both.size() - 1)),
           "model 'm', input 's': element 1 has 1 bytes, but only 0 are left");
  CHECK_EQ(complaint(both + "x"), "model 'm', input 's': 1 bytes are left after 2 elements");
  CHECK_EQ(complaint(std::string("\xff\xff\xff\xff", 4) + std::string(8, 0)),
           "model 'm', input 's': element 0 has 4294967295 bytes, but only 8 are left");
}

TEST(check_walks_strings_over_the_chunks_they_came_in) {
  std::string bytes = Text({"ab", "c"});
  for (size_t cut = 1; cut < bytes.size(); cut++) {
    CheckedRequest asked;
    asked.X({2, 2}, FloatBytes(4)).S({2, 1}, bytes.substr(0, cut));
    SmallVector<Buffer, 1>& chunks = asked.request->header->inputs()[1].first_chunks;
    chunks.push_back({nullptr, 0, MemoryKind::kHost, 0, {}});
    chunks.push_back({bytes.data() + cut, bytes.size() - cut, MemoryKind::kHost, 0, {}});
    CHECK_EQ(asked.Complaint(), "");
  }
}

TEST(check_refuses_sizes_beyond_all_bounds) {
  ModelIo io = TwoInputs();
  io.inputs[0].dims = {-1, -1, -1};
  const int64_t huge = int64_t{1} << 40;
  CHECK(!CheckedRequest().X({2, huge, huge}, FloatBytes(4)).Complaint(io).empty());
  io.inputs[1].dims = {-1, -1};
  CHECK(!CheckedRequest().X({2, 0, huge}, "").S({2, huge}, Text({"a"})).Complaint(io).empty());
}

TEST(check_refuses_inputs_and_outputs_that_the_model_does_not_have) {
  CheckedRequest asked;
  asked.X({2, 2}, FloatBytes(4));
  asked.requests.Input(asked.request, 7, DataType::kFp32, {2, 2}, FloatBytes(4));
  CHECK_EQ(asked.Complaint(), "model 'm': unknown input 7; expected an index below 2");
  CheckedRequest wanting;
  wanting.X({2, 2}, FloatBytes(4)).request->header->wanted = {1};
  CHECK_EQ(wanting.Complaint(), "model 'm': unknown output 1; expected an index below 1");
}

TEST(check_refuses_bytes_without_an_address) {
  CheckedRequest asked;
  asked.X({2, 2}, FloatBytes(4));
  asked.request->header->inputs()[0].first_chunks[0].data = nullptr;
  CHECK_EQ(asked.Complaint(), "model 'm', input 'x': a chunk of 16 bytes has no address");
}

TEST(check_refuses_more_than_4_gib) {
  CheckedRequest asked(1);
  asked.X({1, 2}, FloatBytes(2));
  ModelIo io = TwoInputs();
  io.inputs[0].dims = {-1, -1};
  InputTensor& input = asked.request->header->inputs()[0];
  input.shape = {1, (int64_t{1} << 30) + 1};
  input.first_chunks[0].size = kMostTensorBytes + 4;
  CHECK_EQ(asked.Complaint(io),
           "model 'm', input 'x': expected at most 4294967296 bytes (4 GiB), but got 4294967300");
  input.shape = {1, int64_t{1} << 30};
  input.first_chunks[0].size = kMostTensorBytes;
  CHECK_EQ(asked.Complaint(io), "");
}

// The first value of a shape tensor is the number of rows; its dims have no batch dimension.
TEST(check_compares_the_first_value_of_a_shape_tensor_with_the_rows) {
  ModelIo io = TwoInputs();
  io.inputs[1] = {"s", DataType::kInt64, {3}};
  io.inputs[1].rows_in_values = true;
  const auto complaint = [&](std::vector<int64_t> shape, const std::vector<int64_t>& values) {
    CheckedRequest asked;
    asked.X({2, 2}, FloatBytes(4));
    asked.requests.Input(asked.request, 1, DataType::kInt64, std::move(shape), BytesOf(values));
    return asked.Complaint(io);
  };
  CHECK_EQ(complaint({3}, {2, 4, 1}), "");
  CHECK_EQ(complaint({3}, {1, 4, 1}),
           "model 'm', input 's': expected its first value to be 2, the rows of the request, but "
           "received 1");
  CHECK_EQ(complaint({2}, {2, 4}),
           "model 'm', input 's': expected dims [3] but received shape [2]");
  CHECK_EQ(complaint({2, 3}, {2, 4, 1, 2, 4, 1}),
           "model 'm', input 's': expected dims [3] but received shape [2,3]");
}

}  // namespace tritonts::test
