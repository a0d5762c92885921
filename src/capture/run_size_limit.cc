#include "capture/run_size_limit.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "format/file_names.h"

namespace smdebug {
namespace {

// The other files of a run are small and grow slowly.
constexpr std::uint64_t kMeasureInterval = 64;

// Each rule leaves one mark per worker. Far more would be no marks of smdebug,
// and would cost the write thread time.
constexpr std::size_t kMostMarks = 1000;

// Everything that smdebug writes beside the steps of a run. The user may keep
// other files in the folder.
constexpr std::string_view kOtherPrefixes[] = {
    kCollectionsPrefix, kFactsPrefix, kSeriesPrefix, kStatisticsPrefix,
    kAttemptsPrefix,    kRunFileKey,  kProgressKey,  kClaimKey,
    kRefusedKey,        "claims/",    "rules/",      "rule-output/"};

// "attempts/1/" of a key below it; empty for others.
std::string_view attempt_folder_of(std::string_view key) {
  if (!key.starts_with(kAttemptsPrefix)) return {};
  const std::size_t slash = key.find('/', kAttemptsPrefix.size());
  return slash == key.npos ? std::string_view() : key.substr(0, slash + 1);
}

}  // namespace

RunSizeLimit::RunSizeLimit(std::shared_ptr<Storage> storage, std::string worker,
                           std::uint64_t max_bytes, Step keep_every,
                           Logger& logger)
    : storage_(std::move(storage)),
      worker_(std::move(worker)),
      max_bytes_(max_bytes),
      keep_every_(keep_every),
      logger_(logger) {}

std::unique_ptr<RunSizeLimit> RunSizeLimit::make(
    const HookConfig& config, std::shared_ptr<Storage> storage,
    std::string worker, Logger& logger) {
  if (!config.max_run_bytes && config.keep_every > 0) {
    logger.warning(fmt::format(
        "keep_every is {}, which has no effect without max_run_bytes: no step "
        "is removed",
        config.keep_every));
  }
  if (!config.max_run_bytes || !storage) return nullptr;
  return std::make_unique<RunSizeLimit>(std::move(storage), std::move(worker),
                                        *config.max_run_bytes,
                                        config.keep_every, logger);
}

void RunSizeLimit::published(Step step, std::uint64_t bytes,
                             std::uint64_t tensorboard_bytes) {
  if (!std::exchange(knows_older_attempts_, true)) find_older_attempts();
  if (published_++ % kMeasureInterval == 0) measure_other_files();
  forget({"", step});
  add({"", step}, bytes);
  const auto is_too_large = [&] {
    return bytes_ + other_bytes_ + tensorboard_bytes > max_bytes_;
  };
  if (is_too_large()) keep_marked_steps();
  while (is_too_large()) {
    const auto next = next_to_remove();
    if (!next) return;
    if (Status status = remove_files(*next); !status) {
      if (!std::exchange(has_failed_, true)) {
        logger_.warning(fmt::format(
            "step {} could not be removed, so the run '{}' stays larger than "
            "max_run_bytes = {}: {}",
            next->step, storage_->uri(), max_bytes_, status.error().message));
      }
      return;
    }
    note_removed(*next);
  }
}

void RunSizeLimit::keep(Step step) {
  fired_.insert(step);
  const auto found = positions_.lower_bound({"", step});
  if (found != positions_.begin()) {
    if (const auto before = std::prev(found); before->first.folder.empty())
      neighbors_.insert(before->first.step);
  }
  auto after = positions_.upper_bound({"", step});
  if (after != positions_.end() && after->first.folder.empty())
    neighbors_.insert(after->first.step);
  for (const std::set<Step>* kept : {&fired_, &neighbors_})
    for (const Step each : *kept) move_to_kept(each);
}

// Marks that cannot be listed only change which steps are removed first.
void RunSizeLimit::keep_marked_steps() {
  const auto marks = storage_->list(kFiredPrefix);
  if (!marks) return;
  for (std::size_t i = 0; i < std::min(marks->size(), kMostMarks); ++i) {
    const auto step = parse_fired_file_key((*marks)[i].key);
    if (step && !fired_.contains(*step)) keep(*step);
  }
}

void RunSizeLimit::move_to_kept(Step step) {
  const auto known = positions_.find({"", step});
  if (known == positions_.end() || known->second.rank == Rank::kept) return;
  auto moved = steps(known->second.rank).extract(known->second.age);
  steps(Rank::kept).insert(std::move(moved));
  known->second.rank = Rank::kept;
}

// Steps of `attempts/` are older than those of the folder itself.
void RunSizeLimit::find_older_attempts() {
  std::map<Place, std::uint64_t> aside, own;
  for (const std::string_view prefix :
       {kAttemptsPrefix, kIndexPrefix, kEventsPrefix}) {
    const auto files = storage_->list(prefix);
    if (!files) {
      has_failed_ = true;
      logger_.warning(fmt::format(
          "files of earlier attempts in the run '{}' do not count for "
          "max_run_bytes: {}",
          storage_->uri(), files.error().message));
      return;
    }
    for (const ObjectEntry& file : *files) {
      const std::string folder(attempt_folder_of(file.key));
      const auto name =
          parse_step_file_key(std::string_view(file.key).substr(folder.size()));
      if (!name || name->worker != worker_) continue;
      (folder.empty() ? own : aside)[{folder, name->step}] += file.bytes;
    }
  }
  for (const auto& [place, bytes] : aside) add(place, bytes);
  for (const auto& [place, bytes] : own) add(place, bytes);
}

// Files that other code writes beside the steps. TensorBoard's are counted by
// their writer.
void RunSizeLimit::measure_other_files() {
  std::uint64_t bytes = 0;
  for (const std::string_view prefix : kOtherPrefixes) {
    const auto files = storage_->list(prefix);
    if (!files) continue;
    for (const ObjectEntry& file : *files) {
      const std::size_t folder = attempt_folder_of(file.key).size();
      if (!parse_step_file_key(std::string_view(file.key).substr(folder)))
        bytes += file.bytes;
    }
  }
  other_bytes_ = bytes;
}

void RunSizeLimit::add(const Place& place, std::uint64_t bytes) {
  if (place.folder.empty()) {
    const auto after = positions_.lower_bound(place);
    const bool has_before =
        after != positions_.begin() && std::prev(after)->first.folder.empty();
    if (has_before) {
      const auto fired = fired_.lower_bound(std::prev(after)->first.step);
      if (fired != fired_.end() && *fired < place.step)
        neighbors_.insert(place.step);
    }
    if (has_before && fired_.contains(place.step)) {
      neighbors_.insert(std::prev(after)->first.step);
      move_to_kept(std::prev(after)->first.step);
    }
  }
  const Position position = {rank_of(place), next_age_++};
  steps(position.rank).emplace(position.age, PublishedStep{place, bytes});
  positions_[place] = position;
  bytes_ += bytes;
}

void RunSizeLimit::forget(const Place& place) {
  const auto known = positions_.find(place);
  if (known == positions_.end()) return;
  Steps& of_rank = steps(known->second.rank);
  const auto found = of_rank.find(known->second.age);
  bytes_ -= found->second.bytes;
  of_rank.erase(found);
  positions_.erase(known);
}

RunSizeLimit::Rank RunSizeLimit::rank_of(const Place& place) const {
  const bool is_own = place.folder.empty();
  if (is_own &&
      (fired_.contains(place.step) || neighbors_.contains(place.step))) {
    return Rank::kept;
  }
  return keep_every_ > 0 && place.step % keep_every_ == 0 ? Rank::special
                                                          : Rank::ordinary;
}

std::optional<RunSizeLimit::Place> RunSizeLimit::next_to_remove() const {
  for (const Steps& of_rank : steps_) {
    if (of_rank.empty()) continue;
    const auto& [age, step] = *of_rank.begin();
    if (age + 1 != next_age_) return step.place;
  }
  return std::nullopt;
}

Status RunSizeLimit::remove_files(const Place& place) {
  SMD_CHECK_OK(
      storage_->remove(place.folder + index_file_key(place.step, worker_)));
  return storage_->remove(place.folder + event_file_key(place.step, worker_));
}

void RunSizeLimit::note_removed(const Place& place) {
  forget(place);
  if (counts_.removed_steps++ == 0) {
    logger_.info(fmt::format(
        "run '{1}' has reached max_run_bytes = {2}: removed step {0}, and will "
        "remove the oldest steps from now on",
        place.step, storage_->uri(), max_bytes_));
  }
  const auto first = positions_.lower_bound({"", 0});
  if (first != positions_.end() && first->first.folder.empty())
    counts_.first_kept_step = first->first.step;
}

}  // namespace smdebug
