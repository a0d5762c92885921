#include "rules/engine/shared_parameters.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace smdebug {
namespace {

class BoundedRule : public Rule {
 public:
  BoundedRule(std::unique_ptr<Rule> rule, Step start, Step end)
      : rule_(std::move(rule)),
        start_(start),
        end_(end),
        is_within_(start <= 0 && end > 0) {}

  RuleNeeds needs() const override { return rule_->needs(); }

  void on_facts(std::string_view worker, const RunFacts& facts) override {
    rule_->on_facts(worker, facts);
  }

  Outcome on_scalars(std::string_view worker,
                     std::span<const ScalarSeriesView> series) override {
    std::vector<ScalarSeriesView> within;
    for (const ScalarSeriesView& one : series) {
      const auto samples = samples_within(one.samples);
      if (!samples.empty()) within.push_back({one.name, samples});
    }
    if (within.empty()) return no_finding();
    has_received_ = true;
    return rule_->on_scalars(worker, within);
  }

  Outcome on_step(const RuleStep& step) override {
    last_ = step.step.global;
    is_within_ = step.step.global >= start_ && step.step.global < end_;
    if (!is_within_) return no_finding();
    has_received_ = true;
    return rule_->on_step(step);
  }

  Outcome on_tick(double wall_seconds) override {
    if (!is_within_) return no_finding();
    return rule_->on_tick(wall_seconds);
  }

  Outcome finish() override {
    if (has_received_) return rule_->finish();
    std::string range = fmt::format("from step {} on", start_);
    if (end_ != std::numeric_limits<Step>::max())
      range = fmt::format("from step {} to step {}", start_, end_ - 1);
    return Error{
        Error::Code::not_found,
        fmt::format("nothing to judge: the run has no complete step {} "
                    "(parameters 'start_step' and 'end_step'){}",
                    range,
                    last_ < 0 ? "" : fmt::format("; its last is {}", last_))};
  }

  std::uint64_t observations_judged() const override {
    return rule_->observations_judged();
  }

  std::string not_judged() const override { return rule_->not_judged(); }
  std::string note() const override { return rule_->note(); }

 private:
  std::span<const ScalarSample> samples_within(
      std::span<const ScalarSample> samples) const {
    const auto step = [](const ScalarSample& one) { return one.step.global; };
    const auto begin = std::ranges::lower_bound(samples, start_, {}, step);
    const auto end = std::ranges::lower_bound(samples, end_, {}, step);
    return {begin, std::max(begin, end)};
  }

  std::unique_ptr<Rule> rule_;
  Step start_;
  Step end_;
  bool has_received_ = false;
  Step last_ = -1;  // that was complete
  bool is_within_;  // otherwise the rule receives no time either
};

}  // namespace

std::unique_ptr<Rule> within_step_bounds(std::unique_ptr<Rule> rule,
                                         const Parameters& parameters,
                                         bool has_own_start_step) {
  const bool has_start = parameters.has(kStartStep.name) && !has_own_start_step;
  const bool has_end = parameters.has(kEndStep.name);
  if (!has_start && !has_end) return rule;
  return std::make_unique<BoundedRule>(
      std::move(rule), has_start ? parameters.integer(kStartStep.name) : 0,
      has_end ? parameters.integer(kEndStep.name)
              : std::numeric_limits<Step>::max());
}

TensorSelector selected_tensors(const Parameters& parameters) {
  TensorSelector selector;
  selector.collections = parameters.text_list(kCollectionNames.name);
  selector.regexes = parameters.text_list(kTensorRegex.name);
  return selector;
}

TensorSelector selected_or_every_tensor(const Parameters& parameters) {
  TensorSelector selector = selected_tensors(parameters);
  selector.every_tensor =
      selector.collections.empty() && selector.regexes.empty();
  return selector;
}

Result<TensorSelector> required_tensors(const Parameters& parameters) {
  TensorSelector selector = selected_tensors(parameters);
  if (selector.collections.empty() && selector.regexes.empty()) {
    return Error{
        Error::Code::invalid_config,
        fmt::format(
            "rule {}: neither collection_names nor tensor_regex is given; "
            "select the tensors to judge, for example collection_names=weights",
            parameters.rule())};
  }
  return selector;
}

}  // namespace smdebug
