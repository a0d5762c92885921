#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "smdebug/rules/builtin_rules.h"

namespace smdebug {

// Returns one built-in rule, in the form that monitors take.
inline std::vector<std::unique_ptr<Rule>> rules(
    const std::string& name,
    const std::map<std::string, std::string>& given = {}) {
  std::vector<std::unique_ptr<Rule>> made;
  made.push_back(*make_builtin_rule(name, given));
  return made;
}

}  // namespace smdebug
