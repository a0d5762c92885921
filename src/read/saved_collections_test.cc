#include "smdebug/read/saved_collections.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "smdebug/store/open_storage.h"

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

TEST(SavedCollections, AreReadFromTheOriginalsFile) {
  const auto saved = parse_collections(
      R"({"collections": {"losses": {"name": "losses", "include_regex": ["[Ll]oss"], "tensor_names": ["b", "a"], "reduction_config": {"save_raw_tensor": true, "reductions": "mean,abs_l1_norm", "save_shape": false}, "save_config": {"TRAIN": {"save_interval": 5, "save_steps": [1], "start_step": 2, "end_step": 9}, "EVAL": null, "PREDICT": null, "GLOBAL": null}, "save_histogram": false}}, "_meta": {"num_workers": 3}})");
  ASSERT_THAT(saved, IsOk());
  Collection losses;
  losses.tensors = {"losses", {"[Ll]oss"}, {"a", "b"}};
  losses.reduction_config =
      ReductionConfig{.ops = *ReductionConfig::parse_ops("mean,abs_l1"),
                      .save_raw_tensor = true};
  losses.save_config.emplace().set_mode(Mode::train,
                                        SaveConfigMode{5, 2, 9, {1}});
  losses.save_histogram = false;
  EXPECT_EQ(*saved, (SavedCollections{{losses}, 3}));
}

Collection random_collection(std::mt19937& random, const std::string& name) {
  const auto below = [&](unsigned n) {
    return static_cast<Step>(random() % n);
  };
  Collection collection;
  collection.tensors = {name, {"x.*" + name, "\"\\d,"}, {"a", "z/é"}};
  collection.save_histogram = below(2) != 0;
  if (below(2) != 0) {
    collection.save_config.emplace();
    for (Mode mode : kModes) {
      if (below(3) == 0) continue;
      SaveConfigMode config{below(9) + 1, below(9), {}, {below(9), below(9)}};
      if (below(2) != 0) config.end_step = below(99);
      collection.save_config->set_mode(mode, config);
    }
  }
  if (below(2) != 0) {
    collection.reduction_config = ReductionConfig{
        .ops =
            *ReductionConfig::parse_ops(below(2) != 0 ? "min,l2,abs_max" : ""),
        .save_raw_tensor = below(2) != 0,
        .save_shape = below(2) != 0};
  }
  return collection;
}

TEST(SavedCollections, ComeBackFromTheirText) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    SavedCollections saved;
    saved.num_workers = static_cast<int>(random() % 9) + 1;
    for (int i = 0; i < round % 4; ++i) {
      saved.collections.push_back(
          random_collection(random, "c" + std::to_string(9 - i)));
    }
    EXPECT_THAT(parse_collections(collections_text(saved)),
                IsOkAndHolds(saved));
  }
}

TEST(SavedCollections, AreWrittenWhereARunHasThem) {
  const auto storage = *open_storage("memory://saved_collections_test");
  const SavedCollections saved{{Collection{{"a", {"x"}, {}}, {}, {}}}, 2};
  ASSERT_THAT(write_collections(saved, *storage, "worker_1_collections.json"),
              IsOk());
  const auto bytes =
      get_object(*storage, "collections/000000000/worker_1_collections.json");
  ASSERT_THAT(bytes, IsOk());
  EXPECT_THAT(parse_collections(bytes->text()), IsOkAndHolds(saved));
  EXPECT_THAT(write_collections(saved, *storage, "../../x"),
              FailsWith(Error::Code::invalid_argument));
}

TEST(SavedCollections, OfTheWrongShapeAreTheCallersMistake) {
  EXPECT_THAT(parse_collections("{}"),
              FailsWith(Error::Code::invalid_argument,
                        HasSubstr("'collections' is missing")));
  EXPECT_THAT(
      parse_collections(
          R"({"collections": {"a": {"reduction_config": {"reductions": "avg"}}}})"),
      FailsWith(Error::Code::invalid_argument,
                AllOf(HasSubstr("collection 'a'"), HasSubstr("'avg'"))));
}

}  // namespace
}  // namespace smdebug
