#include "report/cause_table.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/rules/builtin_rules.h"

namespace smdebug {
namespace {

Verdict found(const std::string& rule, const std::string& kind = "",
              Step step = 5) {
  Verdict verdict;
  verdict.rule = rule;
  verdict.kind = kind;
  verdict.status = RuleStatus::issues_found;
  verdict.step.global = step;
  return verdict;
}

struct Pair {
  Verdict cause, effect;
};

const Verdict kNanInData =
    found("LabelsAndInputs", "inputs that are not finite");
const Verdict kLargeInputs = found("LabelsAndInputs", "large inputs");
const Verdict kSortedLabels = found("LabelsAndInputs", "sorted labels");
const Verdict kNoStep =
    found("ParametersNotTrained", "nothing moves and no optimizer acts");
const Verdict kNoOptimizer = found("ParametersNotTrained", "in no optimizer");
const Verdict kSoftmax =
    found("LossInput", "probabilities for a cross entropy");
const Verdict kSameOutput =
    found("LossInput", "the same output for all samples");
const Verdict kRateTooHigh =
    found("LearningRate", "first updates that are too large");
const Verdict kWeightDecay =
    found("LearningRate", "a weight decay that is too strong");
const Verdict kRateTooLow = found("LearningRate", "updates that are too small");
const Verdict kSkipsAll =
    found("MixedPrecision", "a gradient scaler that skips each update");
const Verdict kNarrowWeights =
    found("MixedPrecision", "float16 weights with an epsilon that is 0");
const Verdict kHiddenNan = found("MixedPrecision", "a log that hides NaN");
const Verdict kZeroWeights = found("PoorWeightInitialization", "weights of 0");
const Verdict kLargeWeights =
    found("PoorWeightInitialization", "weights that are too large");
const Verdict kHighFirstLoss = found("InitialLoss", "far above a guess");
const Verdict kDeadAtOnce = found("DeadRelu", "dead from the first step on");
const Verdict kDeadLater = found("DeadRelu", "dead after updates");
const Verdict kStands = found("LossNotDecreasing", "the loss does not fall");
const Verdict kDiverges = found("LossNotDecreasing", "the loss diverges");
const Verdict kPlunges =
    found("LossNotDecreasing", "the loss falls without a bound");
const Verdict kNan =
    found("LossNotDecreasing", "the loss was suddenly not finite");
const Verdict kTreesRise = found(
    "LossNotDecreasing", "the loss of trees rises with a custom objective");
const Verdict kTreesAtRest =
    found("LossNotDecreasing", "the loss of trees stopped falling");
const Verdict kTreesCrawl =
    found("LossNotDecreasing", "the loss of trees hardly falls");
const Verdict kFewFeatures = found("FeatureImportanceOverweight");
const Verdict kVanishing = found("VanishingGradient");
const Verdict kSaturated = found("SaturatedActivation");
const Verdict kExploding = found("ExplodingTensor");
const Verdict kUnchanged = found("UnchangedTensor");

TEST(CauseTable, HoldsThePairsThatUsersMeet) {
  const Pair pairs[] = {
      // Data.
      {kNanInData, kNan},
      {kNanInData, kExploding},
      {kNanInData, kNoStep},
      {kSortedLabels, kStands},
      {kLargeInputs, kDiverges},
      {kLargeInputs, kDeadAtOnce},
      {kLargeInputs, kRateTooHigh},
      // Wiring.
      {kSoftmax, kStands},
      {kSoftmax, kVanishing},
      {kSoftmax, kRateTooLow},
      {found("GradientsNotCleared"), kDiverges},
      {found("InitialLoss", "the wrong sign"), kPlunges},
      {kPlunges, kRateTooHigh},
      {kPlunges, kExploding},
      {kPlunges, kDeadLater},
      {found("LossInput", "weights that favor the largest class"),
       kFewFeatures},
      {kTreesRise, kFewFeatures},
      {kTreesRise, found("NoGeneralization")},
      {found("WrongMode", "the whole model"), kStands},
      {found("WrongMode", "an evaluation in training mode"), found("Overfit")},
      {found("ReplicasDiffer"), found("ARuleOfTheUser")},
      {found("ShortLivedOptimizers"), kRateTooHigh},
      {found("ShortLivedOptimizers"), kDiverges},
      {kNoStep, kStands},
      {kNoStep, kUnchanged},
      {kNoStep, kRateTooLow},
      {kNoOptimizer, kVanishing},
      // Initialization.
      {found("AllZero"), kDeadAtOnce},
      {found("AllZero"), kVanishing},
      {found("AllZero"), kUnchanged},
      {found("PoorWeightInitialization"), kSaturated},
      {kZeroWeights, kSameOutput},
      {kZeroWeights, kDeadLater},
      {kZeroWeights, kVanishing},
      {kZeroWeights, kStands},
      {kZeroWeights, kRateTooLow},
      {kLargeWeights, kExploding},
      {kLargeWeights, kDiverges},
      {kLargeWeights, kRateTooHigh},
      {kLargeWeights, kSkipsAll},
      {kLargeWeights, kHighFirstLoss},
      {kLargeInputs, kHighFirstLoss},
      {kHighFirstLoss, kDiverges},
      {kDeadAtOnce, kVanishing},
      // Optimizer.
      {kRateTooHigh, kDiverges},
      {kRateTooHigh, kDeadLater},
      {kRateTooHigh, kExploding},
      {kRateTooHigh, kNan},
      {kRateTooLow, kStands},
      {found("LearningRate", "a learning rate that decayed early"), kStands},
      {kTreesAtRest, kFewFeatures},
      {kTreesAtRest, found("Confusion")},
      {kTreesCrawl, kFewFeatures},
      {found("NoGeneralization"), kTreesCrawl},
      {kWeightDecay, kVanishing},
      {kWeightDecay, kStands},
      {kWeightDecay, kSameOutput},
      {kSkipsAll, kNoStep},
      {kNarrowWeights, kExploding},
      {kNanInData, kHiddenNan},
      {kExploding, kHiddenNan},
      {found("WeightUpdateRatio", "too large"), kDeadLater},
      // Symptoms.
      {kDiverges, kExploding},
      {kDiverges, kFewFeatures},
      {kExploding, kNan},
      {kExploding, kNoStep},
      {kDeadLater, kVanishing},
      {kSaturated, kVanishing},
      {kDeadLater, kSameOutput},
      {kVanishing, kSameOutput},
      {kVanishing, kStands},
      {kSameOutput, kStands},
      {kStands, found("Confusion")},
  };
  for (const auto& [cause, effect] : pairs) {
    EXPECT_TRUE(explains(cause, effect))
        << cause.rule << ": " << cause.kind << " -> " << effect.rule << ": "
        << effect.kind;
    EXPECT_FALSE(explains(effect, cause))
        << effect.rule << ": " << effect.kind << " -> " << cause.rule << ": "
        << cause.kind;
  }
}

TEST(CauseTable, DoesNotGuess) {
  EXPECT_FALSE(explains(kRateTooHigh, kDeadAtOnce));
  EXPECT_FALSE(explains(kRateTooLow, kDiverges));
  EXPECT_FALSE(explains(kNoStep, kExploding)) << "what rests does not explode";
  EXPECT_FALSE(explains(kSoftmax, kLargeInputs));
  EXPECT_FALSE(explains(kSoftmax, found("WrongMode", "the whole model")));
  EXPECT_FALSE(explains(found("CheckInputImages"), kStands));
  EXPECT_FALSE(explains(found("WrongMode", "some modules"), kStands));
  EXPECT_FALSE(explains(kSoftmax, found("StalledTrainingRule")));
  EXPECT_FALSE(explains(found("MyRule"), kStands));
  EXPECT_FALSE(explains(kDiverges, kStands)) << "of one rule";
}

TEST(CauseTable, NothingExplainsWhatCameBeforeItHappened) {
  const Verdict early = found("VanishingGradient", "", 10);
  EXPECT_FALSE(explains(found("WeightUpdateRatio", "too large", 20), early));
  EXPECT_TRUE(explains(found("WeightUpdateRatio", "too large", 9), early));
  EXPECT_FALSE(explains(
      found("ExplodingTensor", "", 20),
      found("LossNotDecreasing", "the loss was suddenly not finite", 19)));
  EXPECT_FALSE(explains(found("LossNotDecreasing", "the loss diverges", 39),
                        found("FeatureImportanceOverweight", "", 30)));
  // A mistake that needs many steps to be proved was there before.
  EXPECT_TRUE(explains(
      found("LossNotDecreasing", "the loss of trees stopped falling", 89),
      found("FeatureImportanceOverweight", "", 10)));
  EXPECT_TRUE(explains(
      found("LossInput", "probabilities for a cross entropy", 20), early));
}

// Every kind of finding that the rules and the table know.
std::vector<Verdict> all_kinds() {
  std::vector<Verdict> all = {kRateTooHigh, kRateTooLow, found("LearningRate"),
                              found("MyRule")};
  for (const RuleFactory& rule : builtin_rules()) {
    for (const Advice& advice : rule.advice) {
      all.push_back(found(std::string(rule.name), std::string(advice.when)));
    }
  }
  return all;
}

TEST(CauseTable, HasNoCycle) {
  const std::vector<Verdict> all = all_kinds();
  std::vector<int> state(all.size());  // 0: new, 1: on the path, 2: done
  const std::function<void(std::size_t)> visit = [&](std::size_t i) {
    state[i] = 1;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (!explains(all[i], all[j])) continue;
      ASSERT_NE(state[j], 1) << all[i].rule << ": " << all[i].kind << " -> "
                             << all[j].rule << ": " << all[j].kind;
      if (state[j] == 0) visit(j);
      if (testing::Test::HasFatalFailure()) return;
    }
    state[i] = 2;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (state[i] == 0) visit(i);
    if (HasFatalFailure()) return;
  }
}

// A kind that is reworded must be reworded here too.
TEST(CauseTable, NamesOnlyRulesAndKindsThatExist) {
  const auto check = [](const FindingPattern& pattern) {
    const RuleFactory* rule = find_builtin_rule(std::string(pattern.rule));
    ASSERT_NE(rule, nullptr) << pattern.rule;
    for (const std::string_view kind : pattern.kinds) {
      EXPECT_TRUE(std::ranges::any_of(rule->advice,
                                      [&](const Advice& advice) {
                                        return advice.when.find(kind) !=
                                               std::string_view::npos;
                                      }))
          << pattern.rule << ": " << kind;
    }
  };
  for (const CauseRow& row : cause_rows()) {
    check(row.finding);
    for (const Effects* group : row.effects) {
      for (const FindingPattern& pattern : group->findings) check(pattern);
    }
  }
}

TEST(CauseTable, PutsDataBeforeWiringBeforeTheOptimizer) {
  EXPECT_LT(cause_place(kLargeInputs), cause_place(kSoftmax));
  EXPECT_LT(cause_place(kSoftmax), cause_place(kDeadAtOnce));
  EXPECT_LT(cause_place(kDeadAtOnce), cause_place(kRateTooHigh));
  EXPECT_LT(cause_place(kRateTooHigh), cause_place(kDiverges));
  EXPECT_LT(cause_place(kDiverges), cause_place(found("MyRule")));
}

TEST(CauseTable, IsInTheOrderOfItsStages) {
  EXPECT_TRUE(std::ranges::is_sorted(cause_rows(), {}, &CauseRow::stage));
}

}  // namespace
}  // namespace smdebug
