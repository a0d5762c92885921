#pragma once

// The faults of the data of a training, as the facts show them. For
// LabelsAndInputs.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/run_facts.h"

namespace smdebug {

enum class DataFault {
  inputs_not_finite,
  targets_not_finite,
  inputs_constant,
  inputs_repeat,
  evaluation_scaled,
  labels_sorted,
  one_class,
  one_of_two_classes,
  class_rare,
  features_differ,
  inputs_large,
  targets_large,
  target_revealed,
  channels_mixed,
  classes_as_numbers,
  inputs_tiny,
};

struct DataThresholds {
  std::uint64_t num_steps = 0;
  double largest = 0;
  double feature_ratio = 0;
};

// A fault with its measure.
struct FoundFault {
  DataFault fault;
  std::string message;  // continues the name of the tensor
  std::string quantity;
  double value = 0;
  double threshold = 0;
  std::string_view relation = ">";
};

bool is_of_labels(DataFault fault);

// Whether there is something to judge: of other data, such as indices, only the
// form is known.
bool has_numbers(const DataFacts& data);

// Whether the layer that receives an input of features is unknown. It may scale
// them.
bool has_unknown_scale(const DataFacts& input);

// The fault of data that contain NaN or infinity.
FoundFault not_finite_fault(const DataFacts& data, DataFault fault);

// Judges an input that was measured in enough steps.
std::optional<FoundFault> input_fault(const DataFacts& input,
                                      const RunFacts& facts,
                                      const DataThresholds& thresholds);

// Judges the targets of a loss, which were measured in enough steps.
std::optional<FoundFault> target_fault(const LossInputFacts& loss,
                                       const RunFacts& facts,
                                       const DataThresholds& thresholds);

// Whether an input has another scale in the evaluation than in the training.
std::optional<FoundFault> evaluation_fault(const DataFacts& training,
                                           const DataFacts& evaluation);

}  // namespace smdebug
