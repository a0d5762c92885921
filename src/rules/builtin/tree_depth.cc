// TreeDepth: a tree of a boosted model is too deep.
//
//   floor(log2(largest node number + 1)) > depth
//
// Nodes are numbered level by level from the root, 0, so a full tree with nodes
// 0 to 30 has depth 4. The node numbers are the tensor `trees/Node`, and its
// largest element is enough.
//
// The documents leave two things open. A depth equal to `depth` does not fire.
// Trees that grow leaf by leaf (grow_policy=lossguide) are not numbered by
// level, so this number does not show their depth.

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

// The collection is `trees`; the documents also write `tree`.
constexpr const char* kNodes = "^trees?/Node$";

const ParameterSpec kTreeDepthParameters[] = {
    {.name = "depth",
     .type = ParameterType::real,
     .default_text = "4",
     .description = "Largest allowed depth of a tree.",
     .minimum = 0.0,
     .tuned_text = "6"},  // XGBoost's own max_depth
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kTreeDepthAdvice[] = {
    {.cause = "a max_depth that is too large for the data: deep trees memorize "
              "single samples",
     .advice = "lower max_depth, raise min_child_weight or gamma, or set the "
               "parameter 'depth' to the depth that you intend",
     .severity = Severity::advice},
};

// Returns none if `largest_node` is not a valid node number.
std::optional<double> depth_of(double largest_node) {
  constexpr double kLargestExact = 9007199254740991;  // 2^53 - 1
  if (!(largest_node >= 0 && largest_node <= kLargestExact)) {
    return std::nullopt;
  }
  const auto nodes = static_cast<std::uint64_t>(largest_node) + 1;
  return static_cast<double>(std::bit_width(nodes) - 1);
}

class TreeDepth : public Rule {
 public:
  explicit TreeDepth(double depth) : depth_(depth) {}

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back({.collections = {},
                               .regexes = {kNodes},
                               .every_tensor = false,
                               .capture_as = "trees"});
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    std::vector<Tree> trees;
    for (const Observation* nodes : step.by_selector(0)) {
      SMD_TRY(const auto largest, quantity(*nodes, {Reduction::max}));
      const auto depth = largest ? depth_of(*largest) : std::nullopt;
      if (!depth) continue;
      trees.push_back({*depth, *largest, evidence_of(*nodes, step.step)});
    }
    if (trees.empty()) return finding;
    count_judged(trees.size());
    std::ranges::stable_sort(trees, std::ranges::greater(), &Tree::depth);
    if (trees.front().depth > depth_) finding = describe(trees);
    deepest_before_ = std::max(deepest_before_, trees.front().depth);
    return finding;
  }

 private:
  // The deepest tree of one tensor.
  struct Tree {
    double depth = 0;
    double largest_node = 0;
    Evidence place;
  };

  Finding describe(std::span<const Tree> trees) const {
    const Tree& deepest = trees.front();
    Finding finding;
    finding.message = fmt::format(
        "{}: a tree is {} levels deep at {} (its largest node is {}), more "
        "than {}",
        tensor_text(deepest.place.tensor, deepest.place.worker), deepest.depth,
        step_text(deepest.place.step), deepest.largest_node, depth_);
    if (deepest_before_ >= 0) {
      finding.message +=
          fmt::format("; the deepest before had {}", deepest_before_);
    }
    set_advice(finding, kTreeDepthAdvice[0]);
    for (const Tree& tree : trees) {
      if (!(tree.depth > depth_)) break;
      Evidence evidence = tree.place;
      evidence.quantity = "depth of the deepest tree";
      evidence.value = tree.depth;
      evidence.relation = ">";
      evidence.threshold = depth_;
      finding.evidence.push_back(std::move(evidence));
    }
    return finding;
  }

  double depth_;
  double deepest_before_ = -1;  // -1: none was seen
};

Result<std::unique_ptr<Rule>> make_tree_depth(const Parameters& parameters) {
  return make_rule<TreeDepth>(parameters.real("depth"));
}

}  // namespace

const RuleFactory kTreeDepth = {
    .name = "TreeDepth",
    .summary = "A tree of a boosted model is too deep.",
    .condition = "Fires when floor(log2(largest node number + 1)) > 'depth'.",
    .advice = kTreeDepthAdvice,
    .parameters = kTreeDepthParameters,
    .make = make_tree_depth,
    .subject = "the tensors of XGBoost",
};

}  // namespace smdebug
