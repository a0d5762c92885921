#pragma once

// Credentials of AWS that the program has obtained itself, as the Python
// package does from botocore. Without a snapshot, and once it has expired, the
// library looks for credentials itself (docs/storage.md).

#include <optional>
#include <string>

namespace [[gnu::visibility("default")]] smdebug {

struct AwsSnapshot {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token = {};
  /// Seconds since the Unix epoch; nothing for credentials that never expire.
  std::optional<double> expires = {};
  /// Whether they also precede AWS_ACCESS_KEY_ID, because the program selected
  /// them in its code. Otherwise the variables, which may be set at any time,
  /// precede them.
  bool precedes_variables = false;
};

/// Makes the requests to AWS of this process use `snapshot` until it expires,
/// in place of an earlier one; nothing removes that. Requests to Google never
/// use it. Safe to call from any thread.
void set_aws_snapshot(std::optional<AwsSnapshot> snapshot);

/// Returns true from 15 minutes before the snapshot expires until another one
/// takes its place. Takes no lock, and may be called in every step.
bool is_aws_renewal_due();

}  // namespace smdebug
