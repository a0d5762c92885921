#pragma once

// Which process wrote a file beside a run, so that another one can tell
// whether it still lives.

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"

namespace smdebug {

struct ProcessMark {
  std::string host;
  std::int64_t process_id = 0;
  std::uint64_t start_ticks = 0;  // process ids return, start times do not

  static ProcessMark of_this_process();
  // None where `json` is none.
  static std::optional<ProcessMark> parse(const Json* json);

  Json json() const;
  std::string text() const;  // "process 12 on 'node'"
  // True where it has surely ended.
  bool is_gone() const;

  friend bool operator==(const ProcessMark&, const ProcessMark&) = default;
};

}  // namespace smdebug
