#include "smdebug/rules/rule.h"

namespace smdebug {

Outcome Rule::on_tick(double) { return no_finding(); }

Outcome Rule::finish() { return no_finding(); }

std::string Rule::not_judged() const { return {}; }

}  // namespace smdebug
