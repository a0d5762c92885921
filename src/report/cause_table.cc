#include "report/cause_table.h"

#include <algorithm>

namespace smdebug {
namespace {

using Kinds = std::string_view[];
using Findings = FindingPattern[];
using Group = const Effects*[];

// The kinds of a rule that have the same place in the table.
constexpr Kinds kLossNotFinite = {"the loss is not finite",
                                  "the loss was suddenly not finite"};
constexpr Kinds kLossRises = {"the loss rose",
                              "the loss leapt",
                              "the loss rises",
                              "the loss diverges",
                              "the loss grew until it was not finite",
                              "as high again as it began",
                              "the loss of trees rises"};
constexpr Kinds kLossPlunges = {"the loss falls without a bound"};
constexpr Kinds kLossReturns = {"as high again as it began"};
constexpr Kinds kLossStands = {"the loss does not change",
                               "the loss is the same at every step",
                               "the loss does not fall",
                               "the loss of trees is the same at every round",
                               "the loss of trees stopped falling",
                               "the loss of trees does not fall",
                               "far above that of a constant"};
constexpr Kinds kHighDropout = {"dropout drops most units"};
constexpr Kinds kTreesRise = {"the loss of trees rises"};
constexpr Kinds kTreesCrawl = {"the loss of trees hardly falls"};
constexpr Kinds kTreesIdle = {"the loss of trees is the same at every round",
                              "the loss of trees stopped falling",
                              "the loss of trees does not fall",
                              "the loss of trees hardly falls"};
constexpr Kinds kDataNotFinite = {"not finite"};
constexpr Kinds kDataConstant = {"constant inputs", "channels are mixed"};
constexpr Kinds kDataRepeated = {"the same at each step",
                                 "targets among the inputs"};
constexpr Kinds kDataScale = {"different scales", "large inputs", "tiny inputs",
                              "large targets"};
constexpr Kinds kEvaluationScale = {"evaluation inputs of another scale"};
constexpr Kinds kDataOrder = {"sorted labels", "labels of one class"};
constexpr Kinds kNothingMoves = {"nothing moves",
                                 "no parameter of the model is trainable"};
constexpr Kinds kOtherParameters = {"the optimizer holds other parameters",
                                    "in no optimizer", "no part of the model",
                                    "were not loaded"};
constexpr Kinds kPartRests = {"a learning rate of 0", "no gradient"};
constexpr Kinds kNoUpdate = {"nothing moves and no optimizer acts"};
constexpr Kinds kZeroGradients = {"gradients of 0"};
constexpr Kinds kWrongInput = {"do not sum to 1",
                               "probabilities for",
                               "scores for",
                               "broadcast",
                               "all labels are ignored",
                               "over the batch",
                               "no whole numbers",
                               "several places in one row",
                               "linear layers without activations",
                               "a softmax over a single score",
                               "a softmax over the samples",
                               "a divergence that outweighs"};
constexpr Kinds kAlikeOutputs = {"the same output for all samples"};
constexpr Kinds kOutOfReach = {"targets that the model cannot give",
                               "several classes per sample"};
constexpr Kinds kUndefined = {"log of",          "division by 0",
                              "undefined power", "overflow of",
                              "mean of no",      "gradient of a root"};
constexpr Kinds kWrongSign = {"the wrong sign"};
constexpr Kinds kHighStart = {"far above a guess"};
constexpr Kinds kStatisticsNotFinite = {
    "running statistics that are not finite"};
constexpr Kinds kFixedStatistics = {"running statistics that do not change"};
constexpr Kinds kWholeModel = {"the whole model"};
constexpr Kinds kTrainingMode = {"an evaluation in training mode"};
constexpr Kinds kDeadAtOnce = {"dead from the first step on"};
constexpr Kinds kDeadLater = {"dead after updates"};
constexpr Kinds kTooLarge = {"too large"};
constexpr Kinds kTooSmall = {"too small"};
constexpr Kinds kEmptyClipping = {"a clipping before the gradients"};
constexpr Kinds kWeightDecay = {"a weight decay that is too strong"};
constexpr Kinds kNarrow = {"clipped before", "an epsilon that is 0",
                           "skips each update", "skips many updates"};
constexpr Kinds kHidden = {"a log that hides NaN"};
constexpr Kinds kFavored = {"weights that favor the largest class"};
constexpr Kinds kMispredicted = {"a class is mispredicted"};
constexpr Kinds kLargerClass = {"a class is larger"};
constexpr Kinds kRareClass = {"a rare class"};

constexpr Findings kOperationFindings = {
    {"ExplodingTensor"},
    {"NormalizationTrouble", kStatisticsNotFinite},
    {"LossNotDecreasing", kLossNotFinite},
    {"MixedPrecision", kHidden}};
constexpr Effects kNotFiniteNumbers = {"numbers that are not finite",
                                       kOperationFindings};

constexpr Findings kNotFiniteFindings = {
    {"ExplodingTensor"},
    {"NormalizationTrouble", kStatisticsNotFinite},
    {"LossNotDecreasing", kLossNotFinite},
    {"LossInput", kUndefined},
    {"MixedPrecision", kHidden}};
constexpr Effects kNotFinite = {"numbers that are not finite",
                                kNotFiniteFindings};

constexpr Findings kLossNotFiniteFindings = {
    {"LossNotDecreasing", kLossNotFinite},
    {"NormalizationTrouble", kStatisticsNotFinite},
    {"MixedPrecision", kHidden}};
constexpr Effects kNotFiniteLoss = {"a loss that is not finite",
                                    kLossNotFiniteFindings};

constexpr Findings kRisingFindings = {{"LossNotDecreasing", kLossRises}};
constexpr Effects kRising = {"a loss that rises or diverges", kRisingFindings};

constexpr Findings kReturningFindings = {{"LossNotDecreasing", kLossReturns}};
constexpr Effects kReturning = {"a loss that is as high again as it began",
                                kReturningFindings};

constexpr Findings kStandingFindings = {{"LossNotDecreasing", kLossStands}};
constexpr Effects kStanding = {"a loss that does not fall", kStandingFindings};

constexpr Findings kPlungingFindings = {{"LossNotDecreasing", kLossPlunges}};
constexpr Effects kPlunging = {"a loss that falls without a bound",
                               kPlungingFindings};

constexpr Findings kDeadFindings = {{"DeadRelu", kDeadAtOnce},
                                    {"DeadRelu", kDeadLater},
                                    {"SaturatedActivation"},
                                    {"TensorVariance", kTooLarge},
                                    {"TensorVariance", kTooSmall}};
constexpr Effects kDead = {"dead or saturated layers", kDeadFindings};

constexpr Findings kAlikeFindings = {{"TensorVariance", kTooSmall}};
constexpr Effects kAlike = {"values that hardly differ", kAlikeFindings};

constexpr Findings kDyingFindings = {{"DeadRelu", kDeadLater},
                                     {"SaturatedActivation"},
                                     {"TensorVariance", kTooLarge}};
constexpr Effects kDying = {"layers that die or saturate during the training",
                            kDyingFindings};

constexpr Findings kVanishingFindings = {
    {"VanishingGradient"},
    {"ParametersNotTrained", kZeroGradients},
    {"UnchangedTensor"},
    {"WeightUpdateRatio", kTooSmall}};
constexpr Effects kVanishing = {"gradients and updates that vanish",
                                kVanishingFindings};

constexpr Findings kRestingFindings = {{"ParametersNotTrained", kZeroGradients},
                                       {"UnchangedTensor"},
                                       {"WeightUpdateRatio", kTooSmall}};
constexpr Effects kResting = {"parameters that hardly move", kRestingFindings};

constexpr Findings kNoUpdateFindings = {{"ParametersNotTrained", kNoUpdate}};
constexpr Effects kSkippedUpdates = {"updates that are skipped",
                                     kNoUpdateFindings};

constexpr Findings kLargeUpdateFindings = {{"WeightUpdateRatio", kTooLarge}};
constexpr Effects kLargeUpdates = {"updates that are too large",
                                   kLargeUpdateFindings};

constexpr Findings kSameOutputFindings = {{"LossInput", kAlikeOutputs}};
constexpr Effects kSameOutput = {"the same output for all samples",
                                 kSameOutputFindings};

constexpr Findings kPredictionFindings = {{"ClassImbalance", kMispredicted},
                                          {"Confusion"}};
constexpr Effects kPredictions = {"classes that are mispredicted",
                                  kPredictionFindings};

constexpr Findings kFewFeaturesFindings = {{"FeatureImportanceOverweight"}};
constexpr Effects kFewFeatures = {"trees that use few features",
                                  kFewFeaturesFindings};

constexpr Findings kCrawlingFindings = {{"LossNotDecreasing", kTreesCrawl}};
constexpr Effects kCrawling = {"a loss of trees that hardly falls",
                               kCrawlingFindings};

constexpr Findings kHighRateFindings = {{"LearningRate", kTooLarge}};
constexpr Effects kHighRate = {"a learning rate that is too high",
                               kHighRateFindings};

constexpr Findings kLowRateFindings = {{"LearningRate", kTooSmall}};
constexpr Effects kLowRate = {"a learning rate that is too low",
                              kLowRateFindings};

constexpr Findings kScalingFindings = {{"MixedPrecision", kNarrow}};
constexpr Effects kScaling = {"trouble of mixed precision", kScalingFindings};

constexpr Findings kHighFirstLossFindings = {{"InitialLoss", kHighStart}};
constexpr Effects kHighFirstLoss = {"a first loss that is too high",
                                    kHighFirstLossFindings};

constexpr Findings kOverfitFindings = {{"Overfit"}};
constexpr Effects kOverfit = {"overfitting", kOverfitFindings};

constexpr Findings kNoGeneralizationFindings = {{"NoGeneralization"}};
constexpr Effects kNoGeneralization = {"evaluations that do not get better",
                                       kNoGeneralizationFindings};

// Which groups each row explains.
constexpr Group kByDataOrder = {&kRising,     &kStanding,    &kVanishing,
                                &kSameOutput, &kPredictions, &kHighRate};
constexpr Group kByDataScale = {
    &kNotFinite,    &kRising,     &kStanding, &kDead,    &kVanishing,
    &kLargeUpdates, &kSameOutput, &kHighRate, &kScaling, &kHighFirstLoss};
constexpr Group kByEvaluationScale = {&kNoGeneralization, &kOverfit,
                                      &kPredictions};
constexpr Group kByLargerClass = {&kPredictions};
constexpr Group kByForeignLabels = {&kOverfit, &kPredictions, &kCrawling};
constexpr Group kByFavoredClass = {&kPredictions, &kFewFeatures};
// The importances of such trees do not show which features matter.
constexpr Group kByRisingTrees = {&kFewFeatures, &kNoGeneralization,
                                  &kPredictions};
constexpr Group kByIdleTrees = {&kFewFeatures, &kPredictions};
constexpr Group kByWrongSign = {&kPlunging};
// Each update has the size of a first one.
constexpr Group kByFirstUpdates = {
    &kNotFinite, &kRising,       &kStanding,   &kDying,    &kVanishing,
    &kResting,   &kLargeUpdates, &kSameOutput, &kHighRate, &kPredictions};
constexpr Group kByNothingMoving = {&kStanding,   &kDead,    &kVanishing,
                                    &kSameOutput, &kLowRate, &kPredictions};
// A layer that is exchanged during the training starts untrained.
constexpr Group kByOtherParameters = {&kReturning,  &kStanding,   &kDead,
                                      &kVanishing,  &kSameOutput, &kLowRate,
                                      &kPredictions};
constexpr Group kByAlikeOutputs = {&kStanding, &kAlike, &kResting,
                                   &kPredictions};
// A last ReLU that should return negative numbers returns 0.
constexpr Group kByTargetsOutOfReach = {&kStanding, &kDead, &kVanishing,
                                        &kResting, &kPredictions};
constexpr Group kByInitialization = {
    &kNotFinite, &kRising,       &kStanding,    &kDead,
    &kVanishing, &kLargeUpdates, &kSameOutput,  &kHighRate,
    &kLowRate,   &kScaling,      &kPredictions, &kHighFirstLoss};
constexpr Group kByHighFirstLoss = {&kNotFinite, &kRising, &kDying,
                                    &kLargeUpdates};
constexpr Group kByZeros = {&kStanding, &kDead, &kVanishing, &kSameOutput};
constexpr Group kByDeadLayers = {&kStanding, &kVanishing, &kSameOutput,
                                 &kPredictions};
constexpr Group kByMixedPrecision = {&kSkippedUpdates, &kNotFinite, &kRising,
                                     &kStanding,       &kVanishing, &kDying,
                                     &kLargeUpdates};
constexpr Group kByLowRate = {&kStanding, &kResting, &kPredictions};
constexpr Group kByHighRate = {&kNotFinite,  &kRising,     &kStanding,
                               &kDying,      &kVanishing,  &kLargeUpdates,
                               &kSameOutput, &kPredictions};
// Its consequences are those of weights that are 0.
constexpr Group kByWeightDecay = {&kReturning, &kStanding,   &kDead,
                                  &kVanishing, &kSameOutput, &kPredictions};
constexpr Group kByLargeUpdates = {&kNotFinite, &kRising,    &kStanding,
                                   &kDying,     &kVanishing, &kSameOutput};
constexpr Group kByRisingLoss = {&kNotFinite, &kDying, &kVanishing,
                                 &kSameOutput, &kFewFeatures};
constexpr Group kByNotFinite = {&kNotFiniteLoss, &kSkippedUpdates, &kStanding,
                                &kDying, &kSameOutput};
constexpr Group kByOperation = {&kNotFiniteNumbers, &kSkippedUpdates,
                                &kStanding, &kDying, &kSameOutput};
constexpr Group kByVanishing = {&kStanding, &kResting, &kSameOutput};
constexpr Group kByResting = {&kStanding};
constexpr Group kByDeepTrees = {&kOverfit};
constexpr Group kByStandingLoss = {&kPredictions};
constexpr Group kByHighDropout = {&kDead, &kVanishing, &kSameOutput,
                                  &kPredictions};

constexpr CauseRow kRows[] = {
    {.stage = Stage::data, .finding = {"StalledTrainingRule"}},
    {.stage = Stage::data,
     .finding = {"LabelsAndInputs", kDataNotFinite},
     .explains_all_later = true},
    {.stage = Stage::data,
     .finding = {"LabelsAndInputs", kDataConstant},
     .explains_all_later = true},
    {.stage = Stage::data,
     .finding = {"LabelsAndInputs", kDataOrder},
     .effects = kByDataOrder},
    {.stage = Stage::data, .finding = {"LabelsAndInputs", kDataRepeated}},
    {.stage = Stage::data,
     .finding = {"LabelsAndInputs", kDataScale},
     .effects = kByDataScale},
    {.stage = Stage::data,
     .finding = {"ClassImbalance", kLargerClass},
     .effects = kByLargerClass},
    {.stage = Stage::data,
     .finding = {"LabelsAndInputs", kRareClass},
     .effects = kByLargerClass},
    {.stage = Stage::data,
     .finding = {"LabelsAndInputs", kEvaluationScale},
     .effects = kByEvaluationScale},
    {.stage = Stage::data,
     .finding = {"NoGeneralization"},
     .effects = kByForeignLabels},
    // Healthy trainings have them too, so they explain nothing.
    {.stage = Stage::data, .finding = {"CheckInputImages"}},
    {.stage = Stage::data, .finding = {"NLPSequenceRatio"}},

    {.stage = Stage::wiring,
     .finding = {"ReplicasDiffer"},
     .explains_all_later = true},
    {.stage = Stage::wiring,
     .finding = {"GradientsNotCleared"},
     .explains_all_later = true},
    {.stage = Stage::wiring, .finding = {"GradientsDiscarded"}},
    {.stage = Stage::wiring,
     .finding = {"LossInput", kFavored},
     .effects = kByFavoredClass},
    {.stage = Stage::wiring,
     .finding = {"LossInput", kWrongInput},
     .explains_all_later = true},
    {.stage = Stage::wiring,
     .finding = {"MixedSamples"},
     .explains_all_later = true},
    {.stage = Stage::wiring,
     .finding = {"ShortLivedOptimizers"},
     .effects = kByFirstUpdates},
    {.stage = Stage::wiring, .finding = {"SchedulerNotStepped"}},
    {.stage = Stage::wiring, .finding = {"WatchedMetric"}},
    {.stage = Stage::wiring,
     .finding = {"InitialLoss", kWrongSign},
     .effects = kByWrongSign,
     .explains_all_later = true},
    {.stage = Stage::wiring,
     .finding = {"LossNotDecreasing", kLossPlunges},
     .explains_all_later = true},
    {.stage = Stage::wiring,
     .finding = {"LossNotDecreasing", kTreesRise},
     .effects = kByRisingTrees},
    {.stage = Stage::wiring,
     .finding = {"LossNotDecreasing", kHighDropout},
     .effects = kByHighDropout},
    {.stage = Stage::wiring,
     .finding = {"ParametersNotTrained", kNothingMoves},
     .effects = kByNothingMoving},
    {.stage = Stage::wiring,
     .finding = {"ParametersNotTrained", kOtherParameters},
     .effects = kByOtherParameters},
    {.stage = Stage::wiring,
     .finding = {"ParametersNotTrained", kPartRests},
     .effects = kByNothingMoving},
    {.stage = Stage::wiring,
     .finding = {"WrongMode", kWholeModel},
     .explains_all_later = true},
    {.stage = Stage::wiring,
     .finding = {"WrongMode", kTrainingMode},
     .effects = kByEvaluationScale},
    {.stage = Stage::wiring,
     .finding = {"NormalizationTrouble", kFixedStatistics},
     .effects = kByEvaluationScale},
    {.stage = Stage::wiring,
     .finding = {"LossInput", kAlikeOutputs},
     .effects = kByAlikeOutputs},
    {.stage = Stage::wiring,
     .finding = {"LossInput", kOutOfReach},
     .effects = kByTargetsOutOfReach},

    {.stage = Stage::initialization,
     .finding = {"AllZero"},
     .effects = kByZeros},
    {.stage = Stage::initialization,
     .finding = {"PoorWeightInitialization"},
     .effects = kByInitialization},
    {.stage = Stage::initialization,
     .finding = {"InitialLoss"},
     .effects = kByHighFirstLoss},
    {.stage = Stage::initialization,
     .finding = {"DeadRelu", kDeadAtOnce},
     .effects = kByDeadLayers},
    {.stage = Stage::initialization,
     .finding = {"TreeDepth"},
     .effects = kByDeepTrees},

    {.stage = Stage::optimizer,
     .finding = {"MixedPrecision", kNarrow},
     .effects = kByMixedPrecision},
    {.stage = Stage::optimizer,
     .finding = {"LearningRate", kEmptyClipping},
     .effects = kByHighRate},
    {.stage = Stage::optimizer,
     .finding = {"LearningRate", kTooLarge},
     .effects = kByHighRate},
    {.stage = Stage::optimizer,
     .finding = {"LearningRate", kWeightDecay},
     .effects = kByWeightDecay},
    // Too low, and schedules that make it so.
    {.stage = Stage::optimizer,
     .finding = {"LearningRate"},
     .effects = kByLowRate},
    {.stage = Stage::optimizer,
     .finding = {"LossNotDecreasing", kTreesIdle},
     .effects = kByIdleTrees},
    {.stage = Stage::optimizer,
     .finding = {"WeightUpdateRatio", kTooLarge},
     .effects = kByLargeUpdates,
     .must_precede = true},

    {.stage = Stage::symptom,
     .finding = {"LossNotDecreasing", kLossRises},
     .effects = kByRisingLoss,
     .must_precede = true},
    {.stage = Stage::symptom,
     .finding = {"LossInput", kUndefined},
     .effects = kByOperation},
    {.stage = Stage::symptom,
     .finding = {"ExplodingTensor"},
     .effects = kByNotFinite,
     .must_precede = true},
    {.stage = Stage::symptom,
     .finding = {"DeadRelu", kDeadLater},
     .effects = kByDeadLayers},
    {.stage = Stage::symptom,
     .finding = {"SaturatedActivation"},
     .effects = kByDeadLayers},
    {.stage = Stage::symptom,
     .finding = {"VanishingGradient"},
     .effects = kByVanishing},
    {.stage = Stage::symptom,
     .finding = {"UnchangedTensor"},
     .effects = kByResting},
    {.stage = Stage::symptom,
     .finding = {"WeightUpdateRatio", kTooSmall},
     .effects = kByResting},
    {.stage = Stage::symptom,
     .finding = {"LossNotDecreasing", kLossStands},
     .effects = kByStandingLoss},
    {.stage = Stage::symptom, .finding = {"Overfit"}},
};

bool matches(const FindingPattern& pattern, const Verdict& finding) {
  if (pattern.rule != finding.rule) return false;
  return pattern.kinds.empty() ||
         std::ranges::any_of(pattern.kinds, [&](std::string_view kind) {
           return finding.kind.find(kind) != std::string::npos;
         });
}

// Null for findings without a row.
const CauseRow* row_of(const Verdict& finding) {
  const auto* found = std::ranges::find_if(kRows, [&](const CauseRow& row) {
    return matches(row.finding, finding);
  });
  return found == std::end(kRows) ? nullptr : found;
}

bool has_effect(const CauseRow& row, const Verdict& effect) {
  return std::ranges::any_of(row.effects, [&](const Effects* group) {
    return std::ranges::any_of(group->findings,
                               [&](const FindingPattern& pattern) {
                                 return matches(pattern, effect);
                               });
  });
}

}  // namespace

std::string_view stage_name(Stage stage) {
  switch (stage) {
    case Stage::data:
      return "data";
    case Stage::wiring:
      return "wiring";
    case Stage::initialization:
      return "initialization";
    case Stage::optimizer:
      return "optimizer";
    case Stage::symptom:
      return "symptom";
  }
  return "";
}

std::span<const CauseRow> cause_rows() { return kRows; }

CausePlace cause_place(const Verdict& finding) {
  const CauseRow* row = row_of(finding);
  if (!row) return {Stage::symptom, std::size(kRows)};
  return {row->stage, static_cast<std::size_t>(row - std::begin(kRows))};
}

bool explains(const Verdict& cause, const Verdict& effect) {
  const CauseRow* row = row_of(cause);
  if (!row || cause.rule == effect.rule) return false;
  if (row->must_precede && cause.step.global > effect.step.global) return false;
  return has_effect(*row, effect) ||
         (row->explains_all_later && cause_place(effect).stage > row->stage);
}

}  // namespace smdebug
