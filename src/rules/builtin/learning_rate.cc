// LearningRate: the learning rate does not fit the weights that it updates.
//
// The size of the updates is estimated from the kind and the settings of the
// optimizer and the statistics of the gradients (update_size.h). The loss then
// shows whether that size harms: large updates may be what a training needs,
// and small ones are enough for a model that was trained before. So the rule
// judges a training whose weights look as if they were initialized at random.
// The original has no such rule.
//
// It does not see gradients that are multiplied by a loss scale, and does not
// judge an optimizer that it does not know, adversarial losses and
// reinforcement learning. LossNotDecreasing judges only the loss.

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_names.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/coming_facts.h"
#include "rules/engine/counted_step.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/followed_updates.h"
#include "rules/measures/learning_rates.h"
#include "rules/measures/loss_of_guess.h"
#include "rules/measures/noisy_values.h"
#include "rules/measures/training_losses.h"
#include "rules/measures/update_size.h"

namespace smdebug {
namespace {

const ParameterSpec kParameters[] = {
    {.name = "num_updates",
     .type = ParameterType::integer,
     .default_text = "100",
     .description = "Number of updates after which small updates and a "
                    "learning rate that has decayed are judged.",
     .minimum = 40.0},
    {.name = "small_ratio",
     .type = ParameterType::real,
     .default_text = "5e-4",
     .description = "An update is small if its estimated size, as a share of "
                    "the weights, is below this.",
     .minimum = 0.0},
    {.name = "large_ratio",
     .type = ParameterType::real,
     .default_text = "1",
     .description = "The first updates are large if they move the weights by "
                    "this many times their initial size.",
     .minimum = 0.0},
    kStartStep,
    kEndStep,
    kPreset,
};

enum class RateFault {
  too_low,
  too_high,
  decayed,
  warm_up,
  weight_decay,
  clipped,
  summed,
  empty_clipping,
  exhausted,
  rare_warm_up,
};

// In the order of `RateFault`.
const Advice kAdvice[] = {
    {.when = "updates that are too small",
     .cause = "a learning rate that is too low: the weights hardly move",
     .advice = "raise the learning rate"},
    {.when = "first updates that are too large",
     .cause = "a learning rate that is too high: the first updates replaced "
              "the initial weights instead of improving them",
     .advice = "lower the learning rate"},
    {.when = "a learning rate that decayed early",
     .cause = "a schedule that is meant for epochs and stepped after each "
              "batch, or that decays too fast",
     .advice = "call scheduler.step() once per epoch, or give the schedule the "
               "number of batches"},
    {.when = "a warm-up that does not end",
     .cause = "a warm-up that is longer than the training: its learning rate "
              "has not become large enough to train",
     .advice = "shorten the warm-up to a few percent of the updates, and give "
               "it the number of updates, not of samples"},
    {.when = "a weight decay that is too strong",
     .cause = "a weight decay that outweighs the gradients: it pulls the "
              "weights to 0, so that the model cannot learn",
     .advice = "lower weight_decay: up to 5e-4 is usual for SGD, up to 0.3 for "
               "AdamW, and up to 0.01 for Adam"},
    {.when = "a clipping that is too strong",
     .cause = "a gradient clipping that leaves hardly anything of the "
              "gradients: the weights do not move",
     .advice = "raise the limit of the clipping: for the norm of all "
               "gradients, 1 is usual"},
    {.when = "updates that are too large for a loss that is a sum",
     .cause = "a loss that is a sum over the samples: its gradients, and with "
              "them the updates of SGD, grow with the size of the batch",
     .advice = "use reduction='mean', or divide the loss by the number of "
               "samples"},
    {.when = "a clipping before the gradients are computed",
     .cause = "a clipping between zero_grad() and backward(): it finds no "
              "gradients, and the updates are not limited",
     .advice = "call clip_grad_norm_() after backward(), directly before "
               "optimizer.step()"},
    {.when = "a learning rate that has decayed to nothing",
     .cause = "a schedule that multiplies the learning rate again and again, "
              "such as by a factor that is meant for the initial one: the "
              "weights no longer move",
     .advice = "compute the learning rate from the initial one, decay it more "
               "slowly, or end the training earlier"},
    {.when = "a warm-up that steps too rarely",
     .cause = "a warm-up that counts updates, under a scheduler that steps "
              "once per epoch: the learning rate stays at its beginning",
     .advice = "call scheduler.step() after each optimizer.step(), or give the "
               "warm-up a number of epochs"},
};

// The losses whose median is compared, and the first ones until which updates
// are the first.
constexpr std::size_t kWindow = 20, kFirstUpdates = 20;
// Losses before large updates are judged, and after which they no longer are.
constexpr std::size_t kEnoughLosses = 40, kMostLosses = 200;
// Saved steps with an estimate.
constexpr std::size_t kEnoughUpdates = 5;
// The fall of the loss per update, to first order and as a share of the loss,
// below which a training needs thousands of updates.
constexpr double kSmallFall = 1e-3;
// A loss above this share of the first has not learned much.
constexpr double kHigh = 0.95, kHalf = 0.5;
// Of the fall in the first half of a training: one in the second half that is
// as fast. A loss usually falls more and more slowly.
constexpr double kLinearShare = 0.8;
// Of the loss of a guess: a model above it has learned nothing.
constexpr double kNear = 0.97;
// The median of the weights, relative to the first ones, below which a weight
// decay has pulled them to 0.
constexpr double kDecayed = 0.1;
// The share of weights that must look untrained.
constexpr double kMostWeights = 0.7;
// Of the usual learning rate of an optimizer: a higher one is not too low.
constexpr double kLowShare = 0.2;
// A lower multiple of it is not too high.
constexpr double kHighMultiple = 3;
// A clipping that explains small updates leaves at most this share of
// gradients.
constexpr double kHardlyAny = 0.1;
// Clippings without gradients that are no accident.
constexpr std::uint64_t kEmptyClippings = 10;
// A learning rate below this share of that of the optimizer is still warming
// up, with a scheduler that acts in less than every fifth update and needs at
// least so many steps to reach it.
constexpr double kWarmedUp = 0.3, kRareSteps = 5, kLongWarmUp = 30;
// Of its highest value: a learning rate that is as good as 0, the losses with
// it, and their share of all losses. A schedule may end with 0.
constexpr double kExhausted = 1e-5, kLeastExhausted = 0.25;
constexpr std::size_t kExhaustedLosses = 100;
// Of its highest value: a learning rate that has decayed, give or take
// rounding.
constexpr double kDecay = 0.01, kRounding = 1.001;
// The usual update as a share of the weights, and the least that trains.
constexpr double kUsualRatio = 0.005, kTrainingRatio = 0.001;
// Statistics that wait for losses: about 25 MB. Then steps are judged without.
constexpr std::size_t kMostWaiting = 65536;

double median_of(std::span<const ScalarSample> losses) {
  std::vector<double> values;
  for (const ScalarSample& loss : losses) {
    if (std::isfinite(loss.value)) values.push_back(loss.value);
  }
  return values.empty() ? std::numeric_limits<double>::infinity()
                        : median(values);
}

// The typical losses in the beginning and now.
struct Course {
  double first = 0, now = 0;
};

Course course_of(std::span<const ScalarSample> losses) {
  const std::size_t count = std::min(kWindow, losses.size());
  return {median_of(losses.first(count)), median_of(losses.last(count))};
}

// Whether the losses fall slowly, and in the second half nearly as far as in
// the first.
bool falls_linearly(std::span<const ScalarSample> losses) {
  const Course course = course_of(losses);
  const auto steps = static_cast<double>(losses.size() - kWindow);
  if (course.first - course.now > 2 * kSmallFall * course.now * steps)
    return false;
  const double middle =
      median_of(losses.subspan((losses.size() - kWindow) / 2, kWindow));
  return middle < course.first &&
         middle - course.now > kLinearShare * (course.first - middle);
}

bool clips(const LoopFacts& loop) {
  return loop.gradient_norm_limit || loop.gradient_value_limit;
}

// The learning rate that a scheduler changes by a factor, if it is known.
std::optional<double> full_rate(const RunFacts& facts,
                                const SchedulerFacts& scheduler) {
  if (!scheduler.optimizer || scheduler.steps == 0 ||
      *scheduler.optimizer >= facts.optimizers.size()) {
    return std::nullopt;
  }
  const auto& groups = facts.optimizers[*scheduler.optimizer].groups;
  if (groups.size() != 1) return std::nullopt;
  const auto found = groups.front().settings.find("initial_learning_rate");
  return found == groups.front().settings.end() ? std::nullopt
                                                : std::optional(found->second);
}

// A loss that is a sum over the samples, under an SGD whose learning rate is
// far too high for it.
struct Sum {
  std::int64_t samples = 0;
  double rate = 0, usual = 0;
};

// None for another loss or optimizer, and if a clipping limits the updates.
std::optional<Sum> sum_of(const RunFacts& facts) {
  if (facts.losses.size() != 1 || facts.optimizers.size() != 1 ||
      clips(facts.loop)) {
    return std::nullopt;
  }
  const LossFacts& loss = facts.losses.front();
  const OptimizerFacts& optimizer = facts.optimizers.front();
  if (loss.reduction != "sum" || !loss.input || loss.input->shape.empty() ||
      optimizer.kind != "SGD" || optimizer.groups.empty()) {
    return std::nullopt;
  }
  const auto& settings = optimizer.groups.front().settings;
  const auto setting = [&](const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? 0.0 : found->second;
  };
  const Sum sum = {loss.input->shape.front(), setting("learning_rate"),
                   usual_rate({"SGD", 0, setting("momentum")}).value_or(0)};
  const bool is_high =
      sum.rate * static_cast<double>(sum.samples) > kHighMultiple * sum.usual;
  return sum.samples > 1 && is_high ? std::optional(sum) : std::nullopt;
}

std::string clipping_text(const LoopFacts& loop) {
  return loop.gradient_norm_limit
             ? fmt::format("clipping to a norm of {:.4g}",
                           *loop.gradient_norm_limit)
             : fmt::format("clipping elements to {:.4g}",
                           loop.gradient_value_limit.value_or(0));
}

// One significant digit: a recommendation is no more exact.
std::string rough_number(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)));
  return fmt::format("{:g}", std::round(value / unit) * unit);
}

class LearningRate : public Rule {
 public:
  explicit LearningRate(const Parameters& parameters)
      : num_updates_(
            static_cast<std::size_t>(parameters.integer("num_updates"))),
        small_ratio_(parameters.real("small_ratio")),
        large_ratio_(parameters.real("large_ratio")) {}

  RuleNeeds needs() const override {
    return {{{.collections = {"weights", "biases"}, .regexes = {}},
             {.collections = {"gradients"}, .regexes = {}}}};
  }

  void on_facts(std::string_view worker, const RunFacts& facts) override {
    workers_[std::string(worker)].coming.add(facts);
  }

  Outcome on_scalars(std::string_view worker_name,
                     std::span<const ScalarSeriesView> series) override {
    Worker& worker = workers_[std::string(worker_name)];
    for (const ScalarSeriesView& one : series) {
      worker.rates.add(one);
      worker.losses.add(one);
      worker.note_updates(one);
      if (one.samples.empty()) continue;
      worker.known = std::max(worker.known, one.samples.back().step.global);
    }
    return judge_closed(worker, worker_name);
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    if (!counted_step(step.step, std::nullopt)) return finding;
    if (open_.global >= 0 && step.step.global > open_.global) {
      finding = close_step(step.step.global);
    }
    open_ = step.step;
    for (const Observation* gradient : step.by_selector(1)) {
      SMD_CHECK_OK(workers_[std::string(gradient->worker)].updates.add_gradient(
          *gradient));
    }
    for (const Observation* parameter : step.by_selector(0)) {
      SMD_CHECK_OK(
          workers_[std::string(parameter->worker)].updates.add_parameter(
              *parameter));
    }
    return finding;
  }

  Outcome finish() override {
    auto finding = close_step(std::numeric_limits<Step>::max());
    for (auto& [name, worker] : workers_) {
      worker.known = std::numeric_limits<Step>::max();
      if (!finding) finding = judge_closed(worker, name);
    }
    for (const auto& [name, worker] : workers_) {
      if (!finding) finding = find_rare_warm_up(worker, name);
      if (!finding) finding = find_warm_up(worker, name);
    }
    if (finding || has_judged()) return finding;
    if (!has_update_) {
      return Error{Error::Code::unsupported,
                   "nothing to judge: the run has no gradients of weights that "
                   "an optimizer of a known kind updates; hooks for PyTorch "
                   "tell the kind"};
    }
    for (const auto& [name, worker] : workers_) {
      const auto reason = worker.losses.why_may_rise(worker.judged.global);
      if (reason.empty()) continue;
      return Error{Error::Code::unsupported,
                   fmt::format("nothing to judge: a loss that should fall is "
                               "needed, and this one may rise: {}",
                               reason)};
    }
    return Error{Error::Code::not_found,
                 fmt::format("nothing to judge: the losses and learning rates "
                             "of num_updates={} training steps are needed",
                             num_updates_)};
  }

  std::string not_judged() const override {
    std::size_t most = 0;
    for (const auto& [name, worker] : workers_) {
      most = std::max(most, worker.updates_until(open_.global));
    }
    if (most >= num_updates_) return "";
    return fmt::format("small updates: {} were seen, num_updates={} are needed",
                       count_text(most, "update"), num_updates_);
  }

 private:
  struct Large {
    FollowedUpdate update;
    double distance = 0;
    std::size_t updates = 0;  // until then
  };

  // A saved step that waits for its losses and learning rates.
  struct ClosedStep {
    StepId step;
    FollowedParts parts;
    std::shared_ptr<const RunFacts> facts;
  };

  struct Worker {
    ComingFacts coming;
    std::shared_ptr<const RunFacts> facts;  // of the last closed step
    std::deque<ClosedStep> closed;
    std::size_t waiting = 0;  // parts in `closed`
    Step known = -1;          // the last step of a scalar
    // The last step that was judged, and its facts; may be null.
    StepId judged;
    std::shared_ptr<const RunFacts> judged_facts;
    LearningRates rates;
    TrainingLosses losses;
    FollowedUpdates updates;
    std::set<Step> updated;             // the steps in which an optimizer acted
    std::vector<double> ratios, falls;  // of the saved steps
    std::optional<FollowedUpdate> last;
    std::optional<Large> large;

    void note_updates(const ScalarSeriesView& series) {
      if (!series.name.starts_with(name_parts::kLearningRate)) return;
      for (const ScalarSample& sample : series.samples) {
        if (updated.size() == 4096) return;
        updated.insert(sample.step.global);
      }
    }

    std::size_t updates_until(Step step) const {
      return static_cast<std::size_t>(
          std::distance(updated.begin(), updated.upper_bound(step)));
    }

    std::optional<Guess> guess() const {
      return judged_facts ? guess_of(*judged_facts) : std::nullopt;
    }
  };

  // Closes the open step. The knowledge of that step when `next` arrives does
  // not depend on where the observations come from.
  std::optional<Finding> close_step(Step next) {
    std::optional<Finding> finding;
    for (auto& [name, worker] : workers_) {
      while (auto facts = worker.coming.take_before(next)) {
        worker.facts = std::make_shared<const RunFacts>(*std::move(facts));
      }
      worker.closed.push_back({open_, worker.updates.take(), worker.facts});
      worker.waiting += worker.closed.back().parts.size();
      if (!finding) finding = judge_closed(worker, name);
    }
    return finding;
  }

  // Judges the closed steps whose losses and learning rates are known. During
  // a training, these arrive later than the tensors.
  std::optional<Finding> judge_closed(Worker& worker, std::string_view name) {
    std::optional<Finding> finding;
    while (!finding && !worker.closed.empty() &&
           (worker.known > worker.closed.front().step.global ||
            worker.waiting > kMostWaiting)) {
      const ClosedStep closed = std::move(worker.closed.front());
      worker.closed.pop_front();
      worker.waiting -= closed.parts.size();
      worker.judged = closed.step;
      worker.judged_facts = closed.facts;
      take_update(worker, closed);
      finding = find_empty_clipping(worker, name);
      if (!finding) finding = find_summed(worker, name);
      if (!finding) finding = find_weight_decay(worker, name);
      if (!finding) finding = judge(worker, name);
    }
    return finding;
  }

  std::optional<Finding> find_empty_clipping(const Worker& worker,
                                             std::string_view name) {
    if (!worker.judged_facts ||
        worker.judged_facts->loop.empty_clippings < kEmptyClippings) {
      return std::nullopt;
    }
    count_judged();
    const std::uint64_t clippings = worker.judged_facts->loop.empty_clippings;
    Finding finding;
    finding.message = fmt::format(
        "each of {} clippings of gradients came before the backward pass, when "
        "no parameter had a gradient, up to {}",
        clippings, step_text(worker.judged));
    add_evidence(finding, RateFault::empty_clipping, worker, name,
                 worker.judged);
    set_numbers(finding, "clippings without gradients",
                static_cast<double>(clippings),
                ">=", static_cast<double>(kEmptyClippings));
    return finding;
  }

  // A mean over the samples would divide the updates of SGD by their number.
  std::optional<Finding> find_summed(const Worker& worker,
                                     std::string_view name) {
    const auto losses = worker.losses.until(worker.judged.global);
    const auto sum =
        worker.judged_facts ? sum_of(*worker.judged_facts) : std::nullopt;
    if (!sum || losses.size() > kMostLosses ||
        !worker.losses.why_may_rise(worker.judged.global).empty()) {
      return std::nullopt;
    }
    const auto diverged = std::ranges::find_if(
        losses, [](const auto& loss) { return !std::isfinite(loss.value); });
    const bool is_finite = diverged == losses.end();
    if (losses.size() < (is_finite ? kEnoughLosses : 2)) return std::nullopt;
    count_judged();
    const Course course = course_of(losses);
    const double first = losses.front().value;
    if (!std::isfinite(first) || (is_finite && course.now < kHigh * first)) {
      return std::nullopt;
    }
    Finding finding;
    finding.message = fmt::format(
        "{}: the loss is a sum over {}, so that the learning rate {:.4g} of "
        "SGD is as large as {:.4g} would be with a mean: the loss began at "
        "{:.4g} and {}",
        tensor_text(worker.losses.name(), name),
        count_text(static_cast<std::size_t>(sum->samples), "sample"), sum->rate,
        sum->rate * static_cast<double>(sum->samples), first,
        is_finite
            ? fmt::format("is {:.4g} after {} steps", course.now, losses.size())
            : fmt::format("is not finite at step {}", diverged->step.global));
    add_evidence(finding, RateFault::summed, worker, name, worker.judged);
    set_numbers(finding, "learning rate times samples",
                sum->rate * static_cast<double>(sum->samples), ">",
                kHighMultiple * sum->usual);
    return finding;
  }

  // Weights may shrink because that is good for the loss.
  std::optional<Finding> find_weight_decay(const Worker& worker,
                                           std::string_view name) {
    const auto& decay = worker.updates.decay();
    if (!decay || decay->left >= kDecayed) return std::nullopt;
    const auto losses = worker.losses.until(worker.judged.global);
    if (losses.size() < kWindow ||
        !worker.losses.why_may_rise(worker.judged.global).empty()) {
      return std::nullopt;
    }
    const Course course = course_of(losses);
    if (!is_high(worker, course) && !is_as_a_guess(worker, course)) {
      return std::nullopt;
    }
    count_judged();
    Finding finding;
    finding.message = fmt::format(
        "{}: a weight decay of {:.4g} in {} (learning rate {:.4g}) pulls the "
        "weights to 0: their size is {} of that at first (the median of {}), "
        "and the loss went from {:.4g} to {:.4g} in {} steps",
        tensor_text(worker.losses.name(), name), decay->weight_decay,
        decay->optimizer, decay->rate, short_number(decay->left),
        count_text(decay->weights, "weight"), course.first, course.now,
        losses.size());
    add_evidence(finding, RateFault::weight_decay, worker, name, worker.judged);
    set_numbers(finding, "size of the weights / first size", decay->left, "<",
                kDecayed);
    return finding;
  }

  // Whether the loss is that of a model that has learned nothing.
  static bool is_as_a_guess(const Worker& worker, const Course& course) {
    const auto guess = worker.guess();
    return guess && course.now > kNear * guess->loss;
  }

  void take_update(Worker& worker, const ClosedStep& closed) {
    const auto update = worker.updates.close(closed.step, closed.parts,
                                             closed.facts.get(), worker.rates);
    if (!update) return;
    has_update_ = true;
    worker.last = update;
    const auto losses = worker.losses.until(worker.judged.global);
    const bool is_of_step =
        !losses.empty() && losses.back().step.global == worker.judged.global;
    if (update->ratio) worker.ratios.push_back(*update->ratio);
    if (update->fall && is_of_step && losses.back().value > 0) {
      worker.falls.push_back(*update->fall / losses.back().value);
    }
    const auto distance = worker.updates.distance();
    const std::size_t updates = worker.updates_until(worker.judged.global - 1);
    if (!worker.large && updates > 0 && updates <= kFirstUpdates && distance &&
        *distance > large_ratio_) {
      worker.large = {*update, *distance, updates};
    }
  }

  std::optional<Finding> judge(const Worker& worker, std::string_view name) {
    const auto losses = worker.losses.until(worker.judged.global);
    if (!worker.last || losses.size() < kEnoughLosses ||
        !std::isfinite(losses.back().value) ||
        !worker.losses.why_may_rise(worker.judged.global).empty()) {
      return std::nullopt;
    }
    if (auto found = find_too_high(worker, name, losses)) return found;
    if (worker.updates_until(worker.judged.global) < num_updates_ ||
        losses.size() < num_updates_) {
      return std::nullopt;
    }
    count_judged();
    if (auto found = find_decayed(worker, name, losses)) return found;
    if (auto found = find_exhausted(worker, name, losses)) return found;
    if (auto found = find_clipped(worker, name, losses)) return found;
    return find_too_low(worker, name, losses);
  }

  std::optional<Finding> find_too_high(const Worker& worker,
                                       std::string_view name,
                                       std::span<const ScalarSample> losses) {
    if (losses.size() > kMostLosses) return std::nullopt;
    count_judged();
    if (!worker.large || !is_high_rate(worker.large->update)) {
      return std::nullopt;
    }
    const double first = losses.front().value;
    const double now = course_of(losses).now;
    if (now < 0.95 * first) return std::nullopt;
    const Large& large = *worker.large;
    Finding finding = describe(RateFault::too_high, worker, name, large.update);
    finding.message += fmt::format(
        ": the first {} moved the weights by {} times their initial size, and "
        "the loss is {:.4g} after {} steps, no lower than it began ({:.4g})",
        large.updates == 1 ? "update"
                           : fmt::format("{} updates", large.updates),
        short_number(large.distance), now, losses.size(), first);
    suggest(finding, large.update,
            large.distance / static_cast<double>(large.updates));
    set_numbers(finding, "distance of the weights / initial size",
                large.distance, ">", large_ratio_);
    return finding;
  }

  // Whether a model that had learned nothing has had only small updates.
  bool has_small_updates(const Worker& worker, const Course& course) const {
    return worker.ratios.size() >= kEnoughUpdates &&
           worker.falls.size() >= kEnoughUpdates &&
           median(worker.ratios) < small_ratio_ &&
           median(worker.falls) < kSmallFall &&
           has_learned_nothing(worker, course);
  }

  // A trained model may need no more than small updates, unless it knows no
  // more than a guess, such as with a new last layer.
  static bool has_learned_nothing(const Worker& worker, const Course& course) {
    return worker.updates.untrained_share().value_or(1) > kMostWeights ||
           is_as_a_guess(worker, course);
  }

  // Whether the loss is as high as that of a model that has learned nothing.
  static bool is_high(const Worker& worker, const Course& course) {
    const auto guess = worker.guess();
    return course.now > kHigh * course.first &&
           (!guess || course.now > kHigh * guess->loss);
  }

  static bool is_low_rate(const FollowedUpdate& update) {
    const auto usual = usual_rate({update.optimizer, 0, update.momentum});
    return usual && update.rate > 0 && update.rate < kLowShare * *usual;
  }

  // With a usual rate, weights that are too small explain large updates.
  static bool is_high_rate(const FollowedUpdate& update) {
    const auto usual = usual_rate({update.optimizer, 0, update.momentum});
    return usual && update.rate > kHighMultiple * *usual;
  }

  // Whether updates would have a size that trains if the rate were usual. If
  // not, the gradients are too small.
  static bool would_train(const FollowedUpdate& update, double ratio) {
    const auto usual = usual_rate({update.optimizer, 0, update.momentum});
    return usual && ratio * *usual > kTrainingRatio * update.rate;
  }

  static bool is_rising(const Worker& worker, Step step) {
    const auto now = worker.rates.at(step);
    const auto before = worker.rates.at(step / 2);
    return now && before && now->now > 1.01 * before->now;
  }

  std::optional<Finding> find_too_low(const Worker& worker,
                                      std::string_view name,
                                      std::span<const ScalarSample> losses) {
    const Course course = course_of(losses);
    const FollowedUpdate& update = *worker.last;
    const auto rate = worker.rates.at(worker.judged.global);
    const bool is_stuck = is_high(worker, course);
    if (!has_small_updates(worker, course) ||
        !would_train(update, median(worker.ratios)) || !is_low_rate(update) ||
        !rate || rate->now < 0.99 * rate->highest ||
        is_rising(worker, worker.judged.global) ||
        (!is_stuck && !falls_linearly(losses))) {
      return std::nullopt;
    }
    Finding finding = describe(RateFault::too_low, worker, name, update);
    add_small(finding, worker, course);
    if (!is_stuck) {
      finding.severity = Severity::advice;
      finding.message += ", as fast at the end as in the beginning";
    }
    set_ratio(finding, worker);
    suggest(finding, update, median(worker.ratios));
    return finding;
  }

  // Updates that are small only because of a clipping.
  std::optional<Finding> find_clipped(const Worker& worker,
                                      std::string_view name,
                                      std::span<const ScalarSample> losses) {
    const Course course = course_of(losses);
    const FollowedUpdate& update = *worker.last;
    if (update.optimizer != "SGD" || update.kept > kHardlyAny ||
        !worker.judged_facts || !clips(worker.judged_facts->loop) ||
        !has_small_updates(worker, course) || !is_high(worker, course) ||
        median(worker.ratios) < kTrainingRatio * update.kept) {
      return std::nullopt;
    }
    Finding finding;
    finding.message =
        fmt::format("{}: {} leaves {} of the gradients, whose norm is {:.4g}",
                    tensor_text(worker.losses.name(), name),
                    clipping_text(worker.judged_facts->loop),
                    short_number(update.kept), update.gradient_norm);
    add_small(finding, worker, course);
    add_evidence(finding, RateFault::clipped, worker, name, update.step);
    set_numbers(finding, "clipped gradient / gradient", update.kept, "<",
                kHardlyAny);
    return finding;
  }

  std::optional<Finding> find_warm_up(const Worker& worker,
                                      std::string_view name) {
    const auto losses = worker.losses.until(worker.judged.global);
    if (!worker.last || losses.size() < num_updates_ ||
        !worker.losses.why_may_rise(worker.judged.global).empty()) {
      return std::nullopt;
    }
    const Course course = course_of(losses);
    if (!has_small_updates(worker, course) || !is_high(worker, course) ||
        !would_train(*worker.last, median(worker.ratios)) ||
        !is_low_rate(*worker.last) ||
        !is_rising(worker, worker.judged.global)) {
      return std::nullopt;
    }
    Finding finding = describe(RateFault::warm_up, worker, name, *worker.last);
    finding.message += ", and still rises";
    add_small(finding, worker, course);
    set_ratio(finding, worker);
    return finding;
  }

  // A warm-up may have so many updates, but hardly so many epochs.
  std::optional<Finding> find_rare_warm_up(const Worker& worker,
                                           std::string_view name) {
    const auto rate = worker.rates.at(worker.judged.global);
    if (!worker.last || !worker.judged_facts || !rate || rate->now <= 0 ||
        !is_rising(worker, worker.judged.global)) {
      return std::nullopt;
    }
    for (const SchedulerFacts& scheduler :
         worker.judged_facts->loop.schedulers) {
      const auto full = full_rate(*worker.judged_facts, scheduler);
      const auto steps = static_cast<double>(scheduler.steps);
      if (!full || rate->now > kWarmedUp * *full ||
          static_cast<double>(scheduler.updates) < kRareSteps * steps ||
          steps * *full / rate->now < kLongWarmUp) {
        continue;
      }
      Finding finding =
          describe(RateFault::rare_warm_up, worker, name, *worker.last);
      finding.message += fmt::format(
          " after {}, {:.2g} % of the {:.4g} to which its warm-up leads: {} "
          "has stepped once per {:.0f} updates",
          count_text(worker.updates_until(worker.judged.global), "update"),
          100 * rate->now / *full, *full, scheduler.kind,
          static_cast<double>(scheduler.updates) / std::max(steps, 1.0));
      set_numbers(finding, "learning rate / that after the warm-up",
                  rate->now / *full, "<=", kWarmedUp);
      return finding;
    }
    return std::nullopt;
  }

  std::optional<Finding> find_decayed(const Worker& worker,
                                      std::string_view name,
                                      std::span<const ScalarSample> losses) {
    const auto rate = worker.rates.at(worker.judged.global);
    if (!rate || rate->now > kRounding * kDecay * rate->highest ||
        rate->now <= 0) {
      return std::nullopt;
    }
    // Since when? The last half of a training may use a rate that is low.
    const auto low =
        std::ranges::find_if(losses, [&](const ScalarSample& loss) {
          const auto at = worker.rates.at(loss.step.global);
          return at && at->now <= kRounding * kDecay * rate->highest;
        });
    const auto before = static_cast<std::size_t>(low - losses.begin());
    if (before == 0 || 2 * before > losses.size() || before > num_updates_ ||
        losses.size() - before < num_updates_ / 2) {
      return std::nullopt;
    }
    const bool has_returned =
        std::any_of(low, losses.end(), [&](const ScalarSample& loss) {
          const auto at = worker.rates.at(loss.step.global);
          return at && at->now > 2 * kDecay * rate->highest;
        });
    const double now = course_of(losses).now;
    const double first = losses.front().value;
    if (has_returned || now < kHalf * first) return std::nullopt;
    Finding finding = describe(RateFault::decayed, worker, name, *worker.last);
    finding.message = fmt::format(
        "{}: the learning rate of {} fell from {:.4g} to {:.4g} in the first "
        "{} steps; the loss was {:.4g} then, is {:.4g} after {} steps, and "
        "began at {:.4g}",
        tensor_text(worker.losses.name(), name), worker.last->optimizer,
        rate->highest, kDecay * rate->highest, before, low->value, now,
        losses.size(), first);
    finding.evidence.front().step = low->step;
    set_numbers(finding, "learning rate / highest learning rate",
                rate->now / rate->highest, "<=", kDecay);
    return finding;
  }

  std::optional<Finding> find_exhausted(const Worker& worker,
                                        std::string_view name,
                                        std::span<const ScalarSample> losses) {
    const auto rate = worker.rates.at(worker.judged.global);
    if (!rate || rate->now > kExhausted * rate->highest) return std::nullopt;
    const auto is_exhausted = [&](const ScalarSample& loss) {
      const auto at = worker.rates.at(loss.step.global);
      return at && at->now <= kExhausted * rate->highest;
    };
    const auto since = std::ranges::find_if(losses, is_exhausted);
    const auto count = static_cast<std::size_t>(losses.end() - since);
    if (since == losses.begin() || count < kExhaustedLosses ||
        static_cast<double>(count) <
            kLeastExhausted * static_cast<double>(losses.size()) ||
        !std::all_of(since, losses.end(), is_exhausted)) {
      return std::nullopt;
    }
    Finding finding =
        describe(RateFault::exhausted, worker, name, *worker.last);
    finding.message = fmt::format(
        "{}: the learning rate of {} has fallen from {:.4g} to {:.4g}, and the "
        "last {} of {} losses had less than a hundred-thousandth of it: the "
        "loss is {:.4g}",
        tensor_text(worker.losses.name(), name), worker.last->optimizer,
        rate->highest, rate->now, count, losses.size(), course_of(losses).now);
    finding.evidence.front().step = since->step;
    finding.step = since->step;
    set_numbers(finding, "learning rate / highest learning rate",
                rate->now / rate->highest, "<=", kExhausted);
    return finding;
  }

  // The beginning of a finding: "the learning rate of Adam is 1e-05".
  static Finding describe(RateFault fault, const Worker& worker,
                          std::string_view name, const FollowedUpdate& update) {
    Finding finding;
    finding.message = fmt::format("{}: the learning rate of {} is {:.4g}",
                                  tensor_text(worker.losses.name(), name),
                                  update.optimizer, update.rate);
    add_evidence(finding, fault, worker, name, update.step);
    return finding;
  }

  static void add_evidence(Finding& finding, RateFault fault,
                           const Worker& worker, std::string_view name,
                           const StepId& step) {
    set_advice(finding, kAdvice[static_cast<std::size_t>(fault)]);
    Evidence& evidence = finding.evidence.emplace_back();
    evidence.tensor = worker.losses.name();
    evidence.worker = name;
    evidence.step = step;
    finding.step = step;
  }

  static void add_small(Finding& finding, const Worker& worker,
                        const Course& course) {
    const double ratio = median(worker.ratios);
    finding.message += fmt::format(
        ": an update moves the weights by about {} of their size, and the loss "
        "went from {:.4g} to {:.4g} in {}",
        short_number(ratio), course.first, course.now,
        count_text(worker.updates_until(worker.judged.global), "update"));
  }

  void set_ratio(Finding& finding, const Worker& worker) const {
    set_numbers(finding, "|update| / |weight|", median(worker.ratios), "<",
                small_ratio_);
  }

  static void set_numbers(Finding& finding, std::string quantity, double value,
                          std::string relation, double threshold) {
    Evidence& evidence = finding.evidence.front();
    evidence.quantity = std::move(quantity);
    evidence.value = value;
    evidence.relation = std::move(relation);
    evidence.threshold = threshold;
  }

  // Adds the learning rate with which updates would have the usual size.
  static void suggest(Finding& finding, const FollowedUpdate& update,
                      double ratio) {
    const auto usual = usual_rate({update.optimizer, 0, update.momentum});
    if (!usual || !(ratio > 0) || !(update.rate > 0)) return;
    const double rate = std::min(*usual, update.rate * kUsualRatio / ratio);
    finding.advice += fmt::format(
        ", to about {}: an update then changes the weights by about {:.2g} % "
        "of their size",
        rough_number(rate), 100 * rate / update.rate * ratio);
  }

  std::size_t num_updates_;
  double small_ratio_, large_ratio_;
  std::map<std::string, Worker, std::less<>> workers_;
  StepId open_ = {.global = -1};
  bool has_update_ = false;
};

}  // namespace

const RuleFactory kLearningRate = {
    .name = "LearningRate",
    .summary =
        "The learning rate is too low or too high for the weights, or "
        "the weight decay is too strong.",
    .condition =
        "Fires after 'num_updates' updates if they are smaller than "
        "'small_ratio' of the weights, if they cannot lower the loss by more "
        "than a thousandth each, if the learning rate is less than a fifth of "
        "what is usual for the optimizer, and if the loss is above 95 % of the "
        "first, or, as advice, falls as fast as in the beginning. Fires after "
        "40 losses if the first 20 updates moved the "
        "weights by more than 'large_ratio' of their initial size and the loss "
        "is no lower than it began. Fires if the learning rate fell to a "
        "hundredth in the first 'num_updates' steps and the loss is above half "
        "of the first, and at the end of a training whose learning rate still "
        "rises and whose updates are small. Fires after 20 losses if a weight "
        "decay takes at least 2e-3 of the weights in each update (or, if the "
        "optimizer divides it by its size as Adam does, is at least 0.05 and "
        "outweighs the gradients), if the median of the weights has shrunk to "
        "less than a tenth, and if the loss is above 95 % of the first or is "
        "that of a guess. Fires like the first if a clipping leaves less than "
        "a tenth of the gradients of SGD, which would be large enough without "
        "it, whatever the learning rate. Fires after 40 losses, or if the loss "
        "is not finite, if the loss is a sum over the samples, the learning "
        "rate of SGD times their number is more than three times what is "
        "usual, and the loss is above 95 % of the first. Fires if each of 10 "
        "clippings of gradients found none, at the end of a training whose "
        "learning rate still rises, has reached less than 30 % of that of the "
        "optimizer, and would need 30 steps of a scheduler that acts in less "
        "than every fifth update, and if at least 100 losses, a "
        "quarter of all, had less than a hundred-thousandth of the highest "
        "learning rate.",
    .advice = kAdvice,
    .parameters = kParameters,
    .make = make_rule<LearningRate>,
};

}  // namespace smdebug
