// Where the objects of a bucket are: the parts of "s3://bucket/prefix", and the
// server that has the bucket.

#include <algorithm>

#include <fmt/format.h>

#include "smdebug/base/escape.h"

#include "net/aws_credentials.h"
#include "net/aws_endpoint.h"
#include "net/s3_client.h"

namespace smdebug {
namespace {

constexpr std::string_view kGoogleUrl = "https://storage.googleapis.com";

// Whether a bucket of any store can have this name: 3 to 63 characters at AWS,
// where old ones have upper-case letters and underscores, and more at Google.
bool is_bucket_name(std::string_view name) {
  return name.size() >= 3 && name.size() <= 222 &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
         });
}

// Whether "<bucket>.s3.amazonaws.com" is a name of a host that the certificate
// of "*.s3.amazonaws.com" covers.
bool is_part_of_host(std::string_view bucket) {
  return bucket.size() <= 63 && std::ranges::all_of(bucket, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

std::string_view without_slashes(std::string_view text) {
  while (text.starts_with('/')) text.remove_prefix(1);
  while (text.ends_with('/')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string S3Location::text() const {
  return scheme + "://" + bucket + (prefix.empty() ? "" : "/") + prefix;
}

Result<std::optional<S3Location>> parse_s3_location(std::string_view location) {
  const std::size_t end = location.find("://");
  const std::string_view scheme = location.substr(0, end);
  if (end == location.npos || (scheme != "s3" && scheme != "gs")) {
    return std::optional<S3Location>();
  }
  const std::string_view path = location.substr(end + 3);
  const std::string_view bucket = path.substr(0, path.find('/'));
  if (!is_bucket_name(bucket)) {
    return Error{Error::Code::invalid_argument,
                 fmt::format("'{}' names no bucket: {}://bucket/prefix was "
                             "expected",
                             printable(location), scheme)};
  }
  if (path.find('\0') != path.npos) {
    return Error{Error::Code::invalid_argument,
                 "the location of the run contains a NUL byte"};
  }
  return std::optional(
      S3Location{std::string(scheme), std::string(bucket),
                 std::string(without_slashes(path.substr(bucket.size())))});
}

S3Endpoint s3_endpoint(const S3Location& location) {
  S3Endpoint endpoint = {.url = aws_endpoint_variable("s3"),
                         .region = aws_region()};
  if (!endpoint.url.empty()) return endpoint;
  if (location.scheme == "gs") {
    endpoint.url = kGoogleUrl;
    endpoint.region = "auto";
    endpoint.is_of_google = true;
    return endpoint;
  }
  endpoint.url = aws_public_endpoint("s3", endpoint.region);
  endpoint.is_of_aws = true;
  endpoint.has_bucket_in_host = is_part_of_host(location.bucket);
  return endpoint;
}

}  // namespace smdebug
