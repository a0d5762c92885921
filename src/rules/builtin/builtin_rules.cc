#include "smdebug/rules/builtin_rules.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/nearest.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/other_trials.h"
#include "rules/engine/step_bounds.h"

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
      kLossNotDecreasing,
      kNLPSequenceRatio,
      kOverfit,
      kOvertraining,
      kPoorWeightInitialization,
      kReplicasDiffer,
      kSaturatedActivation,
      kSimilarAcrossRuns,
      kStalledTrainingRule,
      kTensorVariance,
      kTreeDepth,
      kUnchangedTensor,
      kVanishingGradient,
      kWeightUpdateRatio,
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
        fmt::format(
            "unknown rule '{}'; similar: {}; 'smdebug rules' lists all rules",
            name, quoted_list(nearest_names(name, names, 3)))};
  }
  SMD_TRY(const auto parameters,
          Parameters::parse(factory->name, factory->parameters,
                            with_other_trials(factory->parameters, given)));
  SMD_TRY(auto rule, factory->make(parameters));
  auto bounded = within_step_bounds(std::move(rule), parameters,
                                    factory->has_own_start_step);
  bounded->identify(factory->name, given);
  return bounded;
}

std::span<const RuleRequest> default_rules() {
  // What docs/rule-quality.json found: no argument needed, and no false alarm
  // on any healthy training of the zoo. A test holds the two together.
  static const std::vector<RuleRequest> kDefault = [] {
    std::vector<RuleRequest> requests;
    for (const char* name :
         {"CheckInputImages", "DeadRelu", "ExplodingTensor",
          "FeatureImportanceOverweight", "LossNotDecreasing",
          "NLPSequenceRatio", "ReplicasDiffer", "SaturatedActivation",
          "StalledTrainingRule", "TreeDepth", "VanishingGradient"}) {
      requests.push_back({name, {{"preset", "tuned"}}});
    }
    return requests;
  }();
  return kDefault;
}

}  // namespace smdebug
