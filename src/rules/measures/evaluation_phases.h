#pragma once

// `EvaluationPhases` divides the losses of a training into evaluations, each
// with the training losses before it. For the rules that compare both.
//
// An evaluation is the longest run of EVAL steps: it ends with the next TRAIN
// step or with the run. Without modes, as in XGBoost, each step is one.
//
// `smdebug run` records the validation losses of all steps as series. They then
// take the place of the saved ones, worker by worker, and are compared with all
// training losses, if their series is known to have the same loss: the one that
// is minimized may have further terms, or be divided, and has another name. It
// is the same if it is equal wherever both are saved. A step that trains in
// evaluation mode, which the loss of its backward pass shows, is a training
// step, unless the model has a loss module of that name.
//
// The series of a live run arrive late. If it has that of the backward passes,
// evaluations of saved losses wait until it is known whether theirs follows, so
// that a verdict does not depend on the time.

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/observation.h"
#include "smdebug/core/run_facts.h"
#include "smdebug/core/scalar_series.h"
#include "smdebug/rules/verdict.h"

#include "rules/measures/loss_role.h"

namespace smdebug {

// One evaluation by one validation loss.
struct Evaluation {
  std::string key;  // of that loss, in this EvaluationPhases
  std::string pair;
  Evidence last;  // place of its last loss
  RunningMean validation;
  RunningMean training;  // since the evaluation before; may be empty
  bool is_of_series = false;
};

class EvaluationPhases {
 public:
  using Ended = std::vector<Evaluation>;

  // Adds what a worker trains.
  void add(std::string_view worker, const RunFacts& facts);

  // Begins a step of saved losses. Returns the evaluations that have ended.
  Ended begin_step(const StepId& step);
  // Adds a saved loss of the step, which must be finite. Returns whether it is
  // a validation loss, and there is a training loss above 0 to compare it with.
  bool add(const Observation& tensor, const StepId& step, double loss,
           const LossRole& role);
  // Ends the step. Returns the evaluations that have ended.
  Ended end_step(const StepId& step);

  // Adds the next samples of a worker. Returns the evaluations that have ended.
  Ended add(std::string_view worker, std::span<const ScalarSeriesView> series);

  // Ends the run.
  Ended finish();

  // Whether the series of a worker have this validation loss.
  bool has_series(std::string_view worker, std::string_view name) const;
  // Whether they have it, or may still get it.
  bool expects_series(std::string_view worker, std::string_view name) const;

  bool has_training() const { return has_training_; }
  bool has_validation() const { return has_validation_; }

 private:
  struct Loss {
    Step step;
    double value;
  };
  // The newest losses since the last evaluation.
  using Losses = std::deque<Loss>;

  struct Phase {
    std::string pair;
    Evidence last;
    RunningMean mean;
    Step first = -1;

    void add(const StepId& step, double value);
  };
  using Phases = std::map<std::string, Phase, std::less<>>;  // by name

  struct Worker {
    std::map<std::string, Losses, std::less<>> saved;     // by pair
    std::map<std::string, Losses, std::less<>> training;  // by series
    Phases validations;                                   // of series
    // "pair series" -> whether both are the same loss
    std::map<std::string, bool> are_same;
    Step last_end = -1;  // of an evaluation
    // A module of the model has the name of the losses of backward passes.
    bool has_module_loss = false;
    // The newest step with a backward pass; -1 without its series.
    Step newest_backward = -1;
    std::map<std::string, Step, std::less<>> first_saved;  // EVAL, by name
    Ended waiting;  // evaluations of saved losses
  };
  struct Noted;

  Ended close_saved();
  Ended close_series(Worker& worker);
  void release(Worker& worker, bool is_final, Ended& ended) const;
  static RunningMean training_of(Worker& worker, const Phase& phase);
  static bool are_same(Worker& worker, const std::string& pair,
                       const std::string& series);
  static void keep(Losses& losses, Loss loss);
  static void note(Worker& worker, std::string_view name,
                   std::span<const Noted> step, bool trains);

  Phases saved_;
  std::map<std::string, RunningMean, std::less<>> training_;  // by pair
  std::map<std::string, Worker, std::less<>> workers_;
  bool has_training_ = false, has_validation_ = false;
};

}  // namespace smdebug
