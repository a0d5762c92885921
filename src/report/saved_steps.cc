#include "report/saved_steps.h"

#include <fmt/format.h>

#include "report/wording.h"

namespace smdebug {

std::string saved_steps_text(Tensor& tensor, Mode asked) {
  std::string saved;
  for (const Mode mode :
       {Mode::global, Mode::train, Mode::eval, Mode::predict}) {
    const auto steps = tensor.steps(mode, /*incomplete=*/true);
    // Steps without a mode have only a global number.
    if (steps.empty() || (mode == Mode::global && asked != mode)) continue;
    saved += fmt::format(
        "{}{} from {} to {}", saved.empty() ? "" : ", ",
        count_text(steps.size(), fmt::format("{} step", mode_name(mode))),
        steps.front(), steps.back());
  }
  return saved.empty() ? "only steps without a mode" : saved;
}

}  // namespace smdebug
