// A custom rule, beside a built-in one, over a finished or growing run.
//
//     own_rule RUN LIMIT
//
// The same rule judges a running step through a `StepMonitor`
// (smdebug/monitor/step_monitor.h).

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "smdebug/smdebug.h"

using namespace smdebug;

// Fires when a weight is larger than a limit. Statistics suffice: the run is
// judged by its index files, and no element is read.
class WeightOutgrown : public Rule {
 public:
  explicit WeightOutgrown(double limit) : limit_(limit) {}

  std::string_view name() const override { return "WeightOutgrown"; }

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back(
        {.collections = {"weights"}, .regexes = {"^weight$"}});
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    for (const Observation* weight : step.by_selector(0)) {
      if (!weight->statistics) continue;
      count_judged();
      const double largest = std::max(std::abs(weight->statistics->min),
                                      std::abs(weight->statistics->max));
      if (largest <= limit_) continue;
      if (!finding) finding = Finding{};
      finding->evidence.push_back({std::string(weight->name),
                                   std::string(weight->worker), step.step,
                                   "max |w|", largest, ">", limit_});
    }
    if (finding) describe(*finding, step);
    return finding;
  }

 private:
  void describe(Finding& finding, const RuleStep& step) const {
    const Evidence& first = finding.evidence.front();
    finding.message = first.tensor + ": max |w| is " +
                      std::to_string(first.value) + " at step " +
                      std::to_string(step.step.global);
    finding.cause = "steps that are too large";
    finding.advice = "lower the learning rate, or decay the weights";
  }

  double limit_;
};

Status judge_run(const char* run, double limit) {
  RunMonitor::Rules rules;
  rules.push_back(std::make_unique<WeightOutgrown>(limit));
  auto exploding = make_builtin_rule("ExplodingTensor", {});
  if (!exploding) return exploding.error();
  rules.push_back(*std::move(exploding));
  const auto monitor = RunMonitor::create(run, std::move(rules));
  if (!monitor) return monitor.error();
  if (const auto judged = (*monitor)->poll(); !judged) return judged.error();
  for (const Verdict& verdict : (*monitor)->finish("Completed").verdicts) {
    std::printf("%s: %s\n", verdict.rule.c_str(), verdict.message.c_str());
  }
  return {};
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: own_rule RUN LIMIT\n");
    return 2;
  }
  const Status status = judge_run(argv[1], std::strtod(argv[2], nullptr));
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
