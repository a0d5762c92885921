#pragma once

// The table by which a diagnosis chooses its cause: which finding explains
// which. It is keyed by rule, and by the kind of finding (`Advice::when`) where
// a rule has several. docs/diagnosis.md shows it. A row may name a rule that
// this version does not have.

#include <compare>
#include <cstddef>
#include <span>
#include <string_view>

#include "smdebug/rules/verdict.h"

namespace smdebug {

// How near to the mistake a finding is, the nearest first. Of two findings at
// one step, that of the earlier stage comes first.
enum class Stage {
  data,            // what the training is given
  wiring,          // how model, loss and optimizer are connected
  initialization,  // what the training starts from
  optimizer,       // the size of the updates
  symptom,         // what any of these does to tensors and losses
};

// Returns "data", "wiring", ...
std::string_view stage_name(Stage stage);

// Findings of a rule whose kind contains one of `kinds`; all others of the rule
// if there are none.
struct FindingPattern {
  std::string_view rule;
  std::span<const std::string_view> kinds = {};
};

// Findings that have the same causes.
struct Effects {
  std::string_view name;  // "a loss that does not fall"
  std::span<const FindingPattern> findings;
};

struct CauseRow {
  Stage stage;
  FindingPattern finding;
  std::span<const Effects* const> effects = {};
  // It explains every finding of a later stage, whatever `effects` says.
  bool explains_all_later = false;
  // It is dated by what happened, not by when it was proved, so it explains
  // nothing that came before it.
  bool must_precede = false;
};

std::span<const CauseRow> cause_rows();

// The place of a finding in the table. Findings without a row come last.
struct CausePlace {
  Stage stage = Stage::symptom;
  std::size_t row = 0;
  auto operator<=>(const CausePlace&) const = default;
};

CausePlace cause_place(const Verdict& finding);

// Returns whether the table says that `cause` explains `effect`. Never for two
// findings of one rule.
bool explains(const Verdict& cause, const Verdict& effect);

}  // namespace smdebug
