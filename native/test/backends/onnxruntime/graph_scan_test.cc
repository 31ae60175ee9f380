// Scanning the operators of a model file, even a malformed one.
#include "backends/onnxruntime/graph_scan.h"

#include "onnxruntime_fixture.h"

namespace tritonts::test {

namespace {

using onnxruntime::GraphFacts;
using onnxruntime::ScanGraph;

OnnxModelWriter With(const std::string& op, const std::string& domain = "") {
  return OnnxModelWriter().Node("Relu", {"x"}, {"a"}).Node(op, {"a"}, {"y"}, {}, domain);
}

GraphFacts FactsOf(const OnnxModelWriter& writer) {
  return ScanGraph(std::string_view(writer.Model()));
}

// Whether both facts are unknown for this reason.
bool Unknown(const GraphFacts& facts, const std::string& reason) {
  return facts.rows_vary == facts.time_varies &&
         facts.rows_vary.find(reason) != std::string::npos && !reason.empty();
}

// `depth` nested graphs, with this operator in the innermost one.
OnnxModelWriter Nested(int depth, const std::string& op) {
  OnnxModelWriter inner = With(op);
  for (int i = 0; i < depth; i++) {
    const std::string branch = GraphAttribute("then_branch", inner.Graph());
    inner = OnnxModelWriter().Node("If", {"c"}, {"y"}, {IntAttribute("odd", 1), branch});
  }
  return inner;
}

std::string WithSize(std::string bytes, size_t size) {
  bytes.resize(size);
  return bytes;
}

}  // namespace

TEST(graph_scan_finds_nothing_in_operators_that_keep_to_shapes) {
  const auto facts = FactsOf(OnnxModelWriter()
                                 .Input("x", Tensor(kOnnxFloat, {-1, 3}))
                                 .Initializer("w", kOnnxFloat, {2}, Raw<float>({1, 2}))
                                 .Node("Transpose", {"x"}, {"t"}, {IntAttribute("NonZero", 1)})
                                 .Node("Gemm", {"t", "w"}, {"Loop"})
                                 .Node("FusedMatMul", {"Loop", "t"}, {"u"}, {}, "com.microsoft")
                                 .Node("Scaler", {"u"}, {"y"}, {}, "ai.onnx.ml")
                                 .Output("y", Tensor(kOnnxFloat, {-1, 3})));
  CHECK_EQ(facts.rows_vary, "");
  CHECK_EQ(facts.time_varies, "");
}

TEST(graph_scan_finds_operators_whose_rows_depend_on_data) {
  for (const char* op : {"NonZero", "Compress", "Unique", "NonMaxSuppression", "Loop", "Scan",
                         "SequenceAt", "SplitToSequence", "StringNormalizer"}) {
    const auto facts = FactsOf(With(op));
    CHECK_EQ(facts.rows_vary, std::string("the model has the operator ") + op);
    CHECK_EQ(facts.time_varies, facts.rows_vary);
  }
  CHECK_EQ(FactsOf(With("NonZero", "ai.onnx")).rows_vary, "the model has the operator NonZero");
  CHECK_EQ(FactsOf(With("BeamSearch", "com.microsoft")).rows_vary,
           "the model has the operator BeamSearch");
}

TEST(graph_scan_finds_operators_whose_time_depends_on_data) {
  for (const char* op : {"If", "Range"}) {
    const auto facts = FactsOf(With(op));
    CHECK_EQ(facts.rows_vary, "");
    CHECK_EQ(facts.time_varies, std::string("the model has the operator ") + op);
  }
}

TEST(graph_scan_looks_into_nested_graphs) {
  const auto facts = FactsOf(Nested(12, "Compress"));
  CHECK_EQ(facts.rows_vary, "the model has the operator Compress");
  CHECK_EQ(FactsOf(Nested(12, "Abs")).rows_vary, "");
  // AttributeProto.graphs, which no ONNX operator uses.
  const std::string attribute =
      Bytes(1, "g") + Bytes(11, With("Abs").Graph()) + Bytes(11, With("NonZero").Graph());
  CHECK_EQ(FactsOf(OnnxModelWriter().Node("Abs", {"x"}, {"y"}, {attribute})).rows_vary,
           "the model has the operator NonZero");
}

TEST(graph_scan_does_not_follow_graphs_without_end) {
  CHECK(Unknown(FactsOf(Nested(60, "Abs")), "too deep"));
  CHECK(Unknown(FactsOf(Nested(3000, "Abs")), "too deep"));
}

TEST(graph_scan_knows_the_functions_of_the_model) {
  const auto with = [](const char* op) {
    return With("Mine", "own.functions").Function("own.functions", "Mine", {"x"}, {"y"}, With(op));
  };
  CHECK_EQ(FactsOf(with("Abs")).time_varies, "");
  CHECK_EQ(FactsOf(with("NonZero")).rows_vary, "the model has the operator NonZero");
  CHECK(Unknown(FactsOf(With("Other", "own.functions")
                            .Function("own.functions", "Mine", {"x"}, {"y"}, With("Abs"))),
                "the operator Other of the domain 'own.functions'"));
}

TEST(graph_scan_does_not_know_operators_of_other_domains) {
  CHECK(Unknown(FactsOf(With("Triple", "acme")), "the operator Triple of the domain 'acme'"));
  // The reason is readable whatever the operator's name is.
  const auto odd = FactsOf(With("a\nb\x01\xff" + std::string(1000, 'x'), "d"));
  CHECK(Unknown(odd, "the operator a?b??xxx"));
  CHECK(odd.rows_vary.size() < 200);
  OnnxModelWriter many;
  for (int i = 0; i < 5000; i++) many.Node("Op" + std::to_string(i), {"x"}, {"y"}, {}, "acme");
  CHECK(Unknown(FactsOf(many), "not ONNX's"));
}

TEST(graph_scan_takes_the_runtimes_own_format_for_the_worse) {
  CHECK(Unknown(ScanGraph(std::string_view("\x18\0\0\0ORTM and the rest", 22)), "(.ort)"));
  const TemporaryFolder folder;
  const std::filesystem::path named = folder.File("model.ort", With("Abs").Model());
  CHECK(Unknown(ScanGraph(named), "(.ort)"));
  const std::filesystem::path marked = folder.File("model.onnx", std::string("\x18\0\0\0ORTM", 8));
  CHECK(Unknown(ScanGraph(marked), "(.ort)"));
}

TEST(graph_scan_takes_what_it_cannot_read_for_the_worse) {
  const auto unreadable = [](const std::string& bytes) {
    return Unknown(ScanGraph(std::string_view(bytes)), "cannot be read");
  };
  CHECK(unreadable(""));
  CHECK(unreadable("ORT"));
  CHECK(unreadable("this is no protobuf message"));
  CHECK(unreadable(Number(1, 8)));                      // no graph
  CHECK(unreadable(With("Abs").Model() + '\0'));        // field 0, truncated
  CHECK(unreadable(With("Abs").Model() + "\x0b\x0c"));  // a group
  CHECK(unreadable(With("Abs").Model() + std::string(11, '\xff')));
  CHECK(unreadable(Varint(7 << 3 | 2) + Varint(UINT64_MAX)));    // a graph larger than any file
  CHECK(unreadable(Bytes(7, Varint(1 << 3 | 2) + Varint(10))));  // a node larger than its graph
  CHECK(unreadable(Bytes(7,
                         "\x09"
                         "1234567")));  // 8 bytes, of which 7 are present
  CHECK(unreadable(Bytes(7,
                         "\x0d"
                         "123") +
                   "4567"));                         // 4 bytes, one of them beyond the node
  CHECK(unreadable(Bytes(7, "\x08\x80") + "\x01"));  // a number that continues beyond the graph
  CHECK(Unknown(ScanGraph(std::filesystem::path("/nowhere/model.onnx")), "cannot be read"));
  CHECK(Unknown(ScanGraph(std::filesystem::temp_directory_path()), "cannot be read"));
}

// For every prefix of a file, and every file with one byte changed, the facts are correct or the
// worst case.
TEST(graph_scan_survives_files_that_are_cut_off_or_damaged) {
  const std::string model = Nested(3, "NonZero").Model();
  for (size_t size = 0; size < model.size(); size++) {
    const GraphFacts facts = ScanGraph(std::string_view(model).substr(0, size));
    CHECK(!facts.rows_vary.empty() && !facts.time_varies.empty());
  }
  for (size_t at = 0; at < model.size(); at++) {
    for (int value = 0; value < 256; value++) {
      std::string damaged = model;
      damaged[at] = static_cast<char>(value);
      const GraphFacts facts = ScanGraph(std::string_view(damaged));
      CHECK(facts.rows_vary.size() < 300);
    }
  }
}

TEST(graph_scan_of_a_file_is_that_of_its_bytes) {
  const TemporaryFolder folder;
  // Operators lie before and after a block longer than the read buffer, at all offsets.
  for (size_t weights = (16 << 10) - 120; weights < (16 << 10) + 20; weights++) {
    const std::string bytes = OnnxModelWriter()
                                  .Node("Abs", {"x"}, {"a"})
                                  .Initializer("w", kOnnxUint8, {1}, WithSize("NonZero", weights))
                                  .Node("Range", {"a"}, {"b"})
                                  .Initializer("v", kOnnxUint8, {1}, WithSize("", 40'000))
                                  .Node("NonZero", {"b"}, {"y"})
                                  .Model();
    const GraphFacts facts = ScanGraph(std::filesystem::path(folder.File("m.onnx", bytes)));
    CHECK_EQ(facts.rows_vary, "the model has the operator NonZero");
    CHECK_EQ(facts.time_varies, "the model has the operator Range");
  }
}

// A file of 1 TiB, mostly a hole. Reading it would take an hour.
TEST(graph_scan_does_not_read_weights) {
  const TemporaryFolder folder;
  constexpr uint64_t kHole = uint64_t{1} << 40;
  const std::string end = Bytes(1, Bytes(4, "NonZero"));
  const std::string weights = Varint(9 << 3 | 2) + Varint(kHole);
  const std::string tensor = Varint(5 << 3 | 2) + Varint(weights.size() + kHole) + weights;
  const std::string head = Varint(7 << 3 | 2) + Varint(tensor.size() + kHole + end.size()) + tensor;
  const std::filesystem::path file = folder.File("model.onnx", head);
  std::error_code error;
  std::filesystem::resize_file(file, head.size() + kHole, error);
  if (error) SKIP("the file system has no files of 1 TiB");
  std::ofstream(file, std::ios::binary | std::ios::app) << end;
  CHECK_EQ(ScanGraph(file).rows_vary, "the model has the operator NonZero");
}

}  // namespace tritonts::test
