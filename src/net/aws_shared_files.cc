#include "net/aws_shared_files.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "base/environment.h"
#include "base/shell_words.h"
#include "base/text_file.h"

namespace smdebug {
namespace {

std::string with_home(const std::string& path) {
  const bool is_at_home = path == "~" || path.starts_with("~/");
  return is_at_home ? home_folder() + path.substr(1) : path;
}

Result<std::vector<IniSection>> read_sections(const std::string& file,
                                              const char* variable) {
  const std::string path = with_home(file);
  auto text = read_text_file(path);
  if (!text && (text.error().code == Error::Code::not_found ||
                (text.error().code == Error::Code::io && !is_file(path)))) {
    return std::vector<IniSection>();
  }
  if (!text) {
    Error error = std::move(text).error();
    error.message += fmt::format("; {} names another file", variable);
    return error;
  }
  auto sections = parse_ini(*text);
  if (!sections) {
    return std::move(sections).error().within("'" + printable(file) + "'");
  }
  return sections;
}

// Returns the second word of "profile x", which may be quoted.
std::optional<std::string> second_word(const std::string& section,
                                       std::string_view first) {
  const auto words = find_shell_words(section);
  if (!words || words->size() != 2 || words->front() != first) return {};
  return words->back();
}

}  // namespace

std::string AwsSection::value(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? "" : found->second;
}

std::string AwsProfile::value(std::string_view key) const {
  std::string value = credentials.value(key);
  return value.empty() ? config.value(key) : value;
}

std::string AwsProfile::place(std::string_view key) const {
  const bool is_in_credentials = !credentials.value(key).empty();
  return fmt::format(
      "profile '{}' in '{}'", printable(name),
      printable(is_in_credentials ? credentials.file : config.file));
}

Result<AwsSharedFiles> AwsSharedFiles::read() {
  constexpr const char* kCredentials = "AWS_SHARED_CREDENTIALS_FILE";
  constexpr const char* kConfig = "AWS_CONFIG_FILE";
  AwsSharedFiles files;
  files.credentials_file_ = environment_text(kCredentials);
  files.config_file_ = environment_text(kConfig);
  if (files.credentials_file_.empty()) {
    files.credentials_file_ = "~/.aws/credentials";
  }
  if (files.config_file_.empty()) files.config_file_ = "~/.aws/config";

  SMD_TRY(auto config, read_sections(files.config_file_, kConfig));
  for (auto& [name, values] : config) {
    AwsSection section = {files.config_file_, std::move(values)};
    if (const auto session = second_word(name, "sso-session")) {
      files.sso_sessions_[*session] = std::move(section);
    } else if (name == "default") {
      files.profiles_[name].config = std::move(section);
    } else if (const auto profile = second_word(name, "profile")) {
      files.profiles_[*profile].config = std::move(section);
    }
  }
  SMD_TRY(auto credentials,
          read_sections(files.credentials_file_, kCredentials));
  for (auto& [name, values] : credentials) {
    files.profiles_[name].credentials = {files.credentials_file_,
                                         std::move(values)};
  }
  for (auto& [name, profile] : files.profiles_) {
    profile.name = name;
    profile.config.file = files.config_file_;
    profile.credentials.file = files.credentials_file_;
  }
  return files;
}

const AwsProfile* AwsSharedFiles::find_profile(std::string_view name) const {
  const auto found = profiles_.find(name);
  return found == profiles_.end() ? nullptr : &found->second;
}

const AwsSection* AwsSharedFiles::find_sso_session(
    std::string_view name) const {
  const auto found = sso_sessions_.find(name);
  return found == sso_sessions_.end() ? nullptr : &found->second;
}

Result<AwsProfile> AwsSharedFiles::selected_profile() const {
  for (const char* const variable : {"AWS_DEFAULT_PROFILE", "AWS_PROFILE"}) {
    const std::string name = environment_text(variable);
    if (name.empty()) continue;
    if (const AwsProfile* const found = find_profile(name)) return *found;
    return Error{Error::Code::invalid_config,
                 fmt::format("{} names the profile '{}', which is in {}",
                             variable, printable(name), neither())};
  }
  const AwsProfile* const found = find_profile("default");
  if (found) return *found;
  return AwsProfile{"default", {credentials_file_, {}}, {config_file_, {}}};
}

std::string AwsSharedFiles::neither() const {
  return fmt::format("neither '{}' nor '{}'", printable(credentials_file_),
                     printable(config_file_));
}

}  // namespace smdebug
