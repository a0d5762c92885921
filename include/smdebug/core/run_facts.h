#pragma once

// The facts of a training: its parameters, optimizers, modules and losses. An
// adapter reports them to its session when an optimizer acts for the first
// time, and again when they change. Capture and `read` pass them to rules in
// the same form, and a run stores them in `facts/` (docs/format.md).
//
// A fact that the framework does not know is missing. Quantities that change
// with every step, such as a learning rate, are tensors of the run; here they
// have their values at `RunFacts::step`.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/core/mode.h"

namespace smdebug {

// A group of an optimizer, by its positions in `RunFacts`.
struct GroupPosition {
  std::size_t optimizer = 0;
  std::size_t group = 0;

  friend bool operator==(const GroupPosition&, const GroupPosition&) = default;
};

struct ParameterFacts {
  std::string tensor;  // its name in the run: "Net_fc1.weight"
  bool is_trainable = true;
  std::string dtype;   // "float32"
  std::string device;  // "cpu", "cuda:0"; empty: unknown
  std::vector<std::int64_t> shape;
  // The tensor whose memory it shares, if it is not the first with this memory.
  std::string shared_with;
  std::optional<GroupPosition> updated_by;  // none: no optimizer holds it

  friend bool operator==(const ParameterFacts&,
                         const ParameterFacts&) = default;
};

struct OptimizerGroupFacts {
  std::uint64_t parameters = 0;
  std::uint64_t foreign_parameters = 0;  // of them, of no recorded model
  // "learning_rate", "weight_decay", "momentum", ...: the settings that the
  // group has.
  std::map<std::string, double> settings;

  friend bool operator==(const OptimizerGroupFacts&,
                         const OptimizerGroupFacts&) = default;
};

struct OptimizerFacts {
  std::string kind;  // "Adam"
  std::vector<OptimizerGroupFacts> groups;

  friend bool operator==(const OptimizerFacts&,
                         const OptimizerFacts&) = default;
};

struct ModuleFacts {
  std::string path;                 // "encoder.norm"; of a root its name: "Net"
  std::string kind;                 // "BatchNorm2d"
  std::optional<bool> is_training;  // its mode, in a step with an update
  // "p" of a dropout; "dropout" of a recurrent or attention layer; "eps",
  // "momentum" and others of a normalization.
  std::map<std::string, double> settings;

  friend bool operator==(const ModuleFacts&, const ModuleFacts&) = default;
};

struct LossFacts {
  std::string tensor;     // "CrossEntropyLoss_output_0"
  std::string kind;       // "CrossEntropyLoss"
  std::string reduction;  // "mean", "sum", "none"; empty: unknown
  std::optional<std::int64_t> ignored_label;

  friend bool operator==(const LossFacts&, const LossFacts&) = default;
};

struct RunFacts {
  Step step = 0;  // the global step from which on they hold
  std::vector<ParameterFacts> parameters;
  std::vector<OptimizerFacts> optimizers;
  std::vector<ModuleFacts> modules;
  std::vector<LossFacts> losses;

  friend bool operator==(const RunFacts&, const RunFacts&) = default;
};

// The facts of one worker of a run.
struct WorkerFacts {
  std::string worker;
  RunFacts facts;

  friend bool operator==(const WorkerFacts&, const WorkerFacts&) = default;
};

}  // namespace smdebug
