#pragma once

// `series/<worker>-<first>-<last>-<number>.json` (docs/format.md): samples of
// the scalar series of one worker, from one step to another.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/scalar_series.h"

namespace smdebug {

struct SeriesFile {
  std::string worker;
  // Names differ, and no series is empty.
  std::vector<ScalarSeries> series;

  friend bool operator==(const SeriesFile&, const SeriesFile&) = default;
};

// The lowest and the highest step of the samples; -1 without samples.
struct SeriesSteps {
  Step first = -1;
  Step last = -1;

  friend bool operator==(const SeriesSteps&, const SeriesSteps&) = default;
};
SeriesSteps steps_of(const SeriesFile& file);

// A step that is in several series must have the same mode in each.
std::string write_series_file(const SeriesFile& file);

// Fails with `corrupt` if a member is missing, has another type or is out of
// range, if steps do not ascend or columns do not match, and with `unsupported`
// for a later version. Ignores unknown members.
Result<SeriesFile> parse_series_file(std::string_view text);

}  // namespace smdebug
