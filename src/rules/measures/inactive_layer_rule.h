#pragma once

// `InactiveLayerRule` is the base of rules that fire when most units of a layer
// are hardly ever active. DeadRelu and SaturatedActivation differ only in the
// tensors they judge and in what they call active.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/rules/rule.h"

#include "rules/measures/inactive_layers.h"

namespace smdebug {

class InactiveLayerRule : public Rule {
 public:
  Outcome on_step(const RuleStep& step) final;
  Outcome finish() override;

 protected:
  // A tensor to judge, and which of its elements are active.
  struct Input {
    const Observation* tensor = nullptr;
    const ActiveRange* range = nullptr;
  };
  struct Words {
    std::string_view quantity;  // of the evidence: "dead units in percent"
    std::string_view units;     // "dead units"
    std::string_view tensors;   // "outputs of ReLUs"
  };

  // The first advice is on layers that are inactive at step 0, the last one on
  // all others.
  InactiveLayerRule(const InactiveLimits& limits, const Words& words,
                    std::span<const Advice> advice)
      : layers_(limits), words_(words), advice_(advice) {}

  virtual std::vector<Input> inputs_of(const RuleStep& step) = 0;

  // Returns the condition of an active element: "are above 0".
  virtual std::string active_text(const ActiveRange& range) const = 0;

  bool has_seen_layers() const { return seen_ > 0; }

 private:
  std::string describe(const Input& input, const LayerActivity& activity,
                       const StepId& step) const;

  InactiveLayers layers_;
  Words words_;
  std::span<const Advice> advice_;
  std::uint64_t seen_ = 0;  // tensors
};

}  // namespace smdebug
