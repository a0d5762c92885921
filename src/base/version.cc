#include "smdebug/base/version.h"

#include <fmt/format.h>

namespace smdebug {

// cmake/commit.cmake defines SMDEBUG_COMMIT for this file only, so that a new
// commit compiles no other.
std::string_view commit() { return SMDEBUG_COMMIT; }

std::string version_text() {
  return fmt::format("smdebug {} ({}{}{})", kVersion, kDistribution,
                     commit().empty() ? "" : ", commit ", commit());
}

}  // namespace smdebug
