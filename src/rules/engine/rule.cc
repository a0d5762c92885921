#include "smdebug/rules/rule.h"

namespace smdebug {

Result<std::optional<Finding>> Rule::on_tick(double) {
  return std::optional<Finding>();
}

Result<std::optional<Finding>> Rule::finish() {
  return std::optional<Finding>();
}

std::string Rule::not_judged() const { return {}; }

}  // namespace smdebug
