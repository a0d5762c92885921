#include "live_status.h"

#include <algorithm>

#include "smdebug/base/escape.h"
#include "smdebug/report/run_overview.h"
#include "smdebug/report/verdict_groups.h"
#include "smdebug/report/verdict_text.h"

namespace smdebug {
namespace {

// The statuses of a long training are no longer on the screen when it ends.
constexpr std::size_t kStatusesCounted = 2;

}  // namespace

void LiveOutput::show(RunMonitor& monitor, const std::string& context) {
  if (!progress_.is_due() || !has_news(monitor)) return;
  measure_speed();
  if (monitor.trial()) {
    if (const auto loss = latest_loss(*monitor.trial())) status_.loss = loss;
  }
  const MonitorLag lag = monitor.lag();
  status_.lag_steps = lag.steps;
  status_.lag_seconds = lag.seconds;
  progress_.say(context + status_text(status_, monitor.verdicts()));
  if (!progress_.is_in_place() && ++statuses_ <= kStatusesCounted) ++lines_;
}

bool LiveOutput::has_news(const RunMonitor& monitor) {
  if (progress_.is_in_place()) return true;
  const auto fired = static_cast<std::size_t>(std::ranges::count(
      monitor.verdicts(), RuleStatus::issues_found, &Verdict::status));
  if (status_.step == shown_step_ && fired == shown_fired_) return false;
  shown_step_ = status_.step;
  shown_fired_ = fired;
  return true;
}

// Over at least a second: a terminal shows several statuses in that time.
void LiveOutput::measure_speed() {
  constexpr std::chrono::seconds kShortest(1);
  const auto now = console_.clock.monotonic();
  if (status_.step < 0 || now - measured_at_ < kShortest) return;
  if (measured_step_ >= 0) {
    const std::chrono::duration<double> took = now - measured_at_;
    status_.steps_per_second =
        static_cast<double>(status_.step - measured_step_) / took.count();
  }
  measured_step_ = status_.step;
  measured_at_ = now;
}

void LiveOutput::print(const Verdict& verdict) {
  if (group_of(verdict) == VerdictGroup::failed) return print_failure(verdict);
  if (verdict.status != RuleStatus::issues_found) return;
  const std::string text = detail_ == Detail::verbose
                               ? verdict_text(verdict)
                               : finding_text(verdict, findings_);
  findings_.push_back(verdict);
  if (text.empty()) return;
  progress_.clear();
  console_.err << "smdebug: " << text << std::flush;
  lines_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

void LiveOutput::print_failure(const Verdict& verdict) {
  progress_.clear();
  console_.err << "smdebug: " << rule_failure_text(verdict)
               << "; this rule judges no later step" << std::endl;
  ++lines_;
}

void LiveOutput::note(const std::string& text) {
  if (text.empty() || detail_ == Detail::quiet) return;
  progress_.clear();
  console_.err << "smdebug: " << printable(text) << std::endl;
  ++lines_;
}

}  // namespace smdebug
