#pragma once

// Amounts, dates and strings as text for people.

#include <cstdint>
#include <span>
#include <string>

#include "smdebug/core/mode.h"
#include "smdebug/read/trial.h"

#include "base/strings.h"

namespace smdebug {

std::string bytes_text(std::uint64_t bytes);  // "12.4 MB", "310 B"
std::string seconds_text(double seconds);     // "0.35 s", "2 min 05 s"
std::string age_text(double seconds);         // "3 min ago", "2 days ago"
std::string number_text(double value);        // four digits: "0.1235"
// The value of a loss, with its mode if the step has one and it is not
// `train`: "0.1235 (EVAL)".
std::string loss_text(double value, Mode mode);
std::string shape_text(std::span<const std::int64_t> shape);  // "(64, 10)"

// Returns "2026-11-21 03:07:24 UTC", or "at an unknown time" for years that do
// not have four digits.
std::string date_text(double wall_seconds);

// Returns the end of a message that damage may explain: "; 2 files of the run
// are damaged, 'smdebug show' lists them". Empty for none.
std::string damage_note(std::size_t files);

// Returns "ended by ValueError", of the exception that ended a training.
std::string raised_text(const std::string& exception);

// Whether rules may have judged less than was recorded.
bool hides_tensors(std::span<const Damage> damage);

// Returns "; 2 files of the run are damaged", for the message of a rule that
// found nothing in the others. Empty if no damage hides tensors.
std::string hidden_note(std::span<const Damage> damage);

// Returns `text` with spaces for line feeds.
std::string one_line(std::string text);

// Python's string literal of `text`.
std::string python_string(const std::string& text);

}  // namespace smdebug
