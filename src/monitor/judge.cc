#include "smdebug/monitor/judge.h"

#include <utility>

#include "smdebug/base/try.h"
#include "smdebug/monitor/run_monitor.h"

namespace smdebug {
namespace {

Result<MonitorResult> judge_once(RunMonitor& monitor) {
  SMD_CHECK_OK(monitor.poll());
  MonitorResult result = monitor.finish("Completed");
  if (result.error) return *std::move(result.error);
  return result;
}

}  // namespace

Result<MonitorResult> judge(const std::string& location,
                            const std::vector<RuleRequest>& rules) {
  SMD_TRY(auto made, make_builtin_rules(rules));
  SMD_TRY(auto monitor, RunMonitor::create(location, std::move(made)));
  return judge_once(*monitor);
}

Result<MonitorResult> judge(Trial& trial,
                            const std::vector<RuleRequest>& rules) {
  SMD_TRY(auto made, make_builtin_rules(rules));
  SMD_TRY(auto monitor, RunMonitor::create(trial, std::move(made)));
  return judge_once(*monitor);
}

}  // namespace smdebug
