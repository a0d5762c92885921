#pragma once

// A `LossTrend` finds from the losses of a training whether they fall, and if
// not, how they fail to.
//
// Losses are noisy, so the first losses are compared with the newest by tests
// that know the noise (noisy_values.h). Each test errs in at most 0.5 % of the
// cases with normal noise; because it is made again and again, the whole errs
// more often.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "smdebug/core/mode.h"

namespace smdebug {

class LossTrend {
 public:
  enum class Kind {
    unknown,     // too few losses for their noise
    falls,       // it has been lower than it began
    not_judged,  // it may do anything: it is negative, or has rivals
    constant,    // all losses are equal to the last bit
    still,       // it did not fall, and a fall of 5 % would have been seen
    guesses,   // it fell to the loss of a guess, and has been still since then
    leapt,     // it rose in the first steps, and is no lower than it began
    rises,     // it is higher than it began
    returned,  // it fell, and is as high again as it began
    oscillates,  // it does not fall, and is high and low by turns
    plunges,     // it falls ever faster, far below zero: it has no lower bound
    crawls,      // it falls slowly, at the end as fast as in the beginning
  };

  // The kind of the training.
  struct Setting {
    // Most steps call a model more than once, as in reinforcement learning: the
    // loss depends on what the model did, and may rise.
    bool has_repeated_calls = false;
    // Several losses are minimized in turn, as in adversarial learning: one may
    // rise or stay where it is because another falls.
    bool has_rivals = false;
    // The loss of a model that knows nothing.
    std::optional<double> guess = {};
  };

  struct Answer {
    Kind kind = Kind::unknown;
    double before = 0;  // the typical loss of earlier steps
    double now = 0;     // and of the newest
    double least = 0;   // `returned`: the typical loss when it was lowest;
                        // `guesses`: that of the middle steps;
                        // `oscillates`: a typical low loss;
                        // `crawls`: that in the middle
    double most = 0;    // `leapt`: the highest loss after the first;
                        // `oscillates`: a typical high loss
    double needed = 0;  // `unknown`: steps after which an answer is likely
    bool is_at_rest = false;  // the last third are equal to the last bit
  };

  // No loss is judged over fewer steps.
  static constexpr Step kFewestSteps = 40;

  /// Adds the loss of the step with this number in its mode. Returns whether it
  /// is time to judge: after 40 steps, 60, 90 and so on, and then every 200
  /// losses.
  bool add(Step step, double loss);

  /// Judges all losses until now. A loss that fell once has fallen for good,
  /// unless it returned or fell to the loss of a guess.
  Answer judge(Setting setting);

  /// Returns the course of a loss that crawls: after 50 steps or more it is
  /// above 80 % of the first, and in the second half it fell as far as in the
  /// first, give or take a fifth. Only a loss without noise, such as that of
  /// all samples, shows this. None for another course.
  std::optional<Answer> crawl() const;

  /// Returns the typical loss of the last tenth, of at least three losses.
  double now() const;

  /// Returns the number of steps from the first loss to the newest, both
  /// included.
  Step steps() const { return losses_ == 0 ? 0 : last_ - first_ + 1; }

  /// Returns the number of losses. It is smaller if not every step saves one.
  std::size_t losses() const { return losses_; }

 private:
  struct Parts;

  Answer judge_few(Setting setting) const;
  void keep(double loss);
  static bool plunges(const Parts& parts, bool may_rise);
  static bool has_exploded(const Parts& parts, bool may_rise);
  static bool has_risen(const Parts& parts);
  bool has_returned(const Parts& parts) const;
  bool has_leapt(const Parts& parts, Answer& answer) const;
  bool has_fallen(const Parts& parts) const;
  bool guesses(const Parts& parts, Setting setting) const;
  bool oscillates(const Parts& parts, Answer& answer) const;
  Kind standstill(const Parts& parts, Setting setting, double& needed) const;

  // Means of `per_kept_` losses each, so that a long training needs no more
  // memory.
  std::vector<double> kept_;
  std::size_t per_kept_ = 1;
  double open_sum_ = 0;  // of the next mean
  std::size_t open_count_ = 0;

  std::size_t losses_ = 0, next_check_ = 0;
  Step first_ = 0, last_ = 0;
  double first_loss_ = 0;
  bool are_equal_ = true;
  bool has_fallen_ = false;
  std::optional<double> lowest_;  // the typical loss when it was lowest
};

}  // namespace smdebug
