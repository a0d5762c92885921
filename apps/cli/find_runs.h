#pragma once

// Finds the runs below a folder, or below an address in a store, by the names
// of their files, without reading any.

#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

namespace smdebug {

struct FoundRuns {
  std::vector<std::string> runs;
  // Folders that were not searched, each with the reason, one sentence.
  std::vector<std::string> skipped;
};

// Whether the folder contains files that only a run has. False for an address.
bool is_run_folder(const std::string& folder);

// Returns the runs at most four levels below `folder`, or `folder` itself if it
// is a run. Does not search runs, hidden folders, or folders behind links; a
// link to a run counts. Fails with `not_found` if there is no such folder, and
// with `io` if it cannot be listed.
Result<FoundRuns> find_runs(const std::string& folder);

// Whether the location is a URL, such as "s3://bucket/a". A path may also
// contain "://", after a slash.
bool is_address(std::string_view location);

// Returns the address without slashes at its end, as `find_runs` returns it.
std::string without_slashes(std::string address);

}  // namespace smdebug
