// Reads the overview of a run from its files.

#include <algorithm>
#include <set>

#include "smdebug/base/try.h"
#include "smdebug/read/disk_space.h"
#include "smdebug/read/run_folder.h"
#include "smdebug/report/run_overview.h"

namespace smdebug {
namespace {

template <typename T>
using Found = std::optional<T>;

// An invalid or foreign run.json is no failure: `Trial::damage` names it.
void read_attempts(Trial& trial, RunOverview& overview) {
  overview.framework = trial.framework();
  auto all = trial.attempts();
  if (!all) return;
  if (!all->empty() && all->back().number > 0) {
    overview.attempt = std::move(all->back());
    overview.attempts = overview.attempt->number;
    all->pop_back();
  }
  overview.earlier_attempts = *std::move(all);
}

// The worker that writes `run.json` records its error there. If it could not,
// it has left the entry open. It may also still run, after another worker has
// ended the run.
std::string failure_of(Trial& trial, const RunOverview& overview) {
  if (!overview.has_ended) return "";
  // Not even `run.json` could be written.
  if (!overview.attempt) return recorded_error(trial.location());
  const Attempt& attempt = *overview.attempt;
  if (attempt.ended_seconds) {
    return attempt.status == "finished" ? "" : attempt.status;
  }
  if (trial.writer()) return "";
  return "the last files could not be written" +
         disk_space_text(trial.location());
}

void read_modes(Trial& trial, RunOverview& overview) {
  std::vector<Mode> modes = trial.modes();
  if (modes.empty()) modes.push_back(Mode::global);
  for (const Mode mode : modes) {
    const std::vector<Step> steps = trial.steps(mode);
    if (steps.empty()) continue;
    overview.modes.push_back({mode, steps.size(), steps.front(), steps.back()});
  }
}

void read_collections(Trial& trial, RunOverview& overview) {
  for (const Collection& collection : trial.collections()) {
    TensorNameQuery query;
    query.collection = collection.name();
    auto names = trial.tensor_names(query);
    if (!names || names->empty()) continue;
    overview.collections.push_back({collection.name(), *std::move(names)});
  }
}

// The value of a loss at `step`; none if it is not a single number.
Found<double> loss_at(Tensor& tensor, Step step, Mode mode) {
  const auto loss =
      tensor.reduction({step, mode, std::nullopt}, {Reduction::mean, false});
  return loss ? Found<double>(*loss) : std::nullopt;
}

void read_losses(Trial& trial, RunOverview& overview) {
  std::set<std::string> names;
  for (const auto& collection : overview.collections) {
    if (collection.name != "losses") continue;
    names.insert(collection.tensors.begin(), collection.tensors.end());
  }
  for (const std::string& name : names) {
    auto tensor = trial.tensor(name);
    if (!tensor) continue;
    for (const RunOverview::ModeSteps& mode : overview.modes) {
      const std::vector<Step> steps = tensor->steps(mode.mode);
      if (steps.empty()) continue;
      const auto first = loss_at(*tensor, steps.front(), mode.mode);
      const auto last = loss_at(*tensor, steps.back(), mode.mode);
      if (!first || !last) continue;
      overview.losses.push_back({name, mode.mode, steps.size(), *first, *last});
    }
  }
}

}  // namespace

std::string recording_failure(Trial& trial) {
  RunOverview overview;
  overview.has_ended = trial.has_ended();
  read_attempts(trial, overview);
  return failure_of(trial, overview);
}

std::optional<LatestLoss> latest_loss(Trial& trial) {
  TensorNameQuery query;
  query.collection = "losses";
  const auto names = trial.tensor_names(query);
  if (!names) return std::nullopt;
  for (const std::string& name : *names) {
    auto tensor = trial.tensor(name);
    if (!tensor) continue;
    const std::vector<Step> steps = tensor->steps(Mode::global);
    if (steps.empty()) continue;
    const auto id = trial.step_id(steps.back());
    const auto loss = loss_at(*tensor, steps.back(), Mode::global);
    if (id && loss) return LatestLoss{*loss, id->mode};
  }
  return std::nullopt;
}

Result<RunOverview> read_run_overview(Trial& trial) {
  SMD_CHECK_OK(trial.refresh());
  RunOverview overview;
  overview.location = trial.location();
  overview.has_ended = trial.has_ended();
  overview.was_killed = trial.writer_state() == WriterState::exited;
  overview.steps = trial.steps().size();
  overview.workers = trial.workers();
  overview.tensors = trial.tensor_names().size();
  SMD_TRY(overview.bytes, trial.bytes());
  read_attempts(trial, overview);
  overview.recording_failure = failure_of(trial, overview);
  read_modes(trial, overview);
  read_collections(trial, overview);
  read_losses(trial, overview);
  overview.dropped_tensors = trial.dropped_tensors();
  overview.damage = trial.damage();
  return overview;
}

}  // namespace smdebug
