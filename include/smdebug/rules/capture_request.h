#pragma once

// The request of a launcher to the training that it starts: where to write, and
// which collections to save, as often as the rules need them. It is passed as
// JSON in the environment variable `SMDEBUG_RUN`, which the autostart of an
// adapter reads.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "smdebug/core/mode.h"
#include "smdebug/rules/rule.h"

namespace [[gnu::visibility("default")]] smdebug {

inline constexpr const char* kCaptureRequestVariable = "SMDEBUG_RUN";

struct RequestedCollection {
  std::string name;
  std::vector<std::string> include_regex;  // empty: the framework's own
  bool summary = true;                     // statistics suffice
  Step save_interval = 10;
  std::int64_t max_elements = 0;  // of a tensor, see Collection; 0: all
  // It adds to another collection, so it may be empty.
  bool is_optional = false;

  friend bool operator==(const RequestedCollection&,
                         const RequestedCollection&) = default;
};

struct CaptureRequest {
  std::string out_dir;
  // Models that train after the first one are recorded in runs of their own:
  // this with "2", "3" and so on appended. Empty: they are not recorded.
  std::string next_out_dir;
  Step save_interval = 10;
  // The first steps of each mode are saved whatever the interval: most mistakes
  // in a script show there.
  Step first_steps = 5;
  std::vector<RequestedCollection> collections;
  // The rules are the default set: a collection without tensors is not logged,
  // except for losses.
  bool is_optional = false;

  std::string json() const;
};

/// Returns what must be captured into `out_dir`, an absolute path, for `rules`
/// to judge: the union of their needs, each collection at the smallest interval
/// that a rule requests. Losses are always requested in full: they are single
/// numbers, and users look at them first. A rule that judges every tensor adds
/// only the gradients, and only if nothing else is requested.
CaptureRequest capture_request(std::span<const std::unique_ptr<Rule>> rules,
                               std::string out_dir);

}  // namespace smdebug
