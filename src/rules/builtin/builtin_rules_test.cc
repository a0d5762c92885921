#include "smdebug/rules/builtin_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What a rule that has no defaults for everything must be given.
std::map<std::string, std::string> required_by(std::string_view rule) {
  if (rule == "AllZero" || rule == "UnchangedTensor") {
    return {{"collection_names", "weights"}};
  }
  if (rule == "TensorVariance") {
    return {{"collection_names", "weights"}, {"max_threshold", "10"}};
  }
  if (rule == "SimilarAcrossRuns") return {{"other_trials", "run"}};
  return {};
}

TEST(BuiltinRules, AreFoundByBothSpellings) {
  ASSERT_NE(find_builtin_rule("VanishingGradient"), nullptr);
  EXPECT_EQ(find_builtin_rule("vanishing_gradient"),
            find_builtin_rule("VanishingGradient"));
  EXPECT_EQ(find_builtin_rule("Vanishing"), nullptr);
}

TEST(BuiltinRules, AreSortedByName) {
  EXPECT_TRUE(std::ranges::is_sorted(builtin_rules(), {}, &RuleFactory::name));
}

TEST(BuiltinRules, AnswerAnUnknownNameWithTheNearest) {
  const auto rule = make_builtin_rule("VanishingGradiant", {});
  ASSERT_FALSE(rule.ok());
  EXPECT_EQ(rule.error().code, Error::Code::not_found);
  EXPECT_THAT(rule.error().message,
              AllOf(HasSubstr("'VanishingGradiant'"),
                    HasSubstr("similar: 'VanishingGradient'")));
}

TEST(BuiltinRules, EachCanBeMadeWithItsDefaultsAndHasASentence) {
  for (const RuleFactory& factory : builtin_rules()) {
    const auto rule =
        make_builtin_rule(factory.name, required_by(factory.name));
    ASSERT_TRUE(rule.ok()) << factory.name;
    EXPECT_EQ((*rule)->name(), factory.name);
    EXPECT_FALSE((*rule)->needs().selectors.empty());
    EXPECT_TRUE(factory.summary.ends_with(".")) << factory.summary;
    EXPECT_TRUE(factory.condition.ends_with(".")) << factory.condition;
    for (const ParameterSpec& parameter : factory.parameters) {
      EXPECT_TRUE(parameter.description.ends_with("."))
          << parameter.description;
    }
  }
}

TEST(BuiltinRules, EachKnowsItsUsualCauseAndWhatToTry) {
  for (const RuleFactory& factory : builtin_rules()) {
    const bool never_fires = factory.name == "CreateXgboostReport";
    ASSERT_EQ(factory.advice.empty(), never_fires) << factory.name;
    for (const Advice& advice : factory.advice) {
      EXPECT_EQ(advice.when.empty(), factory.advice.size() == 1);
      EXPECT_FALSE(advice.cause.empty() || advice.advice.empty());
      EXPECT_FALSE(advice.cause.ends_with(".") || advice.advice.ends_with("."));
    }
  }
}

TEST(BuiltinRules, GiveTheCauseOfWhatTheyFound) {
  TensorStatistics wide;
  wide.count = 2;
  wide.m2 = 200;
  for (const bool is_large : {true, false}) {
    RuleHarness rule("TensorVariance",
                     {{"collection_names", "weights"},
                      {is_large ? "max_threshold" : "min_threshold",
                       is_large ? "1" : "1000"}});
    ASSERT_TRUE(rule.fires_at(StepBuilder(0).with_statistics("weight", wide)));
    const Advice& said =
        find_builtin_rule("TensorVariance")->advice[is_large ? 0 : 1];
    EXPECT_EQ(rule.verdict().cause, said.cause);
    EXPECT_EQ(rule.verdict().advice, said.advice);
    EXPECT_EQ(rule.verdict().severity, Severity::serious);
  }
}

// `--stop` ends a training for these: whatever still trains is not among them.
TEST(BuiltinRules, CallAFindingFatalIfItIsNotFiniteOrDivergesOrNothingTrains) {
  std::vector<std::string> fatal;
  for (const RuleFactory& factory : builtin_rules()) {
    for (const Advice& advice : factory.advice) {
      if (advice.severity < Severity::fatal) continue;
      fatal.push_back(std::string(factory.name));
      if (!advice.when.empty()) fatal.back() += ": " + std::string(advice.when);
    }
  }
  EXPECT_THAT(
      fatal,
      testing::ElementsAre(
          "ExplodingTensor", "LabelsAndInputs: inputs that are not finite",
          "LabelsAndInputs: targets that are not finite",
          "LossInput: all labels are ignored", "LossInput: log of 0",
          "LossInput: log of a negative number", "LossInput: division by 0",
          "LossInput: undefined power", "LossInput: overflow of exp",
          "LossInput: gradient of a root of 0",
          "LossInput: mean of no elements",
          "LossNotDecreasing: the loss is not finite",
          "LossNotDecreasing: the loss grew until it was not finite",
          "LossNotDecreasing: the loss was suddenly not finite",
          "LossNotDecreasing: the loss is the same at every step",
          "LossNotDecreasing: the loss is the same at every step: 0",
          "LossNotDecreasing: the loss diverges",
          "LossNotDecreasing: the loss falls without a bound",
          "LossNotDecreasing: the loss of trees is the same at every round",
          "LossNotDecreasing: the loss of trees rises with a custom objective",
          "LossNotDecreasing: the loss of trees is the same at every round of "
          "a custom objective",
          "MixedPrecision: gradients clipped before they are unscaled",
          "MixedPrecision: float16 weights with an epsilon that is 0",
          "MixedPrecision: a gradient scaler that skips each update",
          "ParametersNotTrained: nothing moves and no "
          "optimizer acts",
          "ParametersNotTrained: nothing moves "
          "although an optimizer acts",
          "ParametersNotTrained: the optimizer holds "
          "other parameters",
          "StalledTrainingRule"));
}

TEST(BuiltinRules, SetATensorBesideTheLayersAroundIt) {
  TensorStatistics large, small;
  large.count = small.count = 2;
  large.sum_abs = 6e-4;
  small.sum_abs = 2e-9;
  RuleHarness rule("VanishingGradient");
  ASSERT_TRUE(
      rule.fires_at(StepBuilder(7)
                        .with_statistics("gradient/fc1.weight", large)
                        .with_statistics("gradient/fc2.weight", small)
                        .with_statistics("gradient/fc3.weight", large)));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("at step 7 (TRAIN step 7); in the adjacent "
                        "layers, gradient/fc1.weight has mean |g| 0.0003 and "
                        "gradient/fc3.weight has mean |g| 0.0003"));
  EXPECT_EQ(rule.verdict().evidence[0].before->tensor, "gradient/fc1.weight");
  EXPECT_EQ(rule.verdict().evidence[0].after->value, 3e-4);
  EXPECT_EQ(rule.verdict().position, 1u);
}

TEST(BuiltinRules, NameNeighborsInForwardOrderWhateverTheOrderOfExecution) {
  TensorStatistics large, larger, small;
  large.count = larger.count = small.count = 2;
  large.sum_abs = 6e-4;
  larger.sum_abs = 8e-4;
  small.sum_abs = 2e-9;
  using Names = std::array<std::string, 3>;
  for (const Names& names : {Names{"fc11", "fc10", "fc9"},
                             Names{"head", "neck", "stem"},  // no numbers
                             Names{"head.1", "net.8", "net.4"}}) {
    RuleHarness rule("VanishingGradient");
    ASSERT_TRUE(rule.fires_at(
        StepBuilder(7)
            .with_statistics("gradient/" + names[0] + ".weight", large)
            .with_statistics("gradient/" + names[1] + ".weight", small)
            .with_statistics("gradient/" + names[2] + ".weight", larger)));
    EXPECT_THAT(rule.verdict().message,
                HasSubstr("; in the adjacent layers, gradient/" + names[2] +
                          ".weight has mean |g| 0.0004 and gradient/" +
                          names[0] + ".weight has mean |g| 0.0003"));
    EXPECT_EQ(rule.verdict().evidence[0].before->value, 3e-4);
  }
}

TEST(BuiltinRules, OfTheFirstTensorThatIsNotFiniteTheNeighboursAreTold) {
  TensorStatistics finite, spoiled;
  finite.count = spoiled.count = 8;
  spoiled.nan = 3;
  RuleHarness rule("ExplodingTensor");
  ASSERT_TRUE(rule.fires_at(StepBuilder(0)
                                .with_statistics("fc1_output_0", finite)
                                .with_statistics("fc2_output_0", spoiled)
                                .with_statistics("fc3_output_0", spoiled)));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("; in the adjacent layers, fc1_output_0 has no NaN or "
                        "infinite elements and fc3_output_0 has 3 NaN or "
                        "infinite elements of 8"));
}

TEST(BuiltinRules, CountOnlyNanInTheAdjacentLayersIfOnlyNanIsJudged) {
  TensorStatistics infinite, spoiled;
  infinite.count = spoiled.count = 8;
  infinite.positive_inf = 2;
  spoiled.nan = 1;
  RuleHarness rule("ExplodingTensor", {{"only_nan", "true"}});
  ASSERT_TRUE(rule.fires_at(StepBuilder(0)
                                .with_statistics("fc1_output_0", infinite)
                                .with_statistics("fc2_output_0", spoiled)
                                .with_statistics("fc3_output_0", spoiled)));
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("; in the adjacent layers, fc1_output_0 has no NaN "
                        "elements and fc3_output_0 has 1 NaN element of 8"));
}

TEST(BuiltinRules, AProfilerRuleOfTheCloudIsSaidNotToBeRun) {
  for (const char* name : {"BatchSize", "profiler_report", "CPUBottleneck"}) {
    const auto rule = make_builtin_rule(name, {});
    ASSERT_FALSE(rule.ok());
    EXPECT_EQ(rule.error().code, Error::Code::unsupported);
    EXPECT_THAT(rule.error().message, HasSubstr("not run"));
  }
}

TEST(BuiltinRules, EachAcceptsStepBounds) {
  for (const RuleFactory& factory : builtin_rules()) {
    auto given = required_by(factory.name);
    given["start_step"] = "3";
    given["end_step"] = "9";
    EXPECT_TRUE(make_builtin_rule(factory.name, given).ok()) << factory.name;
  }
}

TEST(BuiltinRules, EachCanBeMadeWithEitherPresetAndNoOther) {
  for (const RuleFactory& factory : builtin_rules()) {
    auto given = required_by(factory.name);
    for (const char* preset : {"default", "tuned"}) {
      given["preset"] = preset;
      EXPECT_TRUE(make_builtin_rule(factory.name, given).ok()) << factory.name;
    }
    given["preset"] = "best";
    const auto rule = make_builtin_rule(factory.name, given);
    ASSERT_FALSE(rule.ok()) << factory.name;
    EXPECT_EQ(rule.error().code, Error::Code::invalid_config);
    EXPECT_THAT(rule.error().message,
                AllOf(HasSubstr("'preset'"), HasSubstr("'default', 'tuned'"),
                      HasSubstr("'best'")));
  }
}

TEST(BuiltinRules, JudgeOnlyStepsWithinTheirBounds) {
  TensorStatistics nan;
  nan.count = nan.nan = 1;
  for (Step step = 0; step < 6; ++step) {
    RuleHarness rule("ExplodingTensor",
                     {{"start_step", "2"}, {"end_step", "4"}});
    EXPECT_EQ(rule.fires_at(StepBuilder(step).with_statistics("a", nan)),
              step == 2 || step == 3)
        << step;
  }
}

TEST(BuiltinRules, SayThatNoStepLiesWithinTheirBounds) {
  RuleHarness rule("ExplodingTensor", {{"start_step", "9999"}});
  rule.fires_at(StepBuilder(0).with_statistics("a", TensorStatistics()));
  EXPECT_EQ(rule.finish().message,
            "nothing to judge: the run has no complete step from step 9999 on "
            "(parameters 'start_step' and 'end_step'); its last is 0");
  EXPECT_TRUE(rule.verdict().lacks_data);
}

TEST(BuiltinRules, AreNotMadeWithAPatternThatDoesNotCompile) {
  const auto rule = make_builtin_rule("AllZero", {{"tensor_regex", "(("}});
  ASSERT_FALSE(rule);
  EXPECT_THAT(rule.error().message,
              AllOf(HasSubstr("rule 'AllZero': "), HasSubstr("'(('"),
                    HasSubstr("does not compile")));
}

TEST(BuiltinRules, RefuseToChooseTensorsWhereTheDocumentsAskTheUserTo) {
  for (const char* name : {"AllZero", "TensorVariance", "UnchangedTensor"}) {
    const auto rule = make_builtin_rule(name, {});
    ASSERT_FALSE(rule.ok()) << name;
    EXPECT_EQ(rule.error().code, Error::Code::invalid_config);
    EXPECT_THAT(rule.error().message, AllOf(HasSubstr("collection_names"),
                                            HasSubstr("tensor_regex")));
  }
}

TEST(BuiltinRules, JudgeTheUnionOfCollectionsAndPatterns) {
  RuleHarness rule("AllZero", {{"collection_names", "losses,weights"},
                               {"tensor_regex", "_output_0$"}});
  TensorStatistics zeros;
  zeros.count = zeros.zeros = 4;
  EXPECT_TRUE(rule.fires_at(StepBuilder(0)
                                .with_statistics("Net.weight", zeros)
                                .with_statistics("relu_output_0", zeros)
                                .with_statistics("relu_output_1", zeros)
                                .with_statistics("gradient/Net.weight", zeros)
                                .with_statistics("Loss", zeros)));
  EXPECT_EQ(rule.verdict().evidence.size(), 3u);
}

TEST(DefaultRules, CanAllBeMade) {
  for (const RuleRequest& request : default_rules()) {
    EXPECT_TRUE(make_builtin_rule(request.rule, request.given).ok())
        << request.rule;
  }
}

TEST(DefaultRules, AreTunedAndSortedByName) {
  EXPECT_TRUE(std::ranges::is_sorted(default_rules(), {}, &RuleRequest::rule));
  for (const RuleRequest& request : default_rules()) {
    EXPECT_THAT(request.given,
                testing::ElementsAre(testing::Pair("preset", "tuned")));
  }
}

// A loss that has converged under small batches: exponential noise about a
// small mean. Seed 7, so that a failure can be repeated.
TEST(DefaultRules, LetATrainingPassThatHasConverged) {
  std::mt19937 random(7);
  std::exponential_distribution<double> noise(50);
  RuleHarness rule("LossNotDecreasing", {{"preset", "tuned"}});
  for (Step step = 0; step < 500'000; step += 10) {
    const double loss = 2 * std::exp(-0.01 * double(step)) + noise(random);
    ASSERT_FALSE(rule.fires_at(StepBuilder(step).with_scalar("Loss", loss)))
        << rule.verdict().message;
  }
}

TEST(DefaultRules, FindALossThatGrows) {
  RuleHarness rule("LossNotDecreasing", {{"preset", "tuned"}});
  bool fired = false;
  for (Step step = 0; step < 5000 && !fired; step += 10) {
    fired = rule.fires_at(
        StepBuilder(step).with_scalar("Loss", std::exp(0.002 * double(step))));
  }
  EXPECT_TRUE(fired);
}

}  // namespace
}  // namespace smdebug
