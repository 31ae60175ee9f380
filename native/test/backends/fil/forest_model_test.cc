// Models of trees as a backend: settings, description, batches.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/fil/model.h"
#include "check.h"
#include "onnxruntime_fixture.h"
#include "tree_files.h"

namespace tritonts::test {

namespace {

using Settings = std::map<std::string, std::string>;

StatusOr<std::unique_ptr<Model>> LoadTrees(Settings settings, const std::string& bytes) {
  ModelSpec spec;
  spec.name = "trees";
  spec.path = "model";
  spec.settings = std::move(settings);
  spec.files["model"] = std::make_shared<const std::string>(bytes);
  return fil::ForestModel::Load(spec);
}

ModelIo TreesIo(uint32_t max_batch_size, std::vector<TensorSpec> outputs) {
  return {max_batch_size, {{"input__0", DataType::kFp32, {-1, 2}}}, std::move(outputs)};
}

const TensorSpec kOneColumn{"output__0", DataType::kFp32, {-1, 1}};
const TensorSpec kTwoColumns{"output__0", DataType::kFp32, {-1, 2}};
const TensorSpec kShap{"treeshap_output", DataType::kFp32, {-1, 3}};

// A model of TreesAsJson, ready to run.
struct ReadyTrees {
  explicit ReadyTrees(Settings settings = {}, const ModelIo& io = TreesIo(64, {kOneColumn}),
                      const std::string& bytes = TreesAsJson()) {
    settings.emplace("model_type", "xgboost_json");
    auto loaded = LoadTrees(std::move(settings), bytes);
    status = loaded.status();
    if (!status.ok()) return;
    model = loaded.take();
    status = model->Configure(io, "{}");
    if (!status.ok()) return;
    instance = model->CreateInstance({"trees_0", 0}).take();
  }

  // The values of output `index` for these rows.
  std::vector<float> Run(const std::vector<float>& rows, uint32_t index = 0) {
    CHECK_EQ(status.message(), "");
    if (!instance) return {};
    RecordingBatch batch;
    const auto count = static_cast<int64_t>(rows.size() / 2);
    batch.Add(static_cast<uint32_t>(count)).Floats({count, 2}, rows);
    instance->Execute(batch);
    CHECK_EQ(batch.status.message(), "");
    return Values<float>(batch.outputs[index].bytes);
  }

  Status status;
  std::unique_ptr<Model> model;
  std::unique_ptr<Instance> instance;
};

}  // namespace

TEST(FilModelsAnswerBatches) {
  ReadyTrees trees;
  CHECK_EQ(trees.Run({0, 0, 1, 1, 1, 2, kNaN, 5}), (std::vector<float>{2.25, 4.75, -1.25, 2.25}));
  CHECK_EQ(trees.Run({}), std::vector<float>());
  RecordingBatch batch;
  batch.Add(1).Floats({1, 2}, {1, 33}).Add(2).Floats({2, 2}, {0, 1, 1, 2});
  trees.instance->Execute(batch);
  CHECK_EQ(batch.marks, "icr");
  CHECK(batch.outputs[0].tail == Dims{1});
  CHECK_EQ(Values<float>(batch.outputs[0].bytes), (std::vector<float>{4.75, 2.25, -1.25}));
}

TEST(FilModelsOfAllFormatsLoad) {
  const auto first = [](const char* type, const std::string& bytes) {
    return ReadyTrees({{"model_type", type}}, TreesIo(64, {kOneColumn}), bytes).Run({0, 0}).at(0);
  };
  CHECK_EQ(first("xgboost_ubj", AsUbj(TreesAsJson(), true)), 2.25F);
  CHECK_EQ(first("lightgbm", TreesAsLightgbm()), 1.75F);
  CHECK_EQ(first("lightgbm", TreesAsLinear()), 1.0F);
  CHECK_EQ(first("treelite_checkpoint", TreesAsTreelite()), 2.0F);
  CHECK(std::isfinite(first("xgboost", TreesAsLegacy())));
}

TEST(FilModelsAreReadFromFiles) {
  const auto path = std::filesystem::temp_directory_path() / "tritonts_fil_test.json";
  std::ofstream(path, std::ios::binary) << TreesAsJson();
  ModelSpec spec;
  spec.name = "trees";
  spec.path = path.string();
  spec.settings = {{"model_type", "xgboost_json"}};
  CHECK(fil::ForestModel::Load(spec).ok());
  std::filesystem::remove(path);
  // The system's words follow.
  const std::string text = fil::ForestModel::Load(spec).status().message();
  CHECK(text.starts_with("cannot read '" + spec.path + "': "));
  std::filesystem::create_directory(path);
  CHECK_EQ(fil::ForestModel::Load(spec).status().message(),
           "expected the model's file, but '" + spec.path + "' is a folder");
  std::filesystem::remove(path);
}

TEST(FilModelsWithoutBatches) {
  ReadyTrees trees({}, TreesIo(0, {kOneColumn}));
  RecordingBatch batch;
  // The fixture counts rows, of which there are none here.
  batch.Add(1).Floats({3, 2}, {0, 0, 1, 1, 1, 2});
  trees.instance->Execute(batch);
  CHECK_EQ(batch.status.message(), "");
  CHECK(batch.outputs[0].tail == (Dims{3, 1}));
  CHECK_EQ(Values<float>(batch.outputs[0].bytes), (std::vector<float>{2.25, 4.75, -1.25}));
}

TEST(FilModelsSplitLargeBatches) {
  ReadyTrees ready({{"treeshap_output", "true"}, {"cpu_nthread", "4"}},
                   TreesIo(1 << 20, {kOneColumn, kShap}));
  std::vector<float> rows;
  for (int i = 0; i < 40'000; i++) {
    rows.push_back(static_cast<float>(i % 3) / 2);
    rows.push_back(static_cast<float>(i % 5));
  }
  const std::vector<float> found = ready.Run(rows);
  const std::vector<float> shap = ready.Run(rows, 1);
  CHECK_EQ(found.size(), 40'000u);
  CHECK_EQ(shap.size(), 120'000u);
  size_t wrong = 0;
  for (size_t i = 0; i < found.size(); i++) {
    const float expected = rows[2 * i] < 0.5F ? 2.25F : rows[2 * i + 1] == 1 ? 4.75F : -1.25F;
    if (found[i] != expected) wrong++;
    const float sum = shap[3 * i] + shap[3 * i + 1] + shap[3 * i + 2];
    if (!(std::fabs(sum - expected) < 1e-4F)) wrong++;
  }
  CHECK_EQ(wrong, 0u);
}

TEST(FilModelsRunInManyInstances) {
  ReadyTrees trees;
  std::vector<float> rows(20'000, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      const auto instance = trees.model->CreateInstance({"trees", 0}).take();
      for (int round = 0; round < 10; round++) {
        RecordingBatch batch;
        batch.Add(10'000).Floats({10'000, 2}, rows);
        instance->Execute(batch);
        CHECK(Values<float>(batch.outputs[0].bytes) == std::vector<float>(10'000, 4.75F));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FilModelsAsClassifiers) {
  const std::string json = Replaced(TreesAsJson(), "reg:squarederror", "binary:logistic");
  const auto io = [](const TensorSpec& output) { return TreesIo(64, {output}); };
  const std::vector<float> rows{0, 0, 1, 2};
  const std::vector<float> p = ReadyTrees({}, io(kOneColumn), json).Run(rows);
  CHECK(p[0] > 0.8F && p[0] < 0.9F && p[1] > 0.1F && p[1] < 0.2F);
  CHECK_EQ(ReadyTrees({{"is_classifier", "true"}}, io(kOneColumn), json).Run(rows),
           (std::vector<float>{1, 0}));
  CHECK_EQ(
      ReadyTrees({{"is_classifier", "true"}, {"threshold", "0.9"}}, io(kOneColumn), json).Run(rows),
      (std::vector<float>{0, 0}));
  Settings both{{"is_classifier", "true"}, {"predict_proba", "true"}, {"output_columns", "2"}};
  CHECK_EQ(ReadyTrees(both, io(kTwoColumns), json).Run(rows),
           (std::vector<float>{1 - p[0], p[0], 1 - p[1], p[1]}));
  both["output_columns"] = "1";
  CHECK_EQ(ReadyTrees(both, io(kOneColumn), json).Run(rows), p);
}

TEST(FilModelsDescribeThemselves) {
  ReadyTrees trees({{"treeshap_output", "true"}}, TreesIo(64, {kOneColumn, kShap}));
  const ModelDescription description = trees.model->Describe();
  CHECK_EQ(description.inputs.size(), 1u);
  CHECK_EQ(description.inputs[0].name, "input__0");
  CHECK(description.inputs[0].dims == (Dims{-1, 2}));
  CHECK_EQ(description.outputs.size(), 2u);
  CHECK(description.outputs[0].dims == (Dims{-1, 1}));
  CHECK(description.outputs[1].dims == (Dims{-1, 3}));
  CHECK_EQ(description.outputs[1].dim_names[0], description.inputs[0].dim_names[0]);
  CHECK(trees.model->Memory()[0].bytes > 0);
}

TEST(FilModelsRefuseSettings) {
  const auto message = [](Settings settings) {
    return ReadyTrees(std::move(settings)).status.message();
  };
  CHECK_EQ(message({{"model_type", "onnx"}}),
           "onnx not recognized as a valid serialization format.");
  CHECK_EQ(message({{"threshold", "much"}}),
           "expected a decimal number for the setting 'threshold' of the fil backend but received "
           "'much'");
  CHECK_EQ(message({{"cpu_nthread", "1.5"}}),
           "expected an integer for the setting 'cpu_nthread' of the fil backend but received "
           "'1.5'");
  CHECK_EQ(message({{"is_classifier", "yes"}}),
           "expected true or false for the setting 'is_classifier' of the fil backend but received "
           "'yes'");
  CHECK_EQ(message({{"layouts", "x"}}), "unknown setting 'layouts' of the fil backend");
}

TEST(FilModelsRefuseOtherTensors) {
  const auto message = [](const ModelIo& io) { return ReadyTrees({}, io).status.message(); };
  CHECK_EQ(message(TreesIo(64, {kShap})),
           "model 'trees': unknown output 'treeshap_output': expected 'output__0'");
  CHECK_EQ(message({64, {{"input", DataType::kFp32, {-1, 2}}}, {kOneColumn}}),
           "model 'trees': expected 'input__0' as the only input");
  CHECK_EQ(message({64, {{"input__0", DataType::kFp64, {-1, 2}}}, {kOneColumn}}),
           "model 'trees': input 'input__0': expected TYPE_FP32");
}

}  // namespace tritonts::test
