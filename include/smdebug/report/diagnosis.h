#pragma once

// If several rules fire, most of them see the consequences of one mistake. A
// diagnosis is a finding with the findings that it explains, by the table in
// src/report/cause_table.cc. Everything that reports verdicts uses it: the end
// of `smdebug run` and `watch`, `check`, the callbacks of trainers, and JSON.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "smdebug/rules/verdict.h"

namespace [[gnu::visibility("default")]] smdebug {

struct Diagnosis {
  Verdict cause;
  std::vector<Verdict> consequences;  // by onset
  // How many unrelated causes are possible, with this one. The table explains
  // all that fired if it is 1.
  std::size_t rivals = 1;
};

/// Returns the diagnoses of verdicts of one run, by the onset of their first
/// finding, then by the table, then by the order of execution in the step;
/// never by the order of the rules. Each finding is in one of them, except
/// advice: advice is a cause only if it explains a finding that nothing else
/// explains, and then counts as serious.
std::vector<Diagnosis> diagnose(std::span<const Verdict> verdicts);

/// Returns the verdicts in the order of a report: the diagnoses, each with its
/// cause first, then other advice by onset, then the verdicts that did not
/// fire, in the given order.
std::vector<Verdict> in_order_of_cause(std::span<const Verdict> verdicts);

/// Returns "likely" if no other cause is possible, else "one of two", ...
std::string confidence_text(const Diagnosis& diagnosis);

/// Returns the rule of a finding and its step: "DeadRelu at step 4". `among`:
/// the verdicts of the run.
std::string onset_text(const Verdict& finding, std::span<const Verdict> among);

/// Returns the consequences in a line: "DeadRelu at step 4, VanishingGradient
/// at step 9"; empty if there are none.
std::string consequences_text(const Diagnosis& diagnosis,
                              std::span<const Verdict> among);

/// Returns the first evidence of the cause: "gradient/fc1.weight at step 4:
/// mean |g| 3.2e-09 < 1e-07"; empty without evidence about a tensor.
std::string evidence_text(const Diagnosis& diagnosis);

/// Returns one sentence that names the cause of the first diagnosis and the
/// first tensor with the problem: "LossInput at step 4, in loss_output_0, which
/// can explain the 2 other rules that fired"; empty if fewer than two rules
/// fired.
std::string likely_cause_text(std::span<const Verdict> verdicts);

/// Returns the diagnoses as a JSON array of objects with the keys `cause`,
/// `confidence`, `consequences`, `evidence` and `try`.
std::string diagnosis_json_text(std::span<const Verdict> verdicts);

/// Returns the table of causes as a JSON array of rows, for documents.
std::string cause_table_json();

}  // namespace smdebug
