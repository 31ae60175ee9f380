// Reading JSON.
#include "json/json.h"

#include <string>

#include "check.h"

namespace tritonts::test {

namespace {

Json Parsed(const std::string& text) {
  auto json = Json::Parse(text);
  CHECK_EQ(json.status().message(), "");
  return json.ok() ? json.take() : Json();
}

bool Refuses(const std::string& text) {
  return Json::Parse(text).status().code() == Code::kInvalidArg;
}

std::string TextOf(const std::string& text) {
  const Json json = Parsed(text);
  return json.text() ? *json.text() : "no text";
}

}  // namespace

TEST(json_has_members_elements_texts_and_numbers) {
  const Json config = Parsed(R"( {
    "name": "m", "max_batch_size": 8, "input": [ { "dims": [ -1, 16 ] }, { } ], "none": null,
    "parameters": { "a": { "string_value": "x" } }, "on": true, "off": false, "b": [] } )");
  CHECK_EQ(*config.Member("name").text(), "m");
  CHECK(config.Member("max_batch_size").integer() == 8);
  CHECK_EQ(config.Member("input").items().size(), size_t{2});
  const Json& dims = config.Member("input").items()[0].Member("dims");
  CHECK(dims.items()[0].integer() == -1 && dims.items()[1].integer() == 16);
  CHECK_EQ(*config.Member("parameters").Member("a").Member("string_value").text(), "x");
  CHECK(config.Member("b").items().empty());
  CHECK_EQ(config.items().size(), size_t{8});
}

TEST(json_without_a_member_has_a_null_there) {
  const Json json = Parsed(R"({ "a": 1, "a": 2 })");
  CHECK(json.Member("a").integer() == 2);
  CHECK(!json.Member("b").text() && !json.Member("b").integer());
  CHECK(!json.Member("a").Member("c").Member("d").text());
  CHECK(!json.Member("a").text());
}

TEST(json_numbers_are_whole_or_not) {
  CHECK(Parsed("9223372036854775807").integer() == INT64_MAX);
  CHECK(Parsed("-9223372036854775808").integer() == INT64_MIN);
  CHECK(!Parsed("9223372036854775808").integer());
  CHECK(!Parsed("1.5").integer() && !Parsed("1e3").integer() && !Parsed("\"1\"").integer());
  CHECK(Parsed("0").integer() == 0 && Parsed("-0.25E+3").text() == nullptr);
}

TEST(json_texts_have_escapes) {
  CHECK_EQ(TextOf(R"("a\"\\\/\b\f\n\r\tz")"), "a\"\\/\b\f\n\r\tz");
  CHECK_EQ(TextOf(R"("\u0041\u00e9\u20ac\ud83d\ude00")"), "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK_EQ(TextOf("\"\xc3\xa9\""), "\xc3\xa9");
}

TEST(json_that_is_none_is_refused) {
  for (const char* const text :
       {"",        " ",        "{",         "[1,",         "[1,]",
        "{\"a\"}", "{\"a\":}", "{a:1}",     "01",          "-",
        "1.",      "1e",       "+1",        "tru",         "nul",
        "\"",      "\"\\x\"",  "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"",
        "\"\n\"",  "1 2",      "[]]",       "'a'"}) {
    CHECK(Refuses(text));
  }
  CHECK(!Refuses(std::string(100, '[') + std::string(100, ']')));
  CHECK(Refuses(std::string(100'000, '[')));
}

}  // namespace tritonts::test
