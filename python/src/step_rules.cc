// Rules that judge the running steps of a session, before the optimizer acts:
// smdebug/rules/live_rules.py.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "smdebug/actions/status_writer.h"
#include "smdebug/base/logger.h"
#include "smdebug/capture/session.h"
#include "smdebug/reduce/reductions.h"
#include "smdebug/report/verdict_page.h"
#include "smdebug/rules/capture_request.h"
#include "smdebug/rules/runner.h"
#include "smdebug/store/open_storage.h"

#include "bindings.h"
#include "python_rule.h"
#include "result_caster.h"
#include "tensor_input.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

// What stands between a session and its rules: it shows them each step, and
// keeps their status beside the run once the run is there.
class StepRules : private ObservationSink {
 public:
  explicit StepRules(std::vector<std::unique_ptr<Rule>> rules)
      : request_(capture_request(rules, "").json()), runner_(std::move(rules)) {
    runner_.set_on_finding([this](const Verdict& found) {
      found_.push_back(verdict_json(found));
    });
  }
  StepRules(const StepRules&) = delete;
  StepRules& operator=(const StepRules&) = delete;

  const std::string& request() const { return request_; }

  void judge(Session& session) {
    session_ = &session;
    session.set_sink(this);
  }

  std::vector<std::string> take_findings() { return std::exchange(found_, {}); }

  void finish(Session& session) {
    session.set_sink(nullptr);
    runner_.on_run_end(0);
    if (!status_) return;
    progress_.training_status = "Completed";
    status_->finish(runner_.verdicts(), progress_);
  }

  std::vector<std::string> verdicts() const {
    return verdicts_json(runner_.verdicts());
  }

  std::string text() const { return verdicts_text(runner_.verdicts()); }

 private:
  void on_collections(std::size_t run,
                      std::span<const TensorGroup> groups) override {
    runner_.on_collections(run, groups);
  }
  Interest interest(std::size_t run, std::string_view tensor_name) override {
    return runner_.interest(run, tensor_name);
  }
  void on_step(const StepView& step) override {
    runner_.on_step(step);
    progress_.steps_fed += step.phase == StepPhase::complete;
    progress_.last_fed = progress_.last_known = step.step.global;
    if (!std::exchange(has_begun_, true)) begin_status();
    if (status_) status_->update(runner_.verdicts(), progress_);
  }
  void on_tick(double wall_seconds) override { runner_.on_tick(wall_seconds); }
  void on_run_end(std::size_t run) override { runner_.on_run_end(run); }

  // A session that writes nothing has no run to keep a status beside.
  void begin_status() {
    const HookConfig& config = session_->config();
    if (config.dry_run ||
        session_->status().state != SessionStatus::State::active) {
      return;
    }
    auto storage = open_storage(config.out_dir);
    if (!storage) return;
    RuleWatchOptions options;
    options.storage = *std::move(storage);
    for (const Verdict& verdict : runner_.verdicts()) {
      options.rules.push_back(verdict.rule);
    }
    if (!session_->is_first_worker()) options.worker = session_->worker();
    options.say = [](const std::string& text) {
      default_logger().warning(text);
    };
    status_ = std::make_unique<StatusWriter>(std::move(options));
  }

  std::string request_;
  RuleRunner runner_;
  Session* session_ = nullptr;
  bool has_begun_ = false;
  WatchProgress progress_;
  std::unique_ptr<StatusWriter> status_;  // null: none is kept
  std::vector<std::string> found_;
};

Result<std::unique_ptr<StepRules>> make_step_rules(const nb::list& rules) {
  SMD_TRY(auto made, make_rules(rules));
  return std::make_unique<StepRules>(std::move(made));
}

}  // namespace

Result<double> reduction_of(nb::handle tensor, const std::string& op) {
  const auto parsed = find_reduction_op(op);
  if (!parsed) {
    return Error{Error::Code::invalid_argument, "no reduction '" + op + "'"};
  }
  LentTensor lent;
  SMD_CHECK_OK(lent.borrow(tensor));
  const auto value = reduce_tensor(lent.view(), statistics_of_view(lent.view()),
                                   *parsed, Deviation::population);
  if (value) return *value;
  return Error{Error::Code::not_found, "the tensor holds no number"};
}

void bind_step_rules(nb::module_& m) {
  m.def("reduction", &reduction_of, "tensor"_a, "op"_a,
        "A reduction of the elements, in float64.");
  nb::class_<StepRules>(m, "StepRules",
                        "Rules over the steps of a session while they run.")
      .def_static("create", &make_step_rules, "rules"_a)
      .def_prop_ro("request", &StepRules::request,
                   "JSON: the collections that must be saved for the rules.")
      .def("judge", &StepRules::judge, "session"_a, nb::keep_alive<2, 1>(),
           "From now on the rules are shown the steps of this session.")
      .def("take_findings", &StepRules::take_findings,
           "What was found since the last call: one JSON object each time that "
           "a rule fired.")
      .def("finish", &StepRules::finish, "session"_a,
           "Says that no step will follow.")
      .def("verdicts", &StepRules::verdicts, "One JSON object per rule.")
      .def("text", &StepRules::text, "One line per rule.");
}

}  // namespace smdebug
