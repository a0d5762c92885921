#include "actions/process_mark.h"

#include "smdebug/base/printable.h"

#include "base/environment.h"

namespace smdebug {

ProcessMark ProcessMark::of_this_process() {
  const std::int64_t process = smdebug::process_id();
  return {host_name(), process, process_start_ticks(process).value_or(0)};
}

std::optional<ProcessMark> ProcessMark::parse(const Json* json) {
  if (!json) return std::nullopt;
  const auto host = json->string_at("host");
  const auto process = json->int_at("pid");
  const auto ticks = json->int_at("start_ticks");
  if (!host || !process || !ticks || *ticks < 0) return std::nullopt;
  return ProcessMark{*host, *process, static_cast<std::uint64_t>(*ticks)};
}

Json ProcessMark::json() const {
  return Json::Object{
      {"host", host}, {"pid", process_id}, {"start_ticks", start_ticks}};
}

std::string ProcessMark::text() const {
  return "process " + std::to_string(process_id) + " on '" + printable(host) +
         "'";
}

bool ProcessMark::is_gone() const {
  return is_process_gone(host, process_id, start_ticks);
}

}  // namespace smdebug
