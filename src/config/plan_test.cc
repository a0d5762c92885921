#include "smdebug/config/plan.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/result_matchers_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Names = std::vector<std::string>;

Collection collection_of(std::string name, Names patterns, Names tensors = {}) {
  Collection collection;
  collection.tensors = {std::move(name), std::move(patterns),
                        std::move(tensors)};
  return collection;
}

std::shared_ptr<const Plan> plan_of(const HookConfig& config) {
  auto plan = Plan::build(config, pytorch_framework());
  EXPECT_THAT(plan, IsOk());
  return *std::move(plan);
}

Names names_in(const Plan& plan, const CollectionSet& set) {
  Names names;
  for (std::size_t i = 0; i < plan.collections().size(); ++i) {
    if (set.contains(i)) names.push_back(plan.collections()[i].name());
  }
  return names;
}

Names matching(const HookConfig& config, std::string_view tensor) {
  const auto plan = plan_of(config);
  return names_in(*plan, plan->match(tensor));
}

Names due_at(const HookConfig& config, Mode mode, Step mode_step) {
  const auto plan = plan_of(config);
  return names_in(*plan, plan->due({mode_step + 100, mode, mode_step}));
}

SaveSpec spec_of(const HookConfig& config, std::string_view tensor) {
  const auto plan = plan_of(config);
  return plan->save_spec(plan->match(tensor));
}

ReductionConfig reductions(std::string_view ops) {
  return {.ops = *ReductionConfig::parse_ops(ops)};
}

// --- which tensors ---

TEST(Plan, SavesTheFrameworksDefaultsUnlessTold) {
  EXPECT_THAT(matching({}, "CrossEntropyLoss_output_0"), ElementsAre("losses"));
  EXPECT_THAT(matching({}, "CrossEntropyLoss_input_0"), IsEmpty());
  EXPECT_THAT(matching({}, "Net_fc.weight"), IsEmpty());
}

TEST(Plan, SavesIncludedCollections) {
  const HookConfig config{.include_collections = {"weights", "gradients"}};
  EXPECT_THAT(matching(config, "Net_fc.weight"), ElementsAre("weights"));
  EXPECT_THAT(matching(config, "gradient/Net_fc.weight"),
              ElementsAre("gradients"));
  EXPECT_THAT(matching(config, "Net_fc.bias"), IsEmpty());
}

TEST(Plan, PutsIncludeRegexIntoTheDefaultCollectionAndSavesIt) {
  const HookConfig config{.include_regex = {"relu_output"}};
  EXPECT_THAT(matching(config, "relu_output_0"), ElementsAre("default"));
}

TEST(Plan, SavesEverythingWithSaveAll) {
  const HookConfig config{.save_all = true};
  EXPECT_THAT(matching(config, "anything"), ElementsAre("all"));
  EXPECT_THAT(matching(config, "Net_fc.bias"), ElementsAre("biases", "all"));
}

TEST(Plan, SavesEverythingWhenCollectionAllIsIncluded) {
  const HookConfig config{.include_collections = {"all"}};
  EXPECT_THAT(matching(config, "Net_fc.bias"), ElementsAre("biases", "all"));
}

TEST(Plan, MatchesTensorNamesWithoutPattern) {
  const HookConfig config{
      .include_collections = {"mine"},
      .collections = {collection_of("mine", {}, {"x.y", "z"})}};
  EXPECT_THAT(matching(config, "x.y"), ElementsAre("mine"));
  EXPECT_THAT(matching(config, "xay"), IsEmpty());
}

TEST(Plan, TakesAnEditedCollectionInPlaceOfTheFrameworks) {
  const HookConfig config{
      .include_collections = {"weights"},
      .collections = {collection_of("weights", {"kernel"})}};
  EXPECT_THAT(matching(config, "a/kernel"), ElementsAre("weights"));
  EXPECT_THAT(matching(config, "Net_fc.weight"), IsEmpty());
}

TEST(Plan, ListsTheFrameworksCollectionsBeforeTheUsers) {
  const HookConfig config{
      .collections = {collection_of("mine", {"x"}),
                      collection_of("weights", {"kernel"})}};
  const auto plan = plan_of(config);
  Names names;
  for (const Collection& collection : plan->collections()) {
    names.push_back(collection.name());
  }
  EXPECT_THAT(names, ElementsAre("weights", "biases", "gradients", "losses",
                                 "all", "default", "mine"));
}

TEST(Plan, HasNoFurtherCollectionUnlessItIsNamed) {
  const HookConfig config{.save_all = true};
  const auto plan = plan_of(config);
  EXPECT_THAT(plan->collections(),
              SizeIs(pytorch_framework().collections.size()));
  EXPECT_THAT(matching({.include_collections = {"weights"}}, "Net_fc.weight"),
              ElementsAre("weights"));
}

TEST(Plan, KeepsFurtherTensorsOutOfTheOriginalsCollections) {
  const HookConfig config{
      .include_collections = {"weights", "biases", "gradients", "buffers",
                              "optimizer_state", "activation_gradients"}};
  EXPECT_THAT(matching(config, "buffer/Net_class_weight"),
              ElementsAre("buffers"));
  EXPECT_THAT(matching(config, "buffer/Net_attn.bias"), ElementsAre("buffers"));
  EXPECT_THAT(matching(config, "optimizer_state/Net_fc.weight/exp_avg"),
              ElementsAre("optimizer_state"));
  EXPECT_THAT(matching(config, "activation_gradient/my_loss_output_0"),
              ElementsAre("activation_gradients"));
  EXPECT_THAT(matching(config, "Net_fc.weight"), ElementsAre("weights"));
  EXPECT_THAT(matching(config, "Net_fc.bias"), ElementsAre("biases"));
  EXPECT_THAT(matching(config, "gradient/Net_fc.weight"),
              ElementsAre("gradients"));
  EXPECT_THAT(matching(config, "MSELoss_output_0"), ElementsAre("losses"));
}

TEST(Plan, NarrowsAnEditedCollectionButNotAPatternOfTheUsers) {
  const HookConfig config{
      .include_collections = {"buffers", "weights"},
      .collections = {
          collection_of("weights", {"^(?!gradient).*weight", "running_mean"})}};
  EXPECT_THAT(matching(config, "buffer/Net_class_weight"),
              ElementsAre("buffers"));
  EXPECT_THAT(matching(config, "buffer/Net_bn.running_mean"),
              ElementsAre("weights", "buffers"));
}

TEST(Plan, SavesOptimizerStateInTrainingAlone) {
  const HookConfig config{
      .save_config = SaveConfig(SaveConfigMode{.save_interval = 1}),
      .include_collections = {"optimizer_state", "buffers"}};
  EXPECT_THAT(due_at(config, Mode::train, 3),
              ElementsAre("losses", "optimizer_state", "buffers"));
  EXPECT_THAT(due_at(config, Mode::eval, 3), ElementsAre("losses", "buffers"));
}

TEST(Plan, RefusesALimitOfTheRunThatKeepsNothing) {
  const auto plan = Plan::build({.max_run_bytes = 0}, pytorch_framework());
  EXPECT_THAT(plan, FailsWith(Error::Code::invalid_config));
  EXPECT_THAT(plan.error().message, HasSubstr("max_run_bytes is 0"));
  plan_of({.max_run_bytes = 1});
}

TEST(Plan, RefusesANegativeKeepEvery) {
  const auto plan = Plan::build({.keep_every = -2}, pytorch_framework());
  EXPECT_THAT(plan, FailsWith(Error::Code::invalid_config));
  EXPECT_THAT(plan.error().message, HasSubstr("keep_every is -2"));
}

TEST(Plan, AcceptsScalarCollectionsThatTheFrameworkDoesNotHave) {
  const auto plan = plan_of({.include_collections = {"metrics"}});
  EXPECT_EQ(plan->collections().back().name(), "metrics");
  EXPECT_FALSE(plan->collections().back().save_histogram);
}

TEST(Plan, TellsOfAPatternThatRunsIntoTheMatchLimit) {
  const auto plan = plan_of({.include_regex = {"^(a|a)*$", "b$"}});
  EXPECT_THAT(plan->pattern_errors(), IsEmpty());
  const std::string name = std::string(60, 'a');
  EXPECT_THAT(names_in(*plan, plan->match(name + "b")), ElementsAre("default"));
  EXPECT_THAT(names_in(*plan, plan->match(name + "c")), IsEmpty());
  EXPECT_THAT(plan->pattern_errors(), ElementsAre(HasSubstr("'^(a|a)*$'")));
}

// --- at which steps ---

TEST(Plan, AsksTheCollectionsSaveConfigBeforeTheHooks) {
  HookConfig config{
      .save_config = SaveConfig(SaveConfigMode{.save_interval = 3}),
      .include_collections = {"weights"}};
  Collection losses = *config.find_collection(pytorch_framework(), "losses");
  losses.save_config = SaveConfig(SaveConfigMode{.save_interval = 2});
  config.collections = {losses};
  EXPECT_THAT(due_at(config, Mode::train, 2), ElementsAre("losses"));
  EXPECT_THAT(due_at(config, Mode::train, 3), ElementsAre("weights"));
  EXPECT_THAT(due_at(config, Mode::train, 6), ElementsAre("weights", "losses"));
  EXPECT_THAT(due_at(config, Mode::train, 7), IsEmpty());
}

TEST(Plan, TakesModesThatACollectionLacksFromTheHook) {
  HookConfig config{.save_config =
                        SaveConfig(SaveConfigMode{.save_interval = 3})};
  Collection losses = *config.find_collection(pytorch_framework(), "losses");
  losses.save_config.emplace().set_mode(Mode::train,
                                        SaveConfigMode{.save_interval = 2});
  config.collections = {losses};
  EXPECT_THAT(due_at(config, Mode::train, 2), ElementsAre("losses"));
  EXPECT_THAT(due_at(config, Mode::eval, 2), IsEmpty());
  EXPECT_THAT(due_at(config, Mode::eval, 3), ElementsAre("losses"));
}

TEST(Plan, GivesModesThatTheHookLacksTheDefaults) {
  HookConfig config{.save_config = SaveConfig()};
  config.save_config->set_mode(Mode::train, SaveConfigMode{.save_interval = 2});
  EXPECT_THAT(due_at(config, Mode::train, 4), ElementsAre("losses"));
  EXPECT_THAT(due_at(config, Mode::eval, 4), IsEmpty());
  EXPECT_THAT(due_at(config, Mode::eval, 500), ElementsAre("losses"));
}

TEST(Plan, TakesTheFrameworksIntervalUnlessTold) {
  Framework framework = pytorch_framework();
  framework.default_save_interval = 10;
  const auto plan = *Plan::build({}, framework);
  EXPECT_FALSE(plan->due({10, Mode::global, 10}).empty());
  EXPECT_TRUE(plan->due({11, Mode::global, 11}).empty());
}

TEST(Plan, SavesNoGradientsOutsideTraining) {
  const HookConfig config{
      .save_config = SaveConfig(SaveConfigMode{.save_interval = 1}),
      .include_collections = {"gradients"}};
  EXPECT_THAT(due_at(config, Mode::train, 1),
              ElementsAre("gradients", "losses"));
  EXPECT_THAT(due_at(config, Mode::global, 1),
              ElementsAre("gradients", "losses"));
  EXPECT_THAT(due_at(config, Mode::eval, 1), ElementsAre("losses"));
  EXPECT_THAT(due_at(config, Mode::predict, 1), ElementsAre("losses"));
}

// --- what is written ---

TEST(Plan, WritesRawTensorsUnlessTold) {
  EXPECT_EQ(spec_of({.save_all = true}, "x"), SaveSpec{.raw = true});
}

TEST(Plan, WritesOnlyReductionsWhereTheHookSaysSo) {
  const HookConfig config{.reduction_config = reductions("mean"),
                          .include_collections = {"weights"}};
  EXPECT_EQ(spec_of(config, "Net_fc.weight"),
            (SaveSpec{.reductions = {{Reduction::mean}}}));
}

TEST(Plan, WritesLossesRawWhateverTheHookReduces) {
  const HookConfig config{.reduction_config = reductions("mean")};
  EXPECT_EQ(spec_of(config, "CrossEntropyLoss_output_0"),
            (SaveSpec{.raw = true, .is_loss = true}));
}

TEST(Plan, HonoursTheUsersReductionsOfLosses) {
  HookConfig config;
  Collection losses = *config.find_collection(pytorch_framework(), "losses");
  losses.reduction_config = reductions("max");
  config.collections = {losses};
  EXPECT_EQ(spec_of(config, "CrossEntropyLoss_output_0"),
            (SaveSpec{.reductions = {{Reduction::max}}, .is_loss = true}));
}

TEST(Plan, WritesNothingButStatisticsForASummary) {
  const HookConfig config{.reduction_config = ReductionConfig{.summary = true},
                          .save_all = true};
  EXPECT_EQ(spec_of(config, "x"), SaveSpec{});
}

TEST(Plan, SamplesATensorOnlyIfEveryDueCollectionOfItAllowsThat) {
  HookConfig config{.include_collections = {"few", "some", "whole"}};
  config.collections = {{.tensors = {"few", {"^(x|y|z)$"}, {}}},
                        {.tensors = {"some", {"^(y|z)$"}, {}}},
                        {.tensors = {"whole", {"^z$"}, {}}}};
  config.collections[0].max_elements = 10;
  config.collections[1].max_elements = 20;
  EXPECT_EQ(spec_of(config, "x").max_elements, 10);
  EXPECT_EQ(spec_of(config, "y").max_elements, 20);
  EXPECT_EQ(spec_of(config, "z").max_elements, 0);

  config.collections[1].max_elements = -1;
  const auto plan = Plan::build(config, pytorch_framework());
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message,
              AllOf(HasSubstr("'some'"), HasSubstr("max_elements is -1")));
}

// --- what TensorBoard shows ---

TEST(Plan, ShowsNothingInTensorBoardUnlessAsked) {
  const SaveSpec spec = spec_of({.save_all = true}, "Net_fc.weight");
  EXPECT_EQ(spec.histogram_collection, "");
  EXPECT_FALSE(spec.scalar_summary);
}

TEST(Plan, ShowsHistogramsUnderTheFirstDueCollectionThatWantsThem) {
  HookConfig config{.save_all = true, .tensorboard_dir = "tb"};
  EXPECT_EQ(spec_of(config, "Net_fc.weight").histogram_collection, "weights");
  EXPECT_EQ(spec_of(config, "relu_output_0").histogram_collection, "all");
  Collection weights = *config.find_collection(pytorch_framework(), "weights");
  weights.save_histogram = false;
  config.collections = {weights};
  EXPECT_EQ(spec_of(config, "Net_fc.weight").histogram_collection, "all");
  config.save_all = false;
  config.include_collections = {"weights"};
  EXPECT_EQ(spec_of(config, "Net_fc.weight").histogram_collection, "");
}

TEST(Plan, ShowsLossesAsNumbersAndOnlyOnRequestAsHistograms) {
  HookConfig config{.tensorboard_dir = "tb"};
  SaveSpec spec = spec_of(config, "CrossEntropyLoss_output_0");
  EXPECT_TRUE(spec.scalar_summary);
  EXPECT_EQ(spec.histogram_collection, "");
  Collection losses = *config.find_collection(pytorch_framework(), "losses");
  losses.save_histogram = true;
  config.collections = {losses};
  spec = spec_of(config, "CrossEntropyLoss_output_0");
  EXPECT_TRUE(spec.scalar_summary);
  EXPECT_EQ(spec.histogram_collection, "losses");
}

TEST(Plan, ShowsTensorFlowsOwnSummariesNotAgain) {
  Collection summaries = collection_of("tensorflow_summaries", {"x"});
  summaries.save_histogram = false;
  const HookConfig config{.include_collections = {"tensorflow_summaries"},
                          .tensorboard_dir = "tb",
                          .collections = {summaries}};
  EXPECT_FALSE(spec_of(config, "x").scalar_summary);
}

TEST(Plan, UnitesTheSpecsOfTheDueCollections) {
  Collection first = collection_of("first", {"x"});
  first.reduction_config = reductions("abs_max,l2,mean");
  first.reduction_config->save_shape = true;
  Collection second = collection_of("second", {"x"});
  second.reduction_config = reductions("l1,mean,min");
  Collection third = collection_of("third", {"y"});
  const HookConfig config{.include_collections = {"first", "second", "third"},
                          .collections = {first, second, third}};
  EXPECT_EQ(spec_of(config, "x"),
            (SaveSpec{.shape = true,
                      .reductions = {{Reduction::mean},
                                     {Reduction::l2},
                                     {Reduction::max, true},
                                     {Reduction::min},
                                     {Reduction::l1}}}));
  EXPECT_THAT(spec_of(config, "xy").reductions, SizeIs(5));
  EXPECT_TRUE(spec_of(config, "xy").raw);
}

// --- what makes no sense ---

auto refused(std::string_view message) {
  return FailsWith(Error::Code::invalid_config,
                   HasSubstr(std::string(message)));
}

Result<std::shared_ptr<const Plan>> build(const HookConfig& config) {
  return Plan::build(config, pytorch_framework());
}

TEST(Plan, RefusesAnIntervalOfZero) {
  const SaveConfig zero(SaveConfigMode{.save_interval = 0});
  EXPECT_THAT(build({.save_config = zero}),
              refused("save_config: TRAIN: save_interval is 0"));
  Collection mine = collection_of("mine", {"x"});
  mine.save_config = zero;
  EXPECT_THAT(build({.collections = {mine}}),
              refused("collection 'mine': save_config: TRAIN: "
                      "save_interval is 0"));
}

TEST(Plan, RefusesABadPatternThatIsNotEvenSaved) {
  EXPECT_THAT(build({.collections = {collection_of("mine", {"x", "("})}}),
              refused("collection 'mine': include_regex: pattern '('"));
}

TEST(Plan, RefusesACollectionThatCanMatchNothing) {
  EXPECT_THAT(build({.collections = {collection_of("mine", {})}}),
              refused("collection 'mine' can match nothing: it has neither "
                      "include_regex nor tensor_names; give it patterns of "
                      "tensor names in include_regex, or remove it"));
  EXPECT_THAT(build({.collections = {collection_of("weigths", {})}}),
              refused("nor tensor_names; did you mean 'weights'?"));
}

TEST(Plan, RefusesAnUnknownCollectionAndOffersTheNearest) {
  EXPECT_THAT(build({.include_collections = {"wieghts"}}),
              FailsWith(Error::Code::invalid_config,
                        AllOf(HasSubstr("'wieghts', which does not exist"),
                              HasSubstr("nearest: 'weights'"))));
}

TEST(Plan, RefusesACollectionThatIsGivenTwice) {
  EXPECT_THAT(build({.collections = {collection_of("mine", {"x"}),
                                     collection_of("mine", {"y"})}}),
              refused("collection 'mine' is given twice"));
}

TEST(Plan, RefusesMoreCollectionsThanASetHolds) {
  HookConfig config;
  for (int i = 0; i < 300; ++i) {
    config.collections.push_back(
        collection_of("mine" + std::to_string(i), {"x"}));
  }
  EXPECT_THAT(build(config), refused("306 collections; at most 256"));
}

TEST(CollectionSet, HoldsEveryPosition) {
  CollectionSet set;
  EXPECT_TRUE(set.empty());
  for (std::size_t i : {0, 63, 64, 255}) {
    EXPECT_FALSE(set.contains(i));
    set.insert(i);
    EXPECT_TRUE(set.contains(i));
  }
  CollectionSet other;
  other.insert(64);
  other.insert(65);
  EXPECT_EQ(set & other, [] {
    CollectionSet both;
    both.insert(64);
    return both;
  }());
}

}  // namespace
}  // namespace smdebug
