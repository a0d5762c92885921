#include "run_location.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "smdebug/base/try.h"
#include "smdebug/read/run_folder.h"
#include "smdebug/store/bounded_storage.h"
#include "smdebug/store/open_storage.h"

#include "find_runs.h"

namespace smdebug {
namespace {

// The limit of calls after the training, for which its user would wait.
constexpr std::chrono::seconds kShortLimit(5);
// Written and removed before a training, to find out whether that is possible.
constexpr std::string_view kProbeKey = "smdebug-probe";

// "20261121-030724", in UTC.
std::string time_stamp(double wall_seconds) {
  using std::chrono::floor;
  const std::chrono::sys_seconds time{
      std::chrono::seconds(static_cast<std::int64_t>(wall_seconds))};
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  char text[32];
  std::snprintf(text, sizeof text, "%04d%02u%02u-%02d%02d%02d",
                static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

Result<bool> holds_run(const std::string& location) {
  SMD_TRY(const auto storage,
          open_bounded_storage(location, WaitLimit::from_environment()));
  SMD_TRY(const auto entries, storage->list(""));
  return !entries.empty();
}

bool is_being_written(const std::string& location, const Clock& clock) {
  const auto storage =
      open_bounded_storage(location, WaitLimit::from_environment());
  if (!storage) return false;
  const auto progress = read_run_progress(**storage);
  return read_run_state(**storage, progress ? *progress : RunProgress(),
                        clock.wall_seconds()) == RunState::running;
}

// The folder that the user chose is not empty, or is held.
Error taken(const std::string& location, bool is_held, const Clock& clock) {
  std::string why = "' already contains files; choose another folder";
  if (is_held) {
    why =
        "' is the folder of another 'smdebug run' that has not ended; choose "
        "another folder";
  } else if (is_run_folder(location)) {
    why = is_being_written(location, clock)
              ? "' is the run of a training that still writes it; choose "
                "another folder"
              : "' already contains a run; remove it with 'smdebug rm', or "
                "choose another folder";
  }
  return {Error::Code::invalid_argument, "--out: '" + location + why};
}

// A prefix of a bucket, in which nothing is yet. No training starts if nothing
// can be written there.
Result<RunLocation> location_in_store(const std::string& location,
                                      const Clock& clock) {
  auto storage = open_bounded_storage(location, WaitLimit::from_environment());
  if (!storage) {
    return Error{Error::Code::invalid_argument,
                 "--out: " + storage.error().message};
  }
  SMD_TRY(const bool is_taken, holds_run(location));
  if (is_taken) return taken(location, false, clock);
  SMD_CHECK_OK(put_object(**storage, kProbeKey, std::string_view()));
  SMD_CHECK_OK((*storage)->remove(kProbeKey));
  return RunLocation{(*storage)->uri(), nullptr};
}

// No training starts if its folder cannot be written.
Status check_out(const std::string& location) {
  const Status checked = check_writable(location);
  if (checked) return {};
  return Error{Error::Code::invalid_argument,
               fmt::format("cannot record to '{}': {}; choose another folder "
                           "with --out",
                           location, checked.error().message)};
}

Status create_folder_now(const std::string& location, bool is_private) {
  std::error_code failure;
  SMD_CHECK_OK(check_out(location));
  std::filesystem::create_directories(location, failure);
  if (!failure && is_private) {
    std::filesystem::permissions(location, std::filesystem::perms::owner_all,
                                 failure);
  }
  if (!failure) return {};
  return Error{Error::Code::io, "cannot create the folder '" + location +
                                    "': " + failure.message() +
                                    "; choose another folder with --out"};
}

// Writers of the run keep it private if its folder is.
Status create_folder(const std::string& location, bool is_private) {
  return call_bounded("create the folder", location,
                      WaitLimit::from_environment(), [location, is_private] {
                        return create_folder_now(location, is_private);
                      });
}

// Returns null if another `smdebug run` holds the folder.
Result<std::shared_ptr<HeldFolder>> hold_folder(const std::string& location) {
  const auto held = std::make_shared<HeldFolder>();
  const auto is_ours = std::make_shared<bool>(false);
  SMD_CHECK_OK(call_bounded("lock the folder", location,
                            WaitLimit::from_environment(),
                            [held, is_ours, location] {
                              *is_ours = held->take(location);
                              return Status();
                            }));
  return *is_ours ? held : nullptr;
}

}  // namespace

Result<std::unique_ptr<Trial>> open_run(const std::string& location,
                                        const Console& console,
                                        std::optional<WaitLimit> limit,
                                        std::optional<Step> first_step) {
  TrialOptions options;
  options.timeout = std::chrono::nanoseconds(0);
  options.end_delay = std::chrono::nanoseconds(0);
  options.clock = &console.clock;
  options.storage_limit = std::move(limit);
  options.first_step = first_step;
  return Trial::open(location, options);
}

std::string script_name(const std::vector<std::string>& trainer) {
  for (const std::string& word : trainer) {
    if (word.ends_with(".py")) {
      return std::filesystem::path(word).stem().string();
    }
  }
  return std::filesystem::path(trainer.front()).stem().string();
}

HeldFolder::~HeldFolder() {
  if (descriptor_ < 0) return;
  // If the storage does not respond, the end of the process closes it.
  (void)call_bounded("unlock the folder", path_, WaitLimit::from_environment(),
                     [descriptor = descriptor_] {
                       ::close(descriptor);
                       return Status();
                     });
}

bool HeldFolder::take(const std::string& path) {
  path_ = path;
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 ||
         errno != EWOULDBLOCK;
}

Result<RunLocation> create_run_location(const RunCommand& command,
                                        const Clock& clock) {
  const bool chosen = !command.out.empty();
  if (is_address(command.out)) return location_in_store(command.out, clock);
  std::error_code failure;
  const auto path = std::filesystem::absolute(
      chosen ? command.out
             : "smdebug-runs/" + script_name(command.trainer) + "-" +
                   time_stamp(clock.wall_seconds()),
      failure);
  if (failure) {
    return Error{Error::Code::io,
                 "cannot find the working directory: " + failure.message()};
  }
  // Appends a number if another run started in the same second.
  std::string location = path.lexically_normal().string();
  for (int i = 2;; ++i) {
    const auto is_taken = holds_run(location);
    if (!is_taken) {
      if (is_taken.error().code != Error::Code::unavailable)
        SMD_CHECK_OK(check_out(location));
      return is_taken.error();
    }
    if (!*is_taken) {
      SMD_CHECK_OK(create_folder(location, command.is_private));
      SMD_TRY(auto held, hold_folder(location));
      if (held) return RunLocation{location, std::move(held)};
    }
    if (chosen) return taken(location, !*is_taken, clock);
    location = path.string() + "-" + std::to_string(i);
  }
}

bool responds(const std::string& location) {
  const auto storage = open_bounded_storage(location, {kShortLimit, nullptr});
  if (!storage) return true;
  const auto found = (*storage)->exists("run.json");
  return found || found.error().code != Error::Code::unavailable;
}

void remove_if_empty(const std::string& location) {
  if (is_address(location)) return;  // a store has no folders
  (void)call_bounded("remove the folder", location, {kShortLimit, nullptr},
                     [location] {
                       std::error_code ignored;
                       std::filesystem::remove(location, ignored);
                       return Status();
                     });
}

std::string parent_of(const std::string& location) {
  return std::filesystem::path(location).parent_path().string();
}

}  // namespace smdebug
