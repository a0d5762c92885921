#pragma once

// The credentials for AWS, found as botocore finds them, so that whatever works
// for `aws` and boto3 on this machine works for smdebug. `AwsService` signs its
// requests with them; aws_sources.h lists the sources.

#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"
#include "smdebug/net/aws_snapshot.h"

#include "net/aws_sources.h"

namespace smdebug {

// Keeps the credentials that it has found until shortly before they expire.
class AwsCredentialChain {
 public:
  // Both arguments outlive the chain. The clock also limits the time of a
  // `credential_process`.
  AwsCredentialChain(const HttpClient& http, const Clock& clock);
  AwsCredentialChain(const AwsCredentialChain&) = delete;
  AwsCredentialChain& operator=(const AwsCredentialChain&) = delete;

  // Returns the snapshot, if it is valid, and otherwise the `configured()`
  // credentials. A snapshot that does not precede variables follows them.
  Result<std::optional<AwsCredentials>> current();

  // Returns the credentials of the first source that has some: variables,
  // profile, container, instance. Returns nothing if none is configured. Fails
  // with the error of a source that is configured; it names the source and the
  // remedy. May take seconds, for requests.
  //
  // Variables are read at each call. Other sources are asked again 15 minutes
  // before the credentials expire, at most once a minute; until then, and if a
  // source fails, the old credentials are returned as long as they are valid,
  // and the failure is logged. Safe to call from several threads: only one of
  // them asks, and the others wait for it in the last 10 minutes.
  Result<std::optional<AwsCredentials>> configured();

  // See `set_aws_snapshot` and `is_aws_renewal_due`.
  void set_snapshot(std::optional<AwsSnapshot> snapshot);
  bool is_renewal_due() const;

  // Returns nothing if there is no snapshot, or it has expired.
  std::optional<AwsSnapshot> valid_snapshot() const;

 private:
  // Whether the sources have to be asked.
  enum class Need { none, advisory, mandatory };

  Need need() const;
  AwsFinding look_up() const;
  Result<std::optional<AwsCredentials>> keep(AwsFinding finding);

  const AwsAccess access_;
  std::mutex look_up_mutex_;  // held while the sources are asked
  mutable std::mutex mutex_;  // of the following; taken after the other one
  std::optional<AwsFound> found_;
  double next_look_up_ = 0;  // not before, unless they have expired
  std::optional<AwsSnapshot> snapshot_;
  // Apart from the mutex, so that a step does not wait for another thread.
  std::atomic<double> renewal_ = std::numeric_limits<double>::infinity();
};

// Returns the chain that the whole process shares, with the real clients. It
// lives as long as the process.
AwsCredentialChain& shared_aws_credentials();

// Returns true if there is a valid snapshot, or a source other than the
// instance is configured. Sends no request and runs no program. A configuration
// that cannot be read counts: the chain then says why.
bool has_aws_credentials();

// Returns AWS_REGION, AWS_DEFAULT_REGION, the region of the selected profile,
// or "us-east-1", like the original.
std::string aws_region();

}  // namespace smdebug
