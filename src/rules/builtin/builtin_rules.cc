#include "smdebug/rules/builtin_rules.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/rules/runner.h"

#include "base/strings.h"
#include "base/suggestions.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/shared_parameters.h"

namespace smdebug {
namespace {

// "vanishing_gradient" and "VanishingGradient" are both "vanishinggradient".
std::string bare_name(std::string_view name) {
  std::string bare;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c != '_') bare += c;
  }
  return bare;
}

// Rules of the cloud over a profile of the machine.
constexpr std::array kProfilerRules = {
    "BatchSize",          "CPUBottleneck",         "Dataloader",
    "GPUMemoryIncrease",  "IOBottleneck",          "LoadBalancing",
    "LowGPUUtilization",  "MaxInitializationTime", "OverallFrameworkMetrics",
    "OverallSystemUsage", "ProfilerReport",        "StepOutlier"};

bool is_profiler_rule(std::string_view name) {
  return std::ranges::any_of(kProfilerRules, [&](std::string_view rule) {
    return bare_name(rule) == bare_name(name);
  });
}

// The runs to compare with. The cloud gives each a parameter of its own.
constexpr std::string_view kOtherTrials = "other_trials";
constexpr std::string_view kOtherTrial = "other_trial";

bool is_other_trial(std::string_view name) {
  if (!name.starts_with(kOtherTrial)) return false;
  name.remove_prefix(kOtherTrial.size());
  return name.empty() ||
         (name.front() == '_' && find_number<int>(name.substr(1)));
}

// Returns `given` with "other_trial", "other_trial_0", "other_trial_1", ...
// added to "other_trials", if the rule's table has that; else unchanged.
std::map<std::string, std::string> with_other_trials(
    std::span<const ParameterSpec> table,
    std::map<std::string, std::string> given) {
  if (std::ranges::find(table, kOtherTrials, &ParameterSpec::name) ==
      table.end()) {
    return given;
  }
  std::string all;
  for (auto one = given.begin(); one != given.end();) {
    if (one->first != kOtherTrials && !is_other_trial(one->first)) {
      ++one;
      continue;
    }
    all += one->second + ',';
    one = given.erase(one);
  }
  if (!all.empty()) given[std::string(kOtherTrials)] = all;
  return given;
}

}  // namespace

std::span<const RuleFactory> builtin_rules() {
  static const std::vector<RuleFactory> kRules = {
      kAllZero,
      kCheckInputImages,
      kClassImbalance,
      kConfusion,
      kCreateXgboostReport,
      kDeadRelu,
      kExplodingTensor,
      kFeatureImportanceOverweight,
      kGradientsDiscarded,
      kGradientsNotCleared,
      kInitialLoss,
      kLabelsAndInputs,
      kLearningRate,
      kLossInput,
      kLossNotDecreasing,
      kMixedPrecision,
      kMixedSamples,
      kNLPSequenceRatio,
      kNoGeneralization,
      kNormalizationTrouble,
      kOverfit,
      kOvertraining,
      kParametersNotTrained,
      kPoorWeightInitialization,
      kReplicasDiffer,
      kSaturatedActivation,
      kSchedulerNotStepped,
      kShortLivedOptimizers,
      kSimilarAcrossRuns,
      kStalledTrainingRule,
      kTensorVariance,
      kTreeDepth,
      kUnchangedTensor,
      kVanishingGradient,
      kWatchedMetric,
      kWeightUpdateRatio,
      kWrongMode,
  };
  return kRules;
}

const RuleFactory* find_builtin_rule(std::string_view name) {
  const std::string wanted = bare_name(name);
  for (const RuleFactory& rule : builtin_rules()) {
    if (bare_name(rule.name) == wanted) return &rule;
  }
  return nullptr;
}

namespace {

// A pattern of the user that does not compile would otherwise end the rule at
// its first step.
Status check_patterns(const Rule& rule, std::string_view name) {
  for (const TensorSelector& selector : rule.needs().selectors) {
    if (auto made = TensorMatcher::create(selector, {}); !made) {
      return std::move(made).error().within(fmt::format("rule '{}'", name));
    }
  }
  return {};
}

// Without a step between the two, the rule would judge nothing.
Status check_step_bounds(const Parameters& parameters) {
  if (!parameters.has(kStartStep.name) || !parameters.has(kEndStep.name))
    return {};
  const Step start = parameters.integer(kStartStep.name);
  const Step end = parameters.integer(kEndStep.name);
  if (start < end) return {};
  return Error{Error::Code::invalid_config,
               fmt::format("rule {}: parameter 'start_step' should be below "
                           "'end_step' ({}) but is {}",
                           parameters.rule(), end, start)};
}

}  // namespace

Result<std::unique_ptr<Rule>> make_builtin_rule(
    std::string_view name, const std::map<std::string, std::string>& given) {
  const RuleFactory* factory = find_builtin_rule(name);
  if (!factory && is_profiler_rule(name)) {
    return Error{Error::Code::unsupported,
                 fmt::format("rule '{}' needs a profile of the machine; "
                             "smdebug does not run profiler rules; remove it",
                             name)};
  }
  if (!factory) {
    std::vector<std::string> names;
    for (const RuleFactory& rule : builtin_rules()) {
      names.emplace_back(rule.name);
    }
    return Error{
        Error::Code::not_found,
        fmt::format("unknown rule '{}'{}; 'smdebug rules' lists all rules",
                    name, similar_text(name, names))};
  }
  SMD_TRY(const auto parameters,
          Parameters::parse(factory->name, factory->parameters,
                            with_other_trials(factory->parameters, given)));
  SMD_CHECK_OK(check_step_bounds(parameters));
  SMD_TRY(auto rule, factory->make(parameters));
  SMD_CHECK_OK(check_patterns(*rule, factory->name));
  auto bounded = within_step_bounds(std::move(rule), parameters,
                                    factory->has_own_start_step);
  bounded->identify(factory->name, given, /*is_builtin=*/true,
                    factory->subject);
  return bounded;
}

Result<std::vector<std::unique_ptr<Rule>>> make_builtin_rules(
    std::span<const RuleRequest> requests) {
  std::vector<std::unique_ptr<Rule>> rules;
  for (const RuleRequest& request :
       requests.empty() ? default_rules() : requests) {
    SMD_TRY(auto rule, make_builtin_rule(request.rule, request.given));
    rules.push_back(std::move(rule));
  }
  return rules;
}

std::span<const RuleRequest> default_rules() {
  // From docs/rule-quality.json: rules without required arguments and without
  // false positives on the zoo's healthy trainings; nearly without, if they
  // only advise. A test compares the two.
  static const std::vector<RuleRequest> kDefault = [] {
    std::vector<RuleRequest> requests;
    for (const char* name : {"CheckInputImages",
                             "DeadRelu",
                             "ExplodingTensor",
                             "FeatureImportanceOverweight",
                             "GradientsDiscarded",
                             "GradientsNotCleared",
                             "InitialLoss",
                             "LabelsAndInputs",
                             "LearningRate",
                             "LossInput",
                             "LossNotDecreasing",
                             "MixedPrecision",
                             "MixedSamples",
                             "NLPSequenceRatio",
                             "NoGeneralization",
                             "NormalizationTrouble",
                             "Overfit",
                             "ParametersNotTrained",
                             "PoorWeightInitialization",
                             "ReplicasDiffer",
                             "SaturatedActivation",
                             "SchedulerNotStepped",
                             "ShortLivedOptimizers",
                             "StalledTrainingRule",
                             "TreeDepth",
                             "VanishingGradient",
                             "WatchedMetric",
                             "WrongMode"}) {
      requests.push_back({name, {{"preset", "tuned"}}});
    }
    return requests;
  }();
  return kDefault;
}

}  // namespace smdebug
