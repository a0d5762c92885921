// smdebug rules [NAME]

#include "smdebug/report/rule_list.h"
#include "smdebug/rules/builtin_rules.h"

#include "commands.h"

namespace smdebug {

int run(const RulesCommand& command, const Console& console) {
  if (!command.rule) {
    console.out << (command.json ? rules_json(builtin_rules())
                                 : rules_text(builtin_rules()));
    return kExitNothingFound;
  }
  const RuleFactory* rule = find_builtin_rule(*command.rule);
  if (!rule) {
    return console.fail({Error::Code::invalid_argument,
                         make_builtin_rule(*command.rule, {}).error().message});
  }
  console.out << (command.json ? rules_json({rule, 1}) : rule_text(*rule));
  return kExitNothingFound;
}

}  // namespace smdebug
