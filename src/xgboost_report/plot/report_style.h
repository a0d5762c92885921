#pragma once

// The style sheet of reports: text as for print, plots in colours that the
// colour-blind tell apart, light and dark.

#include <string_view>

namespace smdebug {

std::string_view report_style();

}  // namespace smdebug
