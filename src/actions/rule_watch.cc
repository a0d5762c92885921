#include "smdebug/actions/rule_watch.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "smdebug/actions/perform_once.h"

#include "actions/rule_files.h"
#include "base/background_tasks.h"
#include "base/environment.h"
#include "core/worker_name.h"

namespace smdebug {

class __attribute__((visibility("hidden"))) RuleWatch::Impl {
 public:
  explicit Impl(RuleWatchOptions options)
      : options_(std::move(options)),
        clock_(options_.clock ? *options_.clock : system_clock()),
        files_(options_.storage, options_.attempt, clock_) {
    std::map<std::string, std::size_t> seen;
    for (const std::string& name : options_.rules) {
      Entry entry;
      entry.key = rule_key(name, seen[name]++);
      if (!options_.worker.empty()) {
        entry.key += "_" + encode_worker(options_.worker);
      }
      entry.verdict.rule = name;
      entry.verdict.message = "no step judged yet";
      claim(entry);
      entries_.push_back(std::move(entry));
    }
    say_foreign();
    for (Entry& entry : entries_) announce(entry);
    next_write_ = clock_.monotonic() + options_.interval;
  }

  void update(std::span<const Verdict> verdicts,
              const WatchProgress& progress) {
    progress_ = progress;
    const std::size_t n = std::min(verdicts.size(), entries_.size());
    for (std::size_t i = 0; i < n; ++i) take(entries_[i], verdicts[i]);
    if (clock_.monotonic() >= next_write_) write_all();
  }

  void say_stopping() {
    for (Entry& entry : entries_) {
      if (entry.verdict.status != RuleStatus::in_progress) continue;
      entry.verdict.status = RuleStatus::stopping;
      announce(entry);
    }
  }

  void forget_run() { does_run_exist_ = false; }

  void finish() {
    if (std::exchange(is_finished_, true)) return;
    background_.wait();
    write_all();
    for (const Entry& entry : entries_) {
      if (entry.is_ours && does_run_exist_) report(files_.release(entry.key));
    }
  }

  std::vector<ActionResult> results() const {
    const std::lock_guard lock(mutex_);
    return results_;
  }

 private:
  struct Entry {
    std::string key;
    Verdict verdict;
    bool is_ours = true;  // false: another process watches this rule
    std::vector<std::size_t> results;  // positions in `results_`
  };

  void claim(Entry& entry) {
    const auto owner = files_.claim(entry.key);
    if (!owner) {
      report(owner.error());
    } else if (*owner) {
      entry.is_ours = false;
      foreign_[(*owner)->text()].push_back(entry.key);
    }
  }

  // Names the rules that other processes watch, in a line for each process.
  void say_foreign() const {
    for (const auto& [owner, keys] : foreign_) {
      options_.say(fmt::format(
          "run '{}' is already watched by {}, with {}: this process also "
          "evaluates {} but will not write the status or repeat the actions; "
          "remove '{}' if that process has exited",
          options_.storage->uri(), owner, fmt::join(keys, ", "),
          keys.size() == 1 ? "this rule" : "these rules",
          watcher_key(keys.size() == 1 ? keys.front() : "<rule>")));
    }
  }

  // Reports only the first failure: a full disk fails every time.
  void report(const Status& status) {
    if (status || std::exchange(has_reported_failure_, true)) return;
    options_.say("cannot write the status of the rules beside run '" +
                 options_.storage->uri() + "': " + status.error().message);
  }

  void take(Entry& entry, const Verdict& verdict) {
    // Final statuses do not change, and `Stopping` only becomes final.
    const bool has_changed = verdict.status != entry.verdict.status &&
                             !(entry.verdict.status == RuleStatus::stopping &&
                               verdict.status == RuleStatus::in_progress);
    const RuleStatus before = entry.verdict.status;
    entry.verdict = verdict;
    if (!has_changed) {
      entry.verdict.status = before;
      return;
    }
    if (verdict.status == RuleStatus::issues_found) {
      begin_all(entry);
      mark_step(entry);
    }
    announce(entry);
  }

  // The training may be another process, which cannot know what fired.
  void mark_step(const Entry& entry) {
    if (!entry.is_ours || !does_run_exist_ || entry.verdict.step.global < 0)
      return;
    report(files_.write_fired(entry.key, entry.verdict));
  }

  void begin_all(Entry& entry) {
    const bool stops_anyway =
        std::ranges::any_of(options_.actions, [](const auto& action) {
          return action->request().kind == ActionKind::stop;
        });
    if (entry.verdict.stop_training && options_.stop_on_request &&
        !stops_anyway) {
      begin(entry, options_.stop_on_request);
    }
    for (const auto& action : options_.actions) {
      if (options_.limits.allow(action->request(), entry.verdict)) {
        begin(entry, action);
      }
    }
  }

  void begin(Entry& entry, const std::shared_ptr<Action>& action) {
    const Alert alert = {options_.storage->uri(), clock_.wall_seconds(),
                         entry.verdict};
    const RecordPlace place = {
        does_run_exist_ ? options_.storage.get() : nullptr, entry.key,
        options_.attempt, &clock_};
    std::size_t position = 0;
    {
      const std::lock_guard lock(mutex_);
      position = results_.size();
      entry.results.push_back(position);
      results_.push_back({alert.verdict.rule,
                          std::string(action_kind_name(action->request().kind)),
                          shown_target(action->request()), ActionStatus::begun,
                          ""});
    }
    const auto perform = [this, alert, place, action, position] {
      ActionResult result = perform_once(*action, alert, place);
      const std::lock_guard lock(mutex_);
      results_[position] = std::move(result);
    };
    // The parent of the training stops it on its own thread: this one.
    if (action->request().kind == ActionKind::stop) {
      perform();
    } else {
      background_.start(perform);
    }
  }

  void announce(const Entry& entry) {
    write(entry);
    if (!entry.is_ours || !does_run_exist_) return;
    report(files_.write_event(entry.key, entry.verdict, progress_));
  }

  void write(const Entry& entry) {
    if (!entry.is_ours || !does_run_exist_) return;
    std::vector<ActionResult> own;
    {
      const std::lock_guard lock(mutex_);
      for (const std::size_t i : entry.results) own.push_back(results_[i]);
    }
    report(files_.write_status(entry.key, entry.verdict, progress_, own));
  }

  void write_all() {
    for (const Entry& entry : entries_) write(entry);
    next_write_ = clock_.monotonic() + options_.interval;
  }

  const RuleWatchOptions options_;
  const Clock& clock_;
  const RuleFiles files_;
  std::vector<Entry> entries_;
  // The keys that another process watches, by the text of that process.
  std::map<std::string, std::vector<std::string>> foreign_;
  WatchProgress progress_;
  std::chrono::nanoseconds next_write_{0};
  bool does_run_exist_ = true;
  bool is_finished_ = false;
  bool has_reported_failure_ = false;
  mutable std::mutex mutex_;           // protects results_
  std::vector<ActionResult> results_;  // one per action that was begun
  BackgroundTasks background_;  // last: ends before the rest is destroyed
};

bool is_told_to_stop() {
  const auto path = environment_variable("SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE");
  std::error_code ignored;
  return path && !path->empty() && std::filesystem::exists(*path, ignored);
}

RuleWatch::RuleWatch(RuleWatchOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

RuleWatch::~RuleWatch() { finish(); }

void RuleWatch::update(std::span<const Verdict> verdicts,
                       const WatchProgress& progress) {
  impl_->update(verdicts, progress);
}

void RuleWatch::say_stopping() { impl_->say_stopping(); }
void RuleWatch::forget_run() { impl_->forget_run(); }
void RuleWatch::finish() { impl_->finish(); }

std::vector<ActionResult> RuleWatch::results() const {
  return impl_->results();
}

}  // namespace smdebug
