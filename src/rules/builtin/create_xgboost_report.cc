// CreateXgboostReport: selects the tensors that the report of an XGBoost
// training needs, and never fires. A rule opens no file, so the stage that
// judges the run writes the report when the run ends.

#include <utility>

#include "rules/builtin/builtin.h"
#include "rules/engine/shared_parameters.h"

namespace smdebug {
namespace {

// Every fifth round, as in the cloud's configuration of the rule.
constexpr Step kReportInterval = 5;

// With the patterns of the original.
constexpr std::pair<const char*, const char*> kCollections[] = {
    {"metrics", "^[a-zA-z]+-[a-zA-z0-9]+$"},
    {"feature_importance", "^feature_importance/.*"},
    {"hyperparameters", "^hyperparameters/.*$"},
    {"predictions", "^predictions$"},
    {"labels", "^labels$"},
};

const ParameterSpec kCreateXgboostReportParameters[] = {kStartStep, kEndStep,
                                                        kPreset};

class CreateXgboostReport : public Rule {
 public:
  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.depth = RuleNeeds::Depth::values;
    needs.interval = kReportInterval;
    for (const auto& [collection, regex] : kCollections) {
      TensorSelector selector;
      selector.collections = {collection};
      // For runs without collections, such as those written by `FileWriter`.
      selector.regexes = {regex};
      selector.capture_as = collection;
      needs.selectors.push_back(std::move(selector));
    }
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    for (const auto& of_selector : step.selected)
      count_judged(of_selector.size());
    return no_finding();
  }

 private:
};

Result<std::unique_ptr<Rule>> make_create_xgboost_report(const Parameters&) {
  return make_rule<CreateXgboostReport>();
}

}  // namespace

const RuleFactory kCreateXgboostReport = {
    .name = "CreateXgboostReport",
    .summary =
        "Writes a report of an XGBoost training to the run when it ends.",
    .condition = "Never fires.",
    .parameters = kCreateXgboostReportParameters,
    .make = make_create_xgboost_report,
    .subject = "the tensors of XGBoost",
};

}  // namespace smdebug
