#include "capture/run_size_limit.h"

#include <utility>

#include <fmt/format.h>

#include "format/file_names.h"

namespace smdebug {

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
  if (!config.max_run_bytes || !storage) return nullptr;
  return std::make_unique<RunSizeLimit>(std::move(storage), std::move(worker),
                                        *config.max_run_bytes,
                                        config.keep_every, logger);
}

void RunSizeLimit::published(Step step, std::uint64_t bytes) {
  if (!std::exchange(knows_older_attempts_, true)) find_older_attempts();
  forget(step);
  add(step, bytes);
  while (bytes_ > max_bytes_) {
    const auto next = oldest();
    if (!next) return;
    if (Status status = remove_files(next->step); !status) {
      if (!std::exchange(has_failed_, true)) {
        logger_.warning(fmt::format(
            "step {} could not be removed, so the run '{}' stays larger than "
            "max_run_bytes = {}: {}",
            next->step, storage_->uri(), max_bytes_, status.error().message));
      }
      return;
    }
    note_removed(next->step);
  }
}

void RunSizeLimit::find_older_attempts() {
  std::map<Step, std::uint64_t> sizes;
  for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
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
      const auto name = parse_step_file_key(file.key);
      if (name && name->worker == worker_) sizes[name->step] += file.bytes;
    }
  }
  for (const auto& [step, bytes] : sizes) add(step, bytes);
}

void RunSizeLimit::add(Step step, std::uint64_t bytes) {
  const std::uint64_t age = next_age_++;
  class_of(step).emplace(age, PublishedStep{step, bytes});
  ages_[step] = age;
  bytes_ += bytes;
}

void RunSizeLimit::forget(Step step) {
  const auto known = ages_.find(step);
  if (known == ages_.end()) return;
  const auto found = class_of(step).find(known->second);
  bytes_ -= found->second.bytes;
  class_of(step).erase(found);
  ages_.erase(known);
}

RunSizeLimit::Steps& RunSizeLimit::class_of(Step step) {
  return keep_every_ > 0 && step % keep_every_ == 0 ? special_ : ordinary_;
}

std::optional<RunSizeLimit::PublishedStep> RunSizeLimit::oldest() const {
  for (const Steps* steps : {&ordinary_, &special_}) {
    if (steps->empty()) continue;
    const auto& [age, step] = *steps->begin();
    if (age + 1 != next_age_) return step;
  }
  return std::nullopt;
}

Status RunSizeLimit::remove_files(Step step) {
  SMD_CHECK_OK(storage_->remove(index_file_key(step, worker_)));
  return storage_->remove(event_file_key(step, worker_));
}

void RunSizeLimit::note_removed(Step step) {
  forget(step);
  if (counts_.removed_steps++ == 0) {
    logger_.info(fmt::format(
        "run '{1}' has reached max_run_bytes = {2}: removed step {0}, and will "
        "remove the oldest steps from now on",
        step, storage_->uri(), max_bytes_));
  }
  counts_.first_kept_step = ages_.begin()->first;
}

}  // namespace smdebug
