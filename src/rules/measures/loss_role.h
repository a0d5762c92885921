#pragma once

// Training and validation losses of a run, and which two are compared. For the
// rules that judge both.

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "smdebug/core/mode.h"
#include "smdebug/core/run_facts.h"

namespace smdebug {

struct LossRole {
  enum class Part { training, validation } part;
  // Equal for the losses that are compared: "Loss_output_0", "logloss".
  std::string pair;
};

// Returns the role of the loss of that name at a step of `mode`; none for a
// loss without a counterpart, as in PREDICT. In a run with modes, TRAIN and
// EVAL decide; otherwise XGBoost's names do ("train-x" beside "validation-x",
// "validation_0-x", "valid-x", "val-x", "dev-x", "eval-x", "test-x" or
// "dtest-x"). "val_x", as Keras writes it, is the validation loss of "x" in
// every mode.
std::optional<LossRole> role_of_loss(std::string_view name, Mode mode);

// Returns the role of a metric that XGBoost names, as in "train-x" and
// "validation-x"; none for another name. All of them belong to one objective,
// which the training minimizes.
std::optional<LossRole> role_in_xgboost(std::string_view name);

// The roles of the losses of a run whose facts may tell which evaluation sets
// of XGBoost are the rows that it trains on. A name is a weaker sign: the first
// set of xgboost.sklearn is called "validation_0" whatever it is.
class LossRoles {
 public:
  void add(const RunFacts& facts);

  // As the functions above.
  std::optional<LossRole> of(std::string_view name, Mode mode) const;
  std::optional<LossRole> in_xgboost(std::string_view name) const;

 private:
  std::set<std::string, std::less<>> training_sets_;
};

// Whether XGBoost's metric of that name ("error", "merror", "error@0.7") is a
// share of wrong decisions, which may stay equal while the loss falls.
bool is_error_rate(std::string_view metric);

// The mean of a sequence of losses.
struct RunningMean {
  std::uint64_t count = 0;
  double mean = 0;     // 0 before the first number
  double squares = 0;  // the sum of the squared distances from the mean

  void add(double value) {
    ++count;
    const double distance = value - mean;
    mean += distance / static_cast<double>(count);
    squares += distance * (value - mean);
  }

  // Returns the standard error of the mean; 0 for fewer than two numbers.
  double error() const {
    if (count < 2) return 0;
    const auto n = static_cast<double>(count);
    return std::sqrt(squares / (n - 1) / n);
  }
};

}  // namespace smdebug
