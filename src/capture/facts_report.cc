#include "capture/facts_report.h"

#include <utility>

#include "format/facts_file.h"
#include "format/file_names.h"

namespace smdebug {

FactsReport::FactsReport(SessionContext& context, RunLifecycle& run,
                         CaptureSink& sink)
    : context_(context), run_(run), sink_(sink) {}

void FactsReport::set(RunFacts facts) {
  if (facts_) {
    facts.step = facts_->step;
    if (facts == *facts_) return;
  }
  facts_ = std::move(facts);
  is_waiting_ = true;
  if (run_.is_started()) publish();
}

void FactsReport::show() {
  if (facts_ && !is_waiting_) sink_.show_facts(context_.worker.name, *facts_);
}

void FactsReport::publish() {
  if (run_.recorder() == nullptr || !run_.is_recording()) return;
  is_waiting_ = false;
  facts_->step = context_.steps.current().global;
  run_.recorder()->owner_lane->write(
      {facts_file_key(facts_->step, context_.worker.name),
       write_facts_file(*facts_)});
  show();
}

}  // namespace smdebug
