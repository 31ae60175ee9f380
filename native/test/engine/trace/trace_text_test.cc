// Traces as text.
#include "engine/trace/trace_text.h"

#include <cstring>
#include <string>
#include <vector>

#include "check.h"

namespace tritonts::test {

namespace {

template <typename T>
std::string RawOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string DataOf(DataType datatype, std::string bytes) {
  TraceLog log;
  log.tensors.push_back({"A", "t", datatype, {2}, std::move(bytes)});
  log.events.push_back({.id = 1, .kind = TraceEvent::Kind::kTensor});
  std::string text;
  AppendTriton(log, &text);
  const size_t begin = text.find("\"data\":\"") + 8;
  return text.substr(begin, text.find("\",\"shape\"") - begin);
}

}  // namespace

TEST(trace_text_has_the_elements_of_each_datatype) {
  CHECK_EQ(DataOf(DataType::kBool, std::string("\0\1", 2)), "0,1");
  CHECK_EQ(DataOf(DataType::kUint8, "\x01\xff"), "1,255");
  CHECK_EQ(DataOf(DataType::kInt8, "\x01\xff"), "1,-1");
  CHECK_EQ(DataOf(DataType::kUint16, RawOf<uint16_t>({1, 65535})), "1,65535");
  CHECK_EQ(DataOf(DataType::kInt16, RawOf<int16_t>({-32768, 7})), "-32768,7");
  CHECK_EQ(DataOf(DataType::kUint32, RawOf<uint32_t>({4294967295u})), "4294967295");
  CHECK_EQ(DataOf(DataType::kInt32, RawOf<int32_t>({-5})), "-5");
  CHECK_EQ(DataOf(DataType::kUint64, RawOf<uint64_t>({~0ull})), "18446744073709551615");
  CHECK_EQ(DataOf(DataType::kInt64, RawOf<int64_t>({-9})), "-9");
  CHECK_EQ(DataOf(DataType::kFp32, RawOf<float>({1, -0.5f, 3.25f})), "1,-0.5,3.25");
  CHECK_EQ(DataOf(DataType::kFp64, RawOf<double>({1e300})), "1e+300");
  CHECK_EQ(DataOf(DataType::kFp16, "abcd"), "");
  CHECK_EQ(DataOf(DataType::kBf16, "abcd"), "");
  CHECK_EQ(DataOf(DataType::kFp32, ""), "");
  // Bytes that are no whole element are left out.
  CHECK_EQ(DataOf(DataType::kFp32, RawOf<float>({2}) + "ab"), "2");
}

TEST(trace_text_escapes_strings_twice_and_replaces_what_is_no_text) {
  const auto element = [](const std::string& bytes) {
    return RawOf<uint32_t>({static_cast<uint32_t>(bytes.size())}) + bytes;
  };
  CHECK_EQ(DataOf(DataType::kBytes, element("a") + element("")), R"(\"a\",\"\")");
  CHECK_EQ(DataOf(DataType::kBytes, element("q\"\n")), R"(\"q\\\"\\u000a\")");
  CHECK_EQ(DataOf(DataType::kBytes, element("\xc3\xa9")), "\\\"\xc3\xa9\\\"");
  const std::string none = "\xef\xbf\xbd";
  for (const char* wrong : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80"}) {
    const std::string text = DataOf(DataType::kBytes, element(wrong));
    CHECK(text.find(none) != std::string::npos);
    CHECK(text.find(wrong) == std::string::npos);
  }
  // An element that is longer than what is left ends the text.
  CHECK_EQ(DataOf(DataType::kBytes, element("a") + RawOf<uint32_t>({99}) + "b"), R"(\"a\")");
}

TEST(trace_text_has_tritons_form) {
  TraceLog log;
  log.root = 7;
  log.timestamps = true;
  log.requests = {{0, "m\"", 3, "r"}, {7, "n", 1, ""}};
  log.texts = {"HTTP_RECV_START", "it failed"};
  log.events = {{.id = 7, .ns = 1, .index = 0, .kind = TraceEvent::Kind::kNote},
                {.id = 7, .ns = 2, .index = 0, .kind = TraceEvent::Kind::kRequest},
                {.id = 7, .ns = 3, .moment = TraceMoment::kRequestStart},
                {.id = 8, .ns = 4, .index = 1, .kind = TraceEvent::Kind::kRequest},
                {.id = 7, .ns = 5, .index = 1, .kind = TraceEvent::Kind::kError},
                {.id = 7, .ns = 6, .moment = TraceMoment::kRequestEnd}};
  std::string text;
  AppendTriton(log, &text);
  CHECK_EQ(text, R"({"id":7,"timestamps":[{"name":"HTTP_RECV_START","ns":1}]},)"
                 R"({"id":7,"model_name":"m\"","model_version":3,"request_id":"r"},)"
                 R"({"id":7,"timestamps":[{"name":"REQUEST_START","ns":3}]},)"
                 R"({"id":8,"model_name":"n","model_version":1,"parent_id":7},)"
                 R"({"id":7,"timestamps":[{"name":"REQUEST_END","ns":6}]})");
  log.timestamps = false;
  text.clear();
  AppendTriton(log, &text);
  CHECK_EQ(text, "");
}

TEST(trace_text_has_each_id_and_time_as_it_is) {
  // Ids and times whose upper digits are, or are not, those of the stamp before.
  const std::vector<uint64_t> numbers = {0,
                                         1,
                                         99'999'999,
                                         100'000'000,
                                         100'000'001,
                                         199'999'999,
                                         200'000'000,
                                         123'456'789'012'345,
                                         123'456'789'099'999,
                                         123'456'700'000'007,
                                         5,
                                         ~uint64_t{0},
                                         ~uint64_t{0} - 1};
  TraceLog log;
  log.timestamps = true;
  std::string expected;
  for (const uint64_t id : numbers) {
    for (const uint64_t ns : numbers) {
      log.events.push_back({.id = id, .ns = ns, .moment = TraceMoment::kComputeOutputStart});
      expected += (expected.empty() ? "" : ",") + ("{\"id\":" + std::to_string(id)) +
                  R"(,"timestamps":[{"name":"COMPUTE_OUTPUT_START","ns":)" + std::to_string(ns) +
                  "}]}";
    }
  }
  // A name of a front end may be long.
  log.texts = {std::string(100, 'n')};
  log.events.push_back({.id = 7, .ns = 8, .kind = TraceEvent::Kind::kNote});
  expected += R"(,{"id":7,"timestamps":[{"name":")" + log.texts[0] + R"(","ns":8}]})";
  std::string text;
  AppendTriton(log, &text);
  CHECK_EQ(text, expected);
}

TEST(trace_text_of_spans_has_children_before_their_parents) {
  TraceLog log;
  log.root = 7;
  log.context = "00-a-b-01\nk=\"v\"";
  log.wall_ns = 1000;
  log.requests = {{0, "e", 1, "r"}, {7, "m", 2, ""}};
  log.texts = {"it failed"};
  log.events = {{.id = 7, .ns = 2, .index = 0, .kind = TraceEvent::Kind::kRequest},
                {.id = 7, .ns = 3, .moment = TraceMoment::kRequestStart},
                {.id = 8, .ns = 4, .index = 1, .kind = TraceEvent::Kind::kRequest},
                {.id = 8, .ns = 5, .index = 0, .kind = TraceEvent::Kind::kError}};
  std::string text;
  AppendSpans(log, &text);
  CHECK_EQ(text, R"({"id":8,"parent_id":7,"model_name":"m","model_version":2,"request_id":"",)"
                 R"("context":"","offset_ns":"1000","timestamps":[],"error":"it failed"},)"
                 R"({"id":7,"parent_id":0,"model_name":"e","model_version":1,"request_id":"r",)"
                 R"("context":"00-a-b-01\u000ak=\"v\"","offset_ns":"1000",)"
                 R"("timestamps":[{"name":"REQUEST_START","ns":"3"}]})");
  // A request that never came to the engine has the time stamps of its front end alone.
  log.events = {{.id = 7, .ns = 2, .index = 0, .kind = TraceEvent::Kind::kNote}};
  text.clear();
  AppendSpans(log, &text);
  CHECK(text.starts_with(R"({"id":7,"parent_id":0,"model_name":"","model_version":0,)"));
}

}  // namespace tritonts::test
