#pragma once

// The built-in rules, one file each. The comment at the top of a rule's file
// gives its formula, and its interpretation where the documents of the original
// are silent. Only builtin_rules.cc lists them; nothing registers itself.

#include <memory>
#include <utility>

#include "smdebug/rules/rule.h"

namespace smdebug {

extern const RuleFactory kAllZero;
extern const RuleFactory kCheckInputImages;
extern const RuleFactory kClassImbalance;
extern const RuleFactory kConfusion;
extern const RuleFactory kCreateXgboostReport;
extern const RuleFactory kDeadRelu;
extern const RuleFactory kExplodingTensor;
extern const RuleFactory kFeatureImportanceOverweight;
extern const RuleFactory kGradientsDiscarded;
extern const RuleFactory kGradientsNotCleared;
extern const RuleFactory kInitialLoss;
extern const RuleFactory kLabelsAndInputs;
extern const RuleFactory kLearningRate;
extern const RuleFactory kLossInput;
extern const RuleFactory kLossNotDecreasing;
extern const RuleFactory kMixedPrecision;
extern const RuleFactory kMixedSamples;
extern const RuleFactory kNLPSequenceRatio;
extern const RuleFactory kNoGeneralization;
extern const RuleFactory kNormalizationTrouble;
extern const RuleFactory kOverfit;
extern const RuleFactory kOvertraining;
extern const RuleFactory kParametersNotTrained;
extern const RuleFactory kPoorWeightInitialization;
extern const RuleFactory kReplicasDiffer;
extern const RuleFactory kSaturatedActivation;
extern const RuleFactory kSchedulerNotStepped;
extern const RuleFactory kShortLivedOptimizers;
extern const RuleFactory kSimilarAcrossRuns;
extern const RuleFactory kStalledTrainingRule;
extern const RuleFactory kTensorVariance;
extern const RuleFactory kTreeDepth;
extern const RuleFactory kUnchangedTensor;
extern const RuleFactory kVanishingGradient;
extern const RuleFactory kWatchedMetric;
extern const RuleFactory kWeightUpdateRatio;
extern const RuleFactory kWrongMode;

// Makes a rule of type R. Serves as `RuleFactory::make` for rules that are
// constructed from only their parameters.
template <typename R, typename... Arguments>
Result<std::unique_ptr<Rule>> make_rule(Arguments&&... arguments) {
  return std::unique_ptr<Rule>(
      std::make_unique<R>(std::forward<Arguments>(arguments)...));
}

}  // namespace smdebug
