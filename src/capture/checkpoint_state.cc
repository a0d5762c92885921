#include "capture/checkpoint_state.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "smdebug/store/open_storage.h"

#include "base/bounded_call.h"
#include "base/environment.h"
#include "base/json.h"
#include "base/text_file.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;

// The variable and the path that SageMaker uses.
constexpr const char* kVariable = "CHECKPOINT_CONFIG_FILE_PATH";
constexpr std::string_view kDefaultConfig =
    "/opt/ml/input/config/checkpointconfig.json";

constexpr std::string_view kStateKey = "metadata.json";
// The platform's marker beside files that it has uploaded.
constexpr std::string_view kUploadMark = "sagemaker-uploaded";

// A step has 12 digits in file names.
constexpr Step kLastStep = 999'999'999'999;

bool is_checkpoint(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  // A name that begins like the state file is its temporary file.
  return !name.starts_with(kStateKey) && path.find(kUploadMark) == path.npos;
}

std::string config_path() {
  return environment_variable(kVariable).value_or(std::string(kDefaultConfig));
}

std::optional<Step> find_step(const Json& state, std::string_view key) {
  const Json* value = state.find(key);
  const auto step = value == nullptr ? std::nullopt : value->as_int();
  if (!step || *step < -1 || *step > kLastStep) return std::nullopt;
  return step;
}

// Returns none if the entry has no step. Other fields that are missing keep
// their defaults; a mode that is not listed had no step.
std::optional<RecordedSteps> parse_state(const Json& state) {
  const auto seen = find_step(state, "latest-global-step-seen");
  if (!seen) return std::nullopt;
  RecordedSteps recorded;
  recorded.training_run = find_step(state, "training-run").value_or(0);
  recorded.last_saved = find_step(state, "latest-global-step-saved");
  recorded.counts.global = *seen;
  if (const Json* modes = state.find("latest-mode-step")) {
    for (const Mode mode : kModes) {
      recorded.counts.of_mode[mode_index(mode)] =
          find_step(*modes, mode_name(mode)).value_or(-1);
    }
  }
  recorded.counts.of_mode[mode_index(Mode::global)] = *seen;
  return recorded;
}

Json to_json(const RecordedSteps& recorded) {
  Json modes = Json::Object();
  for (const Mode mode : kModes) {
    const Step step = mode == Mode::global
                          ? recorded.counts.global
                          : recorded.counts.of_mode[mode_index(mode)];
    if (step >= 0) modes[mode_name(mode)] = step;
  }
  return Json::Object{{"training-run", recorded.training_run},
                      {"latest-global-step-saved", Json(recorded.last_saved)},
                      {"latest-global-step-seen", recorded.counts.global},
                      {"latest-mode-step", std::move(modes)}};
}

}  // namespace

// The checkpoint folder. Its calls may block.
class CheckpointState::Folder {
 public:
  static std::shared_ptr<Folder> open(
      const std::shared_ptr<DetachableLogger>& logger);

  Folder(std::string folder, std::shared_ptr<Storage> storage,
         std::shared_ptr<DetachableLogger> logger);

  const std::string& path() const { return folder_; }
  const std::optional<RecordedSteps>& recorded() const { return recorded_; }
  void record_if_changed(const StepCounts& counts,
                         std::optional<Step> last_saved);

 private:
  struct File {
    std::string path;  // relative to the folder
    std::uint64_t bytes = 0;
    friend auto operator<=>(const File&, const File&) = default;
  };

  void load();
  void read_entry(const Json& state);
  std::vector<File> list_files();
  void warn_once(const std::string& what);

  const std::string folder_;
  const std::shared_ptr<Storage> storage_;
  const std::shared_ptr<DetachableLogger> logger_;
  bool has_warned_ = false;
  std::vector<File> files_;
  Json states_ = Json::Array();
  std::optional<RecordedSteps> recorded_;
};

std::shared_ptr<CheckpointState::Folder> CheckpointState::Folder::open(
    const std::shared_ptr<DetachableLogger>& logger) {
  const std::string path = config_path();
  const auto ignore = [&](std::string_view why) {
    logger->warning(fmt::format(
        "step numbers are not kept with checkpoints: checkpoint configuration "
        "'{}': {}",
        path, why));
    return nullptr;
  };
  const auto text = read_text_file(path);
  if (!text && text.error().code == Error::Code::not_found) return nullptr;
  if (!text) return ignore(text.error().message);
  const auto config = Json::parse(*text);
  if (!config) return ignore(config.error().message);
  const Json* local_path = config->find("LocalPath");
  if (local_path == nullptr || local_path->is_null()) return nullptr;
  if (local_path->as_string() == nullptr) {
    return ignore(fmt::format("'LocalPath' should be a string but is {}",
                              local_path->type_name()));
  }
  auto storage = open_storage(*local_path->as_string());
  if (!storage) return ignore(storage.error().message);
  std::error_code error;
  const fs::path folder = fs::absolute((*storage)->uri(), error);
  if (error) return ignore(error.message());
  return std::make_shared<Folder>(folder.string(), *std::move(storage), logger);
}

CheckpointState::Folder::Folder(std::string folder,
                                std::shared_ptr<Storage> storage,
                                std::shared_ptr<DetachableLogger> logger)
    : folder_(std::move(folder)),
      storage_(std::move(storage)),
      logger_(std::move(logger)) {
  load();
  files_ = list_files();
}

void CheckpointState::Folder::load() {
  const auto bytes = get_object(*storage_, kStateKey);
  if (!bytes) {
    if (bytes.error().code != Error::Code::not_found)
      warn_once(bytes.error().message);
    return;
  }
  auto states = Json::parse(bytes->text());
  if (!states || states->as_array() == nullptr) {
    warn_once(fmt::format(
        "'{}' holds no list of states ({}) and will be replaced", kStateKey,
        states ? states->type_name() : states.error().message));
    return;
  }
  states_ = *std::move(states);
  for (const Json& state : *states_.as_array()) read_entry(state);
  if (!recorded_) return;
  ++recorded_->training_run;
  logger_->info(
      fmt::format("continuing after step {}, recorded by '{}' in '{}'",
                  recorded_->counts.global, kStateKey, folder_));
}

void CheckpointState::Folder::read_entry(const Json& state) {
  auto recorded = parse_state(state);
  if (!recorded) {
    warn_once(
        fmt::format("'{}' has an entry without a valid "
                    "'latest-global-step-seen'",
                    kStateKey));
  } else if (!recorded_ ||
             recorded->counts.global >= recorded_->counts.global) {
    recorded_ = recorded;
  }
}

void CheckpointState::Folder::record_if_changed(
    const StepCounts& counts, std::optional<Step> last_saved) {
  std::vector<File> files = list_files();
  if (files == files_) return;
  files_ = std::move(files);
  states_.append(
      to_json({recorded_ ? recorded_->training_run : 0, last_saved, counts}));
  if (Status status =
          put_object(*storage_, kStateKey, states_.dump(JsonStyle::spaced));
      !status) {
    warn_once(status.error().message);
  }
}

// Files may appear and disappear meanwhile, so those that cannot be read are
// ignored.
std::vector<CheckpointState::Folder::File>
CheckpointState::Folder::list_files() {
  std::vector<File> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(
      folder_, fs::directory_options::skip_permission_denied, error);
  const fs::recursive_directory_iterator end;
  std::size_t visited = 0;
  for (; !error && entry != end; entry.increment(error)) {
    if (++visited > kMaxFiles) {
      warn_once(fmt::format("only the first {} files are checked", kMaxFiles));
      break;
    }
    std::error_code removed;
    if (!entry->is_regular_file(removed)) continue;
    const std::uint64_t bytes = entry->file_size(removed);
    std::string path = entry->path().native().substr(folder_.size());
    if (!removed && is_checkpoint(path))
      files.push_back({std::move(path), bytes});
  }
  std::ranges::sort(files);
  return files;
}

void CheckpointState::Folder::warn_once(const std::string& what) {
  if (std::exchange(has_warned_, true)) return;
  logger_->warning(fmt::format("checkpoint folder '{}': {}", folder_, what));
}

// --- the limit ---

std::unique_ptr<CheckpointState> CheckpointState::open(Logger& logger,
                                                       const WaitLimit& limit) {
  auto detachable = std::make_shared<DetachableLogger>(logger);
  std::unique_ptr<CheckpointState> state(
      new CheckpointState(detachable, limit));
  const auto opened = std::make_shared<std::shared_ptr<Folder>>();
  if (!state->call(
          [detachable, opened] { *opened = Folder::open(detachable); }))
    return nullptr;
  if (!*opened) return nullptr;
  state->folder_ = *opened;
  state->recorded_ = state->folder_->recorded();
  return state;
}

CheckpointState::~CheckpointState() { logger_->detach(); }

void CheckpointState::record_if_changed(const StepCounts& counts,
                                        std::optional<Step> last_saved) {
  if (is_stuck_) return;
  call([folder = folder_, counts, last_saved] {
    folder->record_if_changed(counts, last_saved);
  });
}

bool CheckpointState::call(std::function<void()> work) {
  is_stuck_ = run_within(limit_, std::move(work)) != WaitEnd::done;
  if (is_stuck_) {
    const std::string place =
        folder_ ? fmt::format("the checkpoint folder '{}'", folder_->path())
                : fmt::format("'{}' or the checkpoint folder that it names",
                              config_path());
    logger_->warning(fmt::format(
        "step numbers are not kept with checkpoints: {} has not responded for "
        "{:g} s",
        place, std::chrono::duration<double>(limit_.at_most).count()));
  }
  return !is_stuck_;
}

}  // namespace smdebug
