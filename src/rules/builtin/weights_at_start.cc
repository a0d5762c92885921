#include "rules/builtin/weights_at_start.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_names.h"

#include "base/strings.h"
#include "rules/engine/coming_facts.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/engine/layer_name.h"
#include "rules/measures/initial_weights.h"
#include "rules/measures/loss_of_guess.h"
#include "rules/measures/noisy_values.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

enum class WeightFault { zeros, equal, too_large, too_small };

// The share of layers that must be constant. Half of those of a healthy model
// may begin with 0: the last ones of residual branches, or factors of LoRA.
constexpr double kMostLayers = 0.75;
// With fewer layers, weights of 0 are no obstacle, and small ones grow soon.
constexpr std::size_t kLeastConstant = 2, kLeastLarge = 2, kLeastSmall = 3;
// The first loss over that of a model that knows nothing. Large weights that
// harm begin with twice as much and more, and usual ones with up to 1.4.
constexpr double kHighLoss = 2;
// If the loss of such a model is unknown, weights are too large above this
// multiple of the limit.
constexpr double kSurelyLarge = 2;
// Saturated units hide large weights from the loss: it begins with at least so
// much, and the weights are above this multiple of the limit.
constexpr double kRaisedLoss = 1.2, kClearlyLarge = 1.75;
// The sensitivity over the loss below which weights do not matter yet. With
// usual weights it is above 0.003, even if a layer has ten small ones.
constexpr double kInsensitive = 1e-3;
// Saved steps until which the facts are waited for.
constexpr std::size_t kMostWaiting = 5;

struct NamedLoss {
  std::string tensor;
  double value = 0;
};

// The beginning of the training, as far as it is known.
struct Beginning {
  std::vector<InitialWeight> layers;
  std::optional<double> loss;
  std::optional<double> loss_of_zeros;  // of a model that knows nothing
  std::optional<bool> has_normalization;
};

struct Judgment {
  WeightFault fault;
  std::vector<const InitialWeight*> layers;  // that have it
  double median = 0;                         // of the scales
  std::size_t compared = 0;                  // layers
};

std::optional<Judgment> find_constant(const Beginning& beginning) {
  Judgment found = {WeightFault::equal, {}, 0, beginning.layers.size()};
  std::size_t zeros = 0;
  bool has_zero_gradient = false;
  for (const InitialWeight& layer : beginning.layers) {
    if (!layer.is_constant() || layer.statistics.count < 2) continue;
    found.layers.push_back(&layer);
    zeros += layer.is_zero();
    has_zero_gradient |= layer.is_zero() && layer.has_zero_gradient;
  }
  const std::size_t count = found.layers.size();
  if (count < kLeastConstant ||
      static_cast<double>(count) < kMostLayers * double(found.compared)) {
    return std::nullopt;
  }
  if (2 * zeros > count) {
    // A model of one layer learns from 0.
    if (!has_zero_gradient) return std::nullopt;
    found.fault = WeightFault::zeros;
  }
  return found;
}

// Whether the loss shows that large weights harm.
bool has_high_loss(const Beginning& beginning, double median, double limit) {
  if (beginning.loss && !std::isfinite(*beginning.loss)) return true;
  const bool lacks_normalization = beginning.has_normalization == false;
  if (beginning.loss && beginning.loss_of_zeros) {
    const double ratio = *beginning.loss / *beginning.loss_of_zeros;
    return ratio > kHighLoss || (lacks_normalization && ratio > kRaisedLoss &&
                                 median > kClearlyLarge * limit);
  }
  return lacks_normalization && median > kSurelyLarge * limit;
}

// Whether the loss hardly depends on the weights of most layers.
bool is_insensitive(const Beginning& beginning) {
  std::vector<double> values;
  for (const InitialWeight& layer : beginning.layers) {
    values.push_back(layer.sensitivity);
  }
  return beginning.loss && std::isfinite(*beginning.loss) &&
         median(values) < kInsensitive * std::abs(*beginning.loss);
}

std::optional<Judgment> find_scale(const Beginning& beginning,
                                   const ScaleLimits& limits) {
  std::vector<double> scales;
  for (const InitialWeight& layer : beginning.layers) {
    if (layer.scale && !layer.is_zero()) scales.push_back(*layer.scale);
  }
  if (scales.size() < kLeastLarge) return std::nullopt;
  Judgment found = {WeightFault::too_large, {}, median(scales), scales.size()};
  const bool is_large = found.median > limits.largest &&
                        has_high_loss(beginning, found.median, limits.largest);
  const bool is_small = found.median < limits.smallest &&
                        scales.size() >= kLeastSmall &&
                        is_insensitive(beginning);
  if (!is_large && !is_small) return std::nullopt;
  if (is_small) found.fault = WeightFault::too_small;
  for (const InitialWeight& layer : beginning.layers) {
    if (!layer.scale || layer.is_zero()) continue;
    if (is_large ? *layer.scale > limits.largest
                 : *layer.scale < limits.smallest) {
      found.layers.push_back(&layer);
    }
  }
  return found;
}

class WeightsAtStart : public Rule {
 public:
  WeightsAtStart(const ScaleLimits& limits, std::span<const Advice, 4> advice)
      : limits_(limits), advice_(advice) {}

  RuleNeeds needs() const override {
    return {{{.collections = {"weights"}, .regexes = {}},
             {.collections = {"gradients"}, .regexes = {}},
             {.collections = {"losses"}, .regexes = {}}}};
  }

  void on_facts(std::string_view name, const RunFacts& facts) override {
    workers_[std::string(name)].coming.add(facts);
  }

  Outcome on_scalars(std::string_view name,
                     std::span<const ScalarSeriesView> series) override {
    Worker& worker = workers_[std::string(name)];
    for (const ScalarSeriesView& one : series) {
      if (one.samples.empty()) continue;
      worker.series_until =
          std::max(worker.series_until, one.samples.back().step.global);
      if (one.name.starts_with(name_parts::kLearningRate)) {
        worker.first_update =
            std::min(worker.first_update, one.samples.front().step.global);
      }
    }
    return no_finding();
  }

  Outcome on_step(const RuleStep& step) override {
    if (!counted_step(step.step, std::nullopt)) return no_finding();
    if (step.step.global > last_) {
      if (auto found = judge_before(step.step.global)) return found;
      last_ = step.step.global;
    }
    for (const Observation* weight : step.by_selector(0)) {
      if (Worker* worker = collecting(*weight, step.step)) {
        SMD_CHECK_OK(worker->weights.add_weight(*weight));
      }
    }
    for (const Observation* gradient : step.by_selector(1)) {
      if (Worker* worker = collecting(*gradient, step.step)) {
        SMD_CHECK_OK(worker->weights.add_gradient(*gradient));
      }
    }
    for (const Observation* loss : step.by_selector(2)) {
      if (Worker* worker = collecting(*loss, step.step)) {
        SMD_CHECK_OK(add_loss(*worker, *loss));
      }
    }
    return no_finding();
  }

  Outcome finish() override {
    if (auto found = judge_before(std::numeric_limits<Step>::max())) {
      return found;
    }
    if (has_judged()) return no_finding();
    if (were_updated_) {
      return Error{Error::Code::not_found,
                   "nothing to judge: an optimizer had acted before the first "
                   "step with the weights of a layer and their gradients"};
    }
    return Error{Error::Code::unsupported,
                 "nothing to judge: no training step has the weights of a "
                 "layer and their gradients"};
  }

 private:
  struct Worker {
    ComingFacts coming;
    std::optional<RunFacts> facts;
    InitialWeights weights;
    std::vector<NamedLoss> losses;
    StepId first;             // the step that is judged
    std::size_t waiting = 0;  // steps since then
    bool is_judged = false;
    Step first_update = std::numeric_limits<Step>::max();
    Step series_until = -1;  // -1: there is no series

    // The series of a live run arrive late.
    bool awaits_series() const {
      return first.global > 0 && series_until >= 0 &&
             series_until < first.global;
    }
    bool was_updated() const { return first_update < first.global; }

    // The loss of the step, if there is no doubt which it is.
    std::optional<double> loss() const {
      const bool is_told = facts && facts->losses.size() == 1;
      for (const NamedLoss& each : losses) {
        if (is_told && each.tensor == facts->losses.front().tensor) {
          return each.value;
        }
      }
      if (losses.size() != 1) return std::nullopt;
      return losses.front().value;
    }
  };

  // The worker, if the step is the one whose weights are judged.
  Worker* collecting(const Observation& observed, const StepId& step) {
    auto known = workers_.find(observed.worker);
    if (known == workers_.end()) {
      known = workers_.emplace(observed.worker, Worker()).first;
    }
    Worker& worker = known->second;
    if (worker.first.global == step.global) return &worker;
    if (worker.weights.are_complete()) return nullptr;
    worker.first = step;
    worker.weights = {};
    worker.losses.clear();
    return &worker;
  }

  static Status add_loss(Worker& worker, const Observation& loss) {
    SMD_TRY(const auto value, quantity(loss, {Reduction::mean}));
    if (!value) return {};
    const auto known =
        std::ranges::find(worker.losses, loss.name, &NamedLoss::tensor);
    if (known == worker.losses.end()) {
      worker.losses.push_back({std::string(loss.name), *value});
    }
    return {};
  }

  // Judges the workers whose facts are known before `next`. During a training,
  // those of a step arrive when it ends.
  std::optional<Finding> judge_before(Step next) {
    for (auto& [name, worker] : workers_) {
      if (worker.is_judged || !worker.weights.are_complete()) continue;
      while (auto facts = worker.coming.take_before(next)) {
        worker.facts = std::move(facts);
      }
      const bool is_end = next == std::numeric_limits<Step>::max();
      if (worker.awaits_series() && !is_end) continue;
      const bool is_last = is_end || ++worker.waiting == kMostWaiting;
      if (!is_last && !(worker.facts && loss_of_zeros(*worker.facts))) continue;
      worker.is_judged = true;
      if (auto found = judge(worker, name)) return found;
    }
    return std::nullopt;
  }

  std::optional<Finding> judge(const Worker& worker, std::string_view name) {
    if (worker.was_updated()) {
      were_updated_ = true;
      return std::nullopt;
    }
    Beginning beginning;
    const RunFacts* facts = worker.facts ? &*worker.facts : nullptr;
    beginning.layers = worker.weights.layers(facts);
    beginning.loss = worker.loss();
    if (facts) {
      beginning.loss_of_zeros = loss_of_zeros(*facts);
      beginning.has_normalization = has_normalization(*facts);
    }
    count_judged(beginning.layers.size());
    auto judgment = find_constant(beginning);
    if (!judgment) judgment = find_scale(beginning, limits_);
    if (!judgment) return std::nullopt;
    return describe(*judgment, beginning, name, worker.first);
  }

  Finding describe(const Judgment& judgment, const Beginning& beginning,
                   std::string_view worker, const StepId& step) const {
    Finding finding;
    for (const InitialWeight* layer : judgment.layers) {
      finding.evidence.push_back(evidence(judgment, *layer, worker, step));
    }
    sort_worst_first(finding.evidence);
    const Evidence& worst = finding.evidence.front();
    const InitialWeight& layer = **std::ranges::find(
        judgment.layers, worst.tensor,
        [](const InitialWeight* each) { return each->tensor; });
    finding.message =
        fmt::format("{}: {}, at {}", tensor_text(worst.tensor, worker),
                    fault_text(judgment, layer, beginning), step_text(step));
    set_advice(finding, advice_[static_cast<std::size_t>(judgment.fault)]);
    return finding;
  }

  Evidence evidence(const Judgment& judgment, const InitialWeight& layer,
                    std::string_view worker, const StepId& step) const {
    Evidence evidence;
    evidence.tensor = layer.tensor;
    evidence.worker = worker;
    evidence.step = step;
    switch (judgment.fault) {
      case WeightFault::zeros:
      case WeightFault::equal:
        evidence.quantity = "max - min";
        evidence.relation = "<=";
        evidence.threshold = 0;
        break;
      case WeightFault::too_large:
        evidence.quantity = "rms * sqrt(inputs)";
        evidence.value = *layer.scale;
        evidence.relation = ">";
        evidence.threshold = limits_.largest;
        break;
      case WeightFault::too_small:
        evidence.quantity = "rms * sqrt(inputs)";
        evidence.value = *layer.scale;
        evidence.relation = "<";
        evidence.threshold = limits_.smallest;
        break;
    }
    return evidence;
  }

  // The middle of the message.
  std::string fault_text(const Judgment& judgment, const InitialWeight& layer,
                         const Beginning& beginning) const {
    const std::string count =
        fmt::format("{} of {}", judgment.layers.size(),
                    count_text(judgment.compared, "layer"));
    switch (judgment.fault) {
      case WeightFault::zeros:
        return fmt::format("all weights of {} are 0", count);
      case WeightFault::equal:
        return fmt::format(
            "all weights of the layer are {}, and those of {} "
            "are equal",
            short_number(layer.statistics.mean), count);
      case WeightFault::too_large:
        return scale_text(judgment, layer) + fmt::format("more than {:g}{}",
                                                         limits_.largest,
                                                         loss_text(beginning));
      case WeightFault::too_small:
        return scale_text(judgment, layer) +
               fmt::format(
                   "less than {:g}, and the loss does not depend on "
                   "the weights of most layers yet",
                   limits_.smallest);
    }
    return "";
  }

  static std::string scale_text(const Judgment& judgment,
                                const InitialWeight& layer) {
    return fmt::format(
        "the weights have a root mean square of {}, which is {} divided by the "
        "root of the {} inputs of a unit; the median of {} is {}, ",
        short_number(*layer.scale / std::sqrt(double(layer.inputs))),
        short_number(*layer.scale), layer.inputs,
        count_text(judgment.compared, "layer"), short_number(judgment.median));
  }

  static std::string loss_text(const Beginning& beginning) {
    if (!beginning.loss) return "";
    if (!beginning.loss_of_zeros) {
      return fmt::format(", and the loss begins at {:.4g}", *beginning.loss);
    }
    return fmt::format(
        ", and the loss begins at {:.4g}, where that of a model that knows "
        "nothing is {:.4g}",
        *beginning.loss, *beginning.loss_of_zeros);
  }

  ScaleLimits limits_;
  std::span<const Advice, 4> advice_;
  std::map<std::string, Worker, std::less<>> workers_;
  Step last_ = -1;
  bool were_updated_ = false;  // the weights of a worker, before its step
};

}  // namespace

std::unique_ptr<Rule> weights_at_start(const ScaleLimits& limits,
                                       std::span<const Advice, 4> advice) {
  return std::make_unique<WeightsAtStart>(limits, advice);
}

}  // namespace smdebug
