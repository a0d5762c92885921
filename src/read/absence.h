#pragma once

// Explains why a run has no value of a tensor at a step, for the errors of
// `Tensor`: the steps that it has, those that its collections save, and the
// setting of a hook that saves the one that was asked for.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/config/collection.h"
#include "smdebug/read/tensor.h"

#include "index/run_table.h"

namespace smdebug {

// One question for a tensor. Refers to its arguments.
class Absence {
 public:
  Absence(const RunTable& table, std::span<const Collection> collections,
          TensorId tensor, const StepQuery& query)
      : table_(table),
        collections_(collections),
        tensor_(tensor),
        query_(query) {}

  // The step was not written yet.
  std::string of_coming_step() const;
  // The run has gone past the step, or ended, without saving it.
  std::string of_passed_step() const;
  // The step exists, without the tensor.
  std::string of_tensor() const;
  // The step has the tensor, without its elements; `kept` names what it has.
  std::string of_elements(std::string_view kept) const;

 private:
  struct Schedule;

  std::vector<Step> steps(bool with_elements) const;
  std::string steps_text() const;
  std::string modes_of_tensor() const;
  // The step asked for, in its own mode; none if the run does not show which.
  std::optional<StepId> step_in_mode() const;
  Schedule schedule() const;
  std::string reason(const Schedule& schedule) const;

  const RunTable& table_;
  std::span<const Collection> collections_;
  TensorId tensor_;
  const StepQuery& query_;
};

}  // namespace smdebug
