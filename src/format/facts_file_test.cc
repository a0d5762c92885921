#include "format/facts_file.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/replaced_testing.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;

RunFacts facts_of_all_kinds() {
  RunFacts facts;
  facts.step = 12;
  facts.parameters.resize(2);
  ParameterFacts& weight = facts.parameters[0];
  weight.tensor = "Net_fc.weight";
  weight.dtype = "float32";
  weight.device = "cpu";
  weight.shape = {2, 0, 3};
  weight.updated_by = GroupPosition{0, 1};
  facts.parameters[1].tensor = "Net_head.weight";
  facts.parameters[1].is_trainable = false;
  facts.parameters[1].shared_with = "Net_fc.weight";
  facts.optimizers = {
      {"SGD",
       {{0, 0, {}}, {3, 1, {{"learning_rate", 0.1}, {"momentum", 0}}}},
       true,
       false,
       true}};
  facts.modules = {{"Net", "Net", std::nullopt, {}},
                   {"Net_drop", "Dropout", false, {{"p", 0.5}}},
                   {"rnn", "GRU", true, {{"batch_first", 0}}, {32, 20, 8}}};
  facts.training_sets = {"validation_0"};
  LossInputFacts input;
  input.function = "mse_loss";
  input.steps = 10;
  input.shape = {50, 1};
  input.target_shape = {50};
  input.activation = "Relu";
  input.values = "scores";
  input.ignored = 0.5;
  input.fractional = 0.75;
  input.equal_outputs = 4;
  input.outside = 0.25;
  input.target_low = -1;
  input.target_high = 3;
  input.target_shift = 2;
  input.revealing_feature = 5;
  input.padding = 0.375;
  input.padding_label = -1;
  input.linear_layers = 3;
  input.sees_later = true;
  input.has_softmax_of_one = false;
  input.has_softmax_of_batch = true;
  input.mixes_places = true;
  input.ignored_tokens = 12;
  input.weight_of_largest_class = 1.5;
  input.weight_of_smallest_class = 0.5;
  input.divergence_weight = 784;
  DataFacts& labels = input.targets.emplace();
  labels.dtype = "int64";
  labels.steps = 10;
  labels.shape = {50};
  labels.labels = 500;
  labels.classes = 3;
  labels.largest_class = 400;
  labels.smallest_class = 40;
  labels.label_order = 0.25;
  LossInputFacts unknown;
  unknown.function = "nll_loss";
  facts.losses = {
      {"CrossEntropyLoss_output_0", "CrossEntropyLoss", "mean", -100, unknown},
      {"loss", "MSELoss", "", std::nullopt, input},
      {"other", "TripletMarginLoss", "", std::nullopt, std::nullopt, 0.5}};
  DataFacts& images = facts.inputs.emplace_back();
  images.tensor = "Net_input_0";
  images.received_by = "Conv2d";
  images.dtype = "float32";
  images.steps = 10;
  images.repeats = 9;
  images.shape = {50, 3, 8, 8};
  images.mean = 0.5;
  images.deviation = 0.25;
  images.low = -0.5;
  images.high = 1.5;
  images.median_feature_deviation = 0.125;
  images.largest_feature_deviation = 2;
  images.not_finite = 37;
  images.has_mixed_channels = true;
  DataFacts& evaluated = facts.evaluation_inputs.emplace_back(images);
  evaluated.steps = 1;
  evaluated.repeats = 0;
  evaluated.mean = 127;
  facts.loop.autocast_dtype = "bfloat16";
  facts.loop.metric_watches = {{"EarlyStopping", "val_auc", false, true}};
  facts.loop.schedulers = {{"StepLR", 0, 7, 70, {{"step_size", 30}}},
                           {"LambdaLR", std::nullopt, 1, 0, {}}};
  facts.loop.scaled_clippings = 9;
  facts.loop.empty_clippings = 11;
  facts.loop.scaled_clipping_limit = 1.5;
  facts.loop.gradient_norm_limit = 0.5;
  facts.loop.gradient_value_limit = 0.25;
  facts.loop.log_hides_not_finite = true;
  facts.loop.not_finite_by = {"log of 0", 7, 3, 320};
  facts.loop.short_lived_optimizers = 12;
  facts.loop.evaluations_in_training_mode = 3;
  facts.loop.data_passes = 4;
  facts.loop.layers_outside = {"Linear", "Conv2d"};
  facts.loop.summed_passes = 8;
  facts.loop.empty_loads = 2;
  return facts;
}

// The text of facts_of_all_kinds(), with `from` replaced.
std::string changed_facts(std::string_view from, std::string_view to) {
  return replaced(write_facts_file(facts_of_all_kinds()), from, to);
}

TEST(FactsFile, ReadsARunWithoutTheCountsOfLaterVersions) {
  std::string text = changed_facts(", \"empty_loads\": 2", "");
  text = replaced(text, "\"empty_clippings\": 11, ", "");
  const auto facts = parse_facts_file(text);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->loop.empty_loads, 0u);
  EXPECT_EQ(facts->loop.empty_clippings, 0u);
}

TEST(FactsFile, ComesBack) {
  const auto facts = parse_facts_file(write_facts_file(facts_of_all_kinds()));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(*facts, facts_of_all_kinds());
  const auto empty = parse_facts_file(write_facts_file({}));
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(*empty, RunFacts());
}

TEST(FactsFile, KeepsSettingsThatAreNotFinite) {
  RunFacts facts = facts_of_all_kinds();
  auto& settings = facts.optimizers[0].groups[1].settings;
  settings["learning_rate"] = std::numeric_limits<double>::quiet_NaN();
  settings["eps"] = -std::numeric_limits<double>::infinity();
  const auto again = parse_facts_file(write_facts_file(facts));
  ASSERT_TRUE(again) << again.error().message;
  auto& read = again->optimizers[0].groups[1].settings;
  EXPECT_TRUE(std::isnan(read.at("learning_rate")));
  EXPECT_EQ(read.at("eps"), settings["eps"]);
}

// A run of an earlier version does not have it.
TEST(FactsFile, NeedsNoInputOfALoss) {
  RunFacts facts;
  facts.losses = {{"loss", "MSELoss", "mean", {}, {}}};
  std::string text = write_facts_file(facts);
  const std::string_view input = ", \"input\": null";
  text.erase(text.find(input), input.size());
  const auto read = parse_facts_file(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, facts);
}

TEST(FactsFile, NeedsNoInputsOfModels) {
  RunFacts unknown = facts_of_all_kinds();
  unknown.inputs.clear();
  std::string text = write_facts_file(unknown);
  const std::string_view inputs = ", \"inputs\": []";
  text.erase(text.find(inputs), inputs.size());
  const auto read = parse_facts_file(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, unknown);
}

TEST(FactsFile, NeedsNeitherLoopNorTrainingSets) {
  RunFacts unknown = facts_of_all_kinds();
  unknown.loop = {};
  unknown.training_sets = {};
  std::string text = write_facts_file(unknown);
  text.erase(text.find(", \"loop\""));
  const auto read = parse_facts_file(text + "}");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, unknown);
}

TEST(FactsFile, IgnoresUnknownMembers) {
  const auto facts = parse_facts_file(
      changed_facts("{\"version\": 1", "{\"data\": [1], \"version\": 1"));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(*facts, facts_of_all_kinds());
}

// A run that was recorded before optimizers had this key.
TEST(FactsFile, KnowsNothingOfGradientsIfItDoesNotSay) {
  RunFacts unknown = facts_of_all_kinds();
  unknown.optimizers[0].keeps_gradients.reset();
  unknown.optimizers[0].discards_gradients.reset();
  for (const char* text : {"", ", \"keeps_gradients\": null"}) {
    const auto facts = parse_facts_file(changed_facts(
        ", \"keeps_gradients\": true, \"discards_gradients\": false", text));
    ASSERT_TRUE(facts) << facts.error().message;
    EXPECT_EQ(*facts, unknown);
  }
}

TEST(FactsFile, ThatIsBrokenSaysWhatItShouldContain) {
  const auto fails_with = [](std::string_view text, const char* message) {
    const auto facts = parse_facts_file(text);
    ASSERT_FALSE(facts) << text;
    EXPECT_THAT(facts.error().message, HasSubstr(message));
  };
  fails_with(changed_facts("\"trainable\": true", "\"trainable\": 1"),
             "facts: parameters: 'trainable' should be a boolean");
  fails_with(changed_facts("\"version\": 1", "\"version\": 2"),
             "version 2 is not supported");
  fails_with(changed_facts("\"step\": 12", "\"step\": -1"),
             "'step' is out of range");
  fails_with(changed_facts("[2, 0, 3]", "[2, -1, 3]"),
             "'shape' is out of range");
  fails_with(
      changed_facts("\"keeps_gradients\": true", "\"keeps_gradients\": 1"),
      "optimizers: 'keeps_gradients' should be a boolean");
  fails_with(changed_facts("\"not_finite\": 37", "\"not_finite\": -1"),
             "inputs: 'not_finite' is out of range");
  fails_with(changed_facts("\"repeats\": 9", "\"repeats\": 10"),
             "inputs: 'repeats' is out of range");
  fails_with(changed_facts("\"classes\": 3", "\"classes\": 501"),
             "'classes' is out of range");
  fails_with(changed_facts("\"label_order\": 0.25", "\"label_order\": 1.5"),
             "'label_order' is out of range");
  fails_with(changed_facts("\"largest_class\": 400", "\"largest_class\": 501"),
             "'largest_class' is out of range");
  fails_with(changed_facts("\"smallest_class\": 40", "\"smallest_class\": 401"),
             "'smallest_class' is out of range");
  fails_with(changed_facts("\"targets\": {", "\"targets\": 1, \"x\": {"),
             "'targets' should be an object");
  fails_with(changed_facts("\"group\": 1", "\"group\": 2"),
             "'group' is out of range");
  fails_with(changed_facts("\"optimizer\": 0", "\"optimizer\": 1"),
             "'optimizer' is out of range");
  fails_with(changed_facts("\"p\": 0.5", "\"p\": \"half\""),
             "the setting 'p' should be a number but is a string");
  fails_with(changed_facts("\"ignored\": 0.5", "\"ignored\": 1.5"),
             "'ignored' is out of range");
  fails_with(changed_facts("\"outside\": 0.25", "\"outside\": \"nan\""),
             "'outside' is out of range");
  fails_with(changed_facts("\"equal_outputs\": 4", "\"equal_outputs\": 11"),
             "'equal_outputs' is out of range");
  fails_with(changed_facts("[50, 1]", "[50, -1]"), "'shape' is out of range");
  fails_with(changed_facts("\"target_low\": -1.0", "\"target_low\": \"low\""),
             "'target_low' is out of range");
  fails_with(changed_facts("\"optimizer\": 0, \"steps\"",
                           "\"optimizer\": 1, \"steps\""),
             "'optimizer' is out of range");
  fails_with(changed_facts("\"updates\": 70", "\"updates\": -1"),
             "loop: schedulers: 'updates' is out of range");
  fails_with(changed_facts("\"log_hides_not_finite\": true",
                           "\"log_hides_not_finite\": 1"),
             "loop: 'log_hides_not_finite' should be a boolean");
  fails_with(changed_facts("\"elements\": 3", "\"elements\": -3"),
             "loop: not_finite_by: 'elements' is out of range");
  fails_with(changed_facts("\"loop\": {", "\"loop\": 1, \"x\": {"),
             "'loop' should be an object");
  fails_with("[]", "");
  fails_with(write_facts_file(facts_of_all_kinds()).substr(0, 300), "");
}

}  // namespace
}  // namespace smdebug
