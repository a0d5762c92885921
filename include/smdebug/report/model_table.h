#pragma once

// The facts of a run as tables: `smdebug show --model`.

#include <span>
#include <string>

#include "smdebug/core/run_facts.h"

namespace [[gnu::visibility("default")]] smdebug {

/// Returns the facts that each worker reported last: a table each of its
/// parameters, optimizers, modules and losses. Workers with equal facts share
/// their tables.
std::string model_text(std::span<const WorkerFacts> facts);
/// Returns the same as JSON, in the form of a facts file (docs/format.md).
std::string model_json(std::span<const WorkerFacts> facts);

}  // namespace smdebug
