#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "base/child_program.h"
#include "base/shell_words.h"
#include "base/strings.h"
#include "net/aws_sources.h"

namespace smdebug {
namespace {

constexpr std::string_view kProgramKey = "credential_process";
constexpr std::size_t kErrorsShown = 300;

// Standard output is secret, so messages have only standard error.
std::string errors_text(std::string_view errors) {
  std::string_view text = trimmed(errors);
  if (text.size() > kErrorsShown) {
    text.remove_prefix(text.size() - kErrorsShown);
  }
  return text.empty() ? "" : ": " + printable(text);
}

Result<AwsFound> run_for_credentials(const AwsAccess& access,
                                     const std::string& command) {
  auto words = find_shell_words(command);
  if (!words || words->empty()) {
    return Error{Error::Code::invalid_config,
                 "the command has a quote that is not closed"};
  }
  ProgramCall call;
  call.words = *std::move(words);
  SMD_TRY(const ProgramEnd end, run_program(call, access.clock));
  if (!end.is_success) {
    return Error{Error::Code::io, end.text + errors_text(end.errors)};
  }
  auto json = parse_secret_json(end.output);
  if (!json) {
    return std::move(json).error().within("the output of the program");
  }
  const auto version = json->int_at("Version");
  if (!version || *version != 1) {
    return Error{Error::Code::unsupported,
                 "the output of the program should have \"Version\": 1"};
  }
  auto found = parse_aws_credentials(*json, "SessionToken");
  if (found) return found;
  return std::move(found).error().within("the output of the program");
}

}  // namespace

Result<AwsFound> run_credential_program(const AwsAccess& access,
                                        const AwsProfile& profile) {
  auto found = run_for_credentials(access, profile.value(kProgramKey));
  if (found) return found;
  return std::move(found).error().within(
      fmt::format("{}: {}", profile.place(kProgramKey), kProgramKey));
}

}  // namespace smdebug
