// The pytorch backend: its settings, names and library, without libtorch.
#include <string>
#include <vector>

#include "backends/pytorch/naming.h"
#include "fakes/fakes.h"
#include "pytorch_fixture.h"

namespace tritonts::test {

namespace {

std::vector<TensorSpec> NamedTensors(const std::vector<std::string>& names) {
  std::vector<TensorSpec> tensors;
  for (const std::string& name : names) tensors.push_back({name, DataType::kFp32, {1}});
  return tensors;
}

using Places = std::vector<uint32_t>;

}  // namespace

TEST(pytorch_settings_are_read_or_refused) {
  auto read = pytorch::ReadSettings({{"library", "l"},
                                     {"shim", "s"},
                                     {"intra_op", "3"},
                                     {"inference", "false"},
                                     {"fuser", "false"}});
  CHECK(read.ok());
  CHECK_EQ(read.value().intra_op, 3);
  CHECK(!read.value().inference && read.value().optimize && !read.value().share);
  CHECK(read.value().fuser == false && !read.value().executor);
  CHECK(Contains(pytorch::ReadSettings({{"share", "yes"}}).status(), "true or false"));
  CHECK(Contains(pytorch::ReadSettings({{"cores", "-1"}}).status(), "a number from 0"));
  CHECK(Contains(pytorch::ReadSettings({{"cores", "1x"}}).status(), "a number from 0"));
  CHECK(Contains(pytorch::ReadSettings({{"guess", ""}}).status(), "unknown pytorch setting"));
}

TEST(pytorch_names_have_the_index_after_their_first_mark) {
  CHECK(pytorch::IndexIn("INPUT__0") == 0u);
  CHECK(pytorch::IndexIn("x__12") == 12u);
  CHECK(pytorch::IndexIn("x__") == 0u);
  CHECK(pytorch::IndexIn("__3") == 3u);
  CHECK(!pytorch::IndexIn("x"));
  CHECK(!pytorch::IndexIn("x_1"));
  CHECK(!pytorch::IndexIn("x__a"));
  CHECK(!pytorch::IndexIn("x__1__2"));
  CHECK(!pytorch::IndexIn("x__-1"));
  CHECK(pytorch::IndexIn("x__99999999999999999999") == UINT32_MAX);
}

TEST(pytorch_inputs_are_arguments_or_have_indexes_or_an_order) {
  const std::vector<std::string> arguments{"a", "b", "c__0"};
  const auto places = [&](const std::vector<std::string>& names) {
    auto found = pytorch::ArgumentsOf(NamedTensors(names), arguments);
    CHECK_EQ(found.status().message(), "");
    return found.ok() ? found.take() : Places{};
  };
  CHECK_EQ(places({"b", "c__0", "a"}), (Places{1, 2, 0}));
  CHECK_EQ(places({"x__2", "y__0", "c__1"}), (Places{2, 0, 1}));
  CHECK_EQ(places({"x", "a", "y"}), (Places{0, 1, 2}));
  CHECK_EQ(places({"c__0", "x__1", "y"}), (Places{0, 1, 2}));
  const auto refusal = [&](const std::vector<std::string>& names) {
    return pytorch::ArgumentsOf(NamedTensors(names), arguments).status();
  };
  CHECK(Contains(refusal({"x__0", "y__1", "z__3"}), "'z__3' is the argument 3 of forward"));
  CHECK(Contains(refusal({"x__1", "y__1", "z__0"}), "'x__1' and 'y__1' are the same argument"));
  CHECK(Contains(refusal({"a", "a", "b"}), "the same argument of forward, 'a'"));
  CHECK_EQ(pytorch::ValuesOf(NamedTensors({"y__1", "z__0"})), (Places{1, 0}));
  CHECK_EQ(pytorch::ValuesOf(NamedTensors({"y__1", "z"})), (Places{0, 1}));
}

TEST(pytorch_shim_that_cannot_be_used_says_what_to_do) {
  const auto refusal = [](const std::string& path) {
    pytorch::Settings settings;
    settings.library = "libtorch";
    settings.shim = path;
    const Status status = pytorch::Library::Open(settings).status();
    CHECK(status.code() == Code::kUnavailable && status.reason() == Reason::kMissing);
    return status.message();
  };
  const auto says = [&](const std::string& path, const std::string& text) {
    const std::string message = refusal(path);
    // Another test may have opened libtorch before.
    return Contains(message, text) || Contains(message, "the process already uses libtorch");
  };
  CHECK(says("/nowhere/shim.so", "there is no shim '/nowhere/shim.so' for libtorch"));
  CHECK(says("/nowhere/shim.so", "run `npx tritonts build-backend pytorch`"));
  CHECK(says(PlainLibrary(), "is no shim for libtorch"));
  CHECK(says(FakeTorchShim("interface"), "is of another version of tritonts"));
  CHECK(says(FakeTorchShim("version"),
             "was built for libtorch 2.7.1, but 'libtorch' is 2.8.0+cpu: run `npx tritonts"));
}

}  // namespace tritonts::test
