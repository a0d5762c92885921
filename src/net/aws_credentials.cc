#include "net/aws_credentials.h"

#include <fmt/format.h>

#include "smdebug/base/blocking_wait.h"
#include "smdebug/base/escape.h"
#include "smdebug/base/logger.h"
#include "smdebug/base/try.h"

#include "base/environment.h"

namespace smdebug {
namespace {

// The refresh windows of botocore, and the time between two attempts.
constexpr double kAdvisorySeconds = 15 * 60;
constexpr double kMandatorySeconds = 10 * 60;
constexpr double kPauseSeconds = 60;

bool has_expired(std::optional<double> expires, double now) {
  return expires && *expires <= now;
}

AwsCredentials credentials_of(AwsSnapshot snapshot) {
  return {std::move(snapshot.access_key_id),
          std::move(snapshot.secret_access_key),
          std::move(snapshot.session_token)};
}

// Returns an error in place of credentials that have expired.
AwsFinding unexpired(AwsFinding finding, const std::string& source,
                     double now) {
  if (!finding || !*finding || !has_expired((*finding)->expires, now))
    return finding;
  return Error{Error::Code::unavailable,
               fmt::format("{} returned credentials that expired at {}", source,
                           utc_text(*(*finding)->expires))};
}

}  // namespace

AwsCredentialChain::AwsCredentialChain(const HttpClient& http,
                                       const Clock& clock)
    : access_{http, clock} {}

Result<std::optional<AwsCredentials>> AwsCredentialChain::current() {
  std::optional<AwsSnapshot> snapshot = valid_snapshot();
  if (!snapshot) return configured();
  if (!snapshot->precedes_variables) {
    SMD_TRY(auto variables, find_environment_credentials());
    if (variables) return std::optional(std::move(variables->credentials));
  }
  return std::optional(credentials_of(*std::move(snapshot)));
}

void AwsCredentialChain::set_snapshot(std::optional<AwsSnapshot> snapshot) {
  const std::lock_guard lock(mutex_);
  snapshot_ = std::move(snapshot);
  renewal_ = snapshot_ && snapshot_->expires
                 ? *snapshot_->expires - kAdvisorySeconds
                 : std::numeric_limits<double>::infinity();
}

bool AwsCredentialChain::is_renewal_due() const {
  return access_.clock.wall_seconds() > renewal_;
}

std::optional<AwsSnapshot> AwsCredentialChain::valid_snapshot() const {
  const std::lock_guard lock(mutex_);
  if (!snapshot_ ||
      has_expired(snapshot_->expires, access_.clock.wall_seconds())) {
    return {};
  }
  return snapshot_;
}

Result<std::optional<AwsCredentials>> AwsCredentialChain::configured() {
  SMD_TRY(auto variables, find_environment_credentials());
  if (variables) return std::optional(std::move(variables->credentials));
  std::unique_lock looking(look_up_mutex_, std::defer_lock);
  {
    const std::lock_guard lock(mutex_);
    const Need needed = need();
    const bool may_wait = needed == Need::mandatory;
    if (needed == Need::none || (!may_wait && !looking.try_lock())) {
      return std::optional(found_->credentials);
    }
  }
  if (!looking) {
    looking = lock_of_waiters(look_up_mutex_);
    const std::lock_guard lock(mutex_);
    // Another thread may have asked in the meantime.
    if (need() == Need::none) return std::optional(found_->credentials);
  }
  return keep(look_up());
}

AwsCredentialChain::Need AwsCredentialChain::need() const {
  if (!found_) return Need::mandatory;
  if (!found_->expires) return Need::none;
  const double now = access_.clock.wall_seconds();
  const double left = *found_->expires - now;
  if (left <= 0) return Need::mandatory;
  if (now < next_look_up_ || left >= kAdvisorySeconds) return Need::none;
  return left < kMandatorySeconds ? Need::mandatory : Need::advisory;
}

AwsFinding AwsCredentialChain::look_up() const {
  const double now = access_.clock.wall_seconds();
  SMD_TRY(const AwsSharedFiles files, AwsSharedFiles::read());
  SMD_TRY(const AwsProfile profile, files.selected_profile());
  const std::string name = "profile '" + printable(profile.name) + "'";
  SMD_TRY(
      auto found,
      unexpired(find_profile_credentials(access_, files, profile), name, now));
  if (found) return found;
  SMD_TRY(found, unexpired(find_container_credentials(access_),
                           "the server of the container", now));
  if (found) return found;
  return find_instance_credentials(access_);
}

Result<std::optional<AwsCredentials>> AwsCredentialChain::keep(
    AwsFinding finding) {
  const std::lock_guard lock(mutex_);
  const double now = access_.clock.wall_seconds();
  next_look_up_ = now + kPauseSeconds;
  if (finding && *finding) {
    found_ = **std::move(finding);
    return std::optional(found_->credentials);
  }
  if (found_ && !has_expired(found_->expires, now)) {
    if (!finding) {
      default_logger().warning(
          "AWS credentials: they expire at " + utc_text(*found_->expires) +
          " and cannot be renewed: " + finding.error().message);
    }
    return std::optional(found_->credentials);
  }
  found_.reset();
  if (!finding) return std::move(finding).error();
  return std::optional<AwsCredentials>();
}

AwsCredentialChain& shared_aws_credentials() {
  // Never destroyed: another thread may outlive static destruction.
  static AwsCredentialChain& chain =
      *new AwsCredentialChain(http_client(), system_clock());
  return chain;
}

void set_aws_snapshot(std::optional<AwsSnapshot> snapshot) {
  shared_aws_credentials().set_snapshot(std::move(snapshot));
}

bool is_aws_renewal_due() { return shared_aws_credentials().is_renewal_due(); }

bool has_aws_credentials() {
  if (shared_aws_credentials().valid_snapshot()) return true;
  if (!environment_text("AWS_ACCESS_KEY_ID").empty() &&
      !environment_text("AWS_SECRET_ACCESS_KEY").empty()) {
    return true;
  }
  if (has_container_credentials()) return true;
  const auto files = AwsSharedFiles::read();
  if (!files) return true;
  const auto profile = files->selected_profile();
  return !profile || has_profile_credentials(*profile);
}

std::string aws_region() {
  for (const char* const name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string region = environment_text(name); !region.empty()) {
      return region;
    }
  }
  const auto files = AwsSharedFiles::read();
  const auto profile = files ? files->selected_profile() : files.error();
  std::string region = profile ? profile->value("region") : "";
  return region.empty() ? "us-east-1" : region;
}

}  // namespace smdebug
