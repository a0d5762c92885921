#pragma once

// The profiles in the two files that all tools of AWS share: the credentials
// file (AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/credentials) and the config file
// (AWS_CONFIG_FILE, or ~/.aws/config). They are read once per `read`; the
// sources of credentials (aws_sources.h) and `aws_region` use them.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "smdebug/base/result.h"

#include "net/ini_file.h"

namespace smdebug {

// A section of one of the files.
struct AwsSection {
  std::string file;  // as in messages: "~/.aws/config"
  IniValues values;

  // Return an empty text for a key that is missing.
  std::string value(std::string_view key) const;
};

// A profile, in both files.
struct AwsProfile {
  std::string name;
  AwsSection credentials, config;

  // Return the value of a key, of the credentials file if both have it. An
  // empty value counts as missing.
  std::string value(std::string_view key) const;
  bool has(std::string_view key) const { return !value(key).empty(); }
  // Returns the place of a key: "profile 'x' in '~/.aws/config'".
  std::string place(std::string_view key) const;
};

class AwsSharedFiles {
 public:
  // A file that is missing counts as empty. So does one in a folder that this
  // user may not enter: the home folder may be that of another user. Fails as
  // `read_text_file` and `parse_ini` do for other files, with the path and the
  // variable that replaces it.
  static Result<AwsSharedFiles> read();

  // Return nothing if it is in neither file. The credentials file has sections
  // "[name]", the config file "[profile name]" and "[default]".
  const AwsProfile* find_profile(std::string_view name) const;
  // A section "[sso-session name]" of the config file.
  const AwsSection* find_sso_session(std::string_view name) const;

  // Returns the selected profile: AWS_DEFAULT_PROFILE, AWS_PROFILE (in this
  // order, like botocore), or "default", which may have no section. Fails with
  // `invalid_config` if a variable names a profile that is in neither file.
  Result<AwsProfile> selected_profile() const;

  // "neither '~/.aws/credentials' nor '~/.aws/config'", for messages.
  std::string neither() const;

  const std::string& config_file() const { return config_file_; }

 private:
  std::string credentials_file_, config_file_;  // as in messages
  std::map<std::string, AwsProfile, std::less<>> profiles_;
  std::map<std::string, AwsSection, std::less<>> sso_sessions_;
};

}  // namespace smdebug
