#include "format/collections_file.h"

#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/source_dir_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What the original wrote: spec §4.
constexpr std::string_view kTheirs =
    R"({"collections": {"losses": {"name": "losses", "include_regex": ["[Ll]oss_(?!input).*output"], "tensor_names": ["MSELoss_output_0"], "reduction_config": {"save_raw_tensor": true, "reductions": "", "save_shape": false}, "save_config": {"TRAIN": {"save_interval": 500, "save_steps": [], "start_step": 0, "end_step": null}, "EVAL": null, "PREDICT": null, "GLOBAL": null}, "save_histogram": false}}, "_meta": {"num_workers": 1}})";

CollectionsFile losses() {
  StoredCollection collection;
  collection.tensors = {
      "losses", {"[Ll]oss_(?!input).*output"}, {"MSELoss_output_0"}};
  collection.reductions = {true, "", false};
  collection.schedule.emplace();
  collection.schedule->front() = ModeSchedule();
  collection.save_histogram = false;
  return {{collection}, 1};
}

TEST(CollectionsFile, IsWhatTheOriginalWrote) {
  EXPECT_EQ(write_collections_file(losses()), kTheirs);
}

TEST(CollectionsFile, OfTheOriginalIsRead) {
  const auto file = parse_collections_file(kTheirs);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->num_workers, 1);
  ASSERT_THAT(file->collections, SizeIs(1));
  const StoredCollection& collection = file->collections.front();
  EXPECT_EQ(collection.tensors, losses().collections.front().tensors);
  ASSERT_TRUE(collection.reductions);
  EXPECT_TRUE(collection.reductions->save_raw_tensor);
  ASSERT_TRUE(collection.schedule);
  ASSERT_TRUE(collection.schedule->front());
  EXPECT_EQ(collection.schedule->front()->save_interval, 500);
  EXPECT_FALSE(collection.schedule->front()->end_step);
  EXPECT_FALSE(collection.schedule->back());
  EXPECT_FALSE(collection.save_histogram);
}

TEST(CollectionsFile, KeepsTheOrderOfItsCollections) {
  CollectionsFile file;
  for (const char* name : {"zeta", "alpha", "mid"}) {
    file.collections.emplace_back().tensors.name = name;
  }
  const auto back = parse_collections_file(write_collections_file(file));
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_THAT(back->collections, SizeIs(3));
  EXPECT_EQ(back->collections[0].tensors.name, "zeta");
  EXPECT_EQ(back->collections[1].tensors.name, "alpha");
  EXPECT_EQ(back->collections[2].tensors.name, "mid");
  EXPECT_FALSE(back->collections[0].schedule);
  EXPECT_FALSE(back->collections[0].reductions);
}

TEST(CollectionsFile, WithoutFieldsTakesTheDefaults) {
  const auto file = parse_collections_file(
      R"({"collections": {"a": {"include_regex": false},
          "b": {"tensor_names": ["z", "y"], "save_config":
                {"TRAIN": {"save_steps": [3, 1], "end_step": 9}}}}})");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->num_workers, 1);
  ASSERT_THAT(file->collections, SizeIs(2));
  EXPECT_EQ(file->collections[0].tensors.name, "a");
  EXPECT_THAT(file->collections[0].tensors.include_regex, IsEmpty());
  EXPECT_TRUE(file->collections[0].save_histogram);
  EXPECT_THAT(file->collections[1].tensors.tensor_names, ElementsAre("y", "z"));
  const auto& train = file->collections[1].schedule->front();
  ASSERT_TRUE(train);
  EXPECT_EQ(train->save_interval, 500);
  EXPECT_THAT(train->save_steps, ElementsAre(3, 1));
  EXPECT_EQ(train->end_step, 9);
}

// Files of the original, byte for byte.
TEST(CollectionsFile, WritesTheOriginalsTextAgain) {
  for (const std::string file :
       {"core_dtypes/run/collections/000000000/worker_0",
        "core_strings/run/collections/000000000/algo-1",
        "core_modes/run/collections/000000000/worker_0",
        "core_foreign/run/collections/000000000/w",
        "core_devices/run/collections/000000000/"  // NOLINT(*-missing-comma)
        "_job-localhost_replica-0_task-0_device-GPU-1",
        "pytorch_modes/run/collections/000000000/worker_0",
        "pytorch_raw_and_shape/run/collections/000000000/worker_0",
        "workers_two/run/collections/000000000/worker_1"}) {
    std::ifstream stream(SMDEBUG_SOURCE_DIR "/tests/golden/" + file +
                         "_collections.json");
    ASSERT_TRUE(stream.good()) << file;
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    const auto parsed = parse_collections_file(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(write_collections_file(*parsed), text);
  }
}

TEST(CollectionsFile, OfTheWrongShapeIsCorrupt) {
  for (const char* text :
       {"", "[]", "{}", R"({"collections": []})",
        R"({"collections": {"a": {"tensor_names": "x"}}})",
        R"({"collections": {"a": {"tensor_names": [1]}}})",
        R"({"collections": {"a": {"save_histogram": 1}}})",
        R"({"collections": {"a": {"save_config":
            {"TRAIN": {"save_interval": "1"}}}}})",
        R"({"collections": {"a": {"save_config":
            {"TRAIN": {"save_steps": ["1"]}}}}})",
        R"({"collections": {}, "_meta": {"num_workers": 0}})",
        R"({"collections": {}, "_meta": {"num_workers": "2"}})",
        R"({"collections": {}, "_meta": {"num_workers": 1e300}})"}) {
    const auto file = parse_collections_file(text);
    ASSERT_FALSE(file) << text;
    EXPECT_EQ(file.error().code, Error::Code::corrupt) << text;
  }
}

}  // namespace
}  // namespace smdebug
