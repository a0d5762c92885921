#pragma once

// What a launcher asks of a training that it starts: where to write, and which
// collections, as often as the rules need them. It travels as JSON in the
// environment variable `SMDEBUG_RUN`; the autostart of an adapter reads it.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "smdebug/core/mode.h"
#include "smdebug/rules/rule.h"

namespace smdebug {

inline constexpr const char* kCaptureRequestVariable = "SMDEBUG_RUN";

struct RequestedCollection {
  std::string name;
  std::vector<std::string> include_regex;  // empty: the framework's own
  bool summary = true;                     // statistics suffice
  Step save_interval = 10;

  friend bool operator==(const RequestedCollection&,
                         const RequestedCollection&) = default;
};

struct CaptureRequest {
  std::string out_dir;
  Step save_interval = 10;
  std::vector<RequestedCollection> collections;
  // Nobody asked for the rules: but for losses, what finds nothing is not told.
  bool is_optional = false;

  std::string json() const;
};

/// Returns what must be captured into `out_dir`, an absolute path, for `rules`
/// to judge: the union of their needs, each collection at the smallest
/// interval that a rule asks for. Losses are asked for whatever the rules, in
/// full: they are one number, and the first that a user looks at. A rule that
/// judges every tensor adds only the gradients, where nothing else is asked.
CaptureRequest capture_request(std::span<const std::unique_ptr<Rule>> rules,
                               std::string out_dir);

}  // namespace smdebug
