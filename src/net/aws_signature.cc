#include "net/aws_signature.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "smdebug/base/clock.h"
#include "smdebug/base/try.h"

#include "base/strings.h"
#include "net/hmac.h"

namespace smdebug {
namespace {

bool is_unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string uri_encoded(std::string_view text, bool keep_slashes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c) || (keep_slashes && c == '/')) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kDigits[byte >> 4];
    encoded += kDigits[byte & 15];
  }
  return encoded;
}

std::string form_encoded(
    const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string form;
  for (const auto& [name, value] : fields) {
    if (!form.empty()) form += '&';
    form += uri_encoded(name) + "=" + uri_encoded(value);
  }
  return form;
}

namespace {

// Trims the value and reduces several blanks to one.
std::string canonical_value(std::string_view value) {
  std::string canonical;
  for (const char c : trimmed(value)) {
    if (c == ' ' && canonical.ends_with(' ')) continue;
    canonical += c;
  }
  return canonical;
}

// Sorts the fields by name, then by value, and adds missing '='.
std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!query.empty()) {
    const auto end = query.find('&');
    const std::string_view field = query.substr(0, end);
    const auto equals = field.find('=');
    fields.emplace_back(
        field.substr(0, equals),
        equals == field.npos ? std::string_view() : field.substr(equals + 1));
    query.remove_prefix(end == query.npos ? query.size() : end + 1);
  }
  std::ranges::sort(fields);
  std::string canonical;
  for (const auto& [name, value] : fields) {
    if (!canonical.empty()) canonical += '&';
    canonical += name + "=" + value;
  }
  return canonical;
}

// One line per header, and the list of their names.
struct CanonicalHeaders {
  std::string lines;
  std::string names;  // "host;x-amz-date"
};

CanonicalHeaders canonical_headers(const HttpRequest& request,
                                   const std::string& host) {
  std::map<std::string, std::string> by_name = {{"host", host}};
  for (const HttpHeader& header : request.headers) {
    const auto [entry, is_new] =
        by_name.emplace(lower_case(header.name), canonical_value(header.value));
    if (!is_new) entry->second += "," + canonical_value(header.value);
  }
  CanonicalHeaders canonical;
  for (const auto& [name, value] : by_name) {
    canonical.lines += name + ":" + value + "\n";
    canonical.names += (canonical.names.empty() ? "" : ";") + name;
  }
  return canonical;
}

std::string signing_key(const AwsCredentials& credentials,
                        const std::string& date, const AwsScope& scope) {
  const std::string of_date = hmac_sha256(
      std::string(scope.dialect.key_prefix) + credentials.secret_access_key,
      date);
  const std::string of_region = hmac_sha256(of_date, scope.region);
  const std::string of_service = hmac_sha256(of_region, scope.service);
  return hmac_sha256(of_service, scope.dialect.end_of_scope);
}

// The hash of the body, unless a header has it.
std::string payload_hash(const HttpRequest& request,
                         const SignatureDialect& dialect) {
  const auto found = std::ranges::find(
      request.headers, dialect.header(kPayloadHash), &HttpHeader::name);
  return found == request.headers.end() ? hex_text(sha256(request.body))
                                        : found->value;
}

}  // namespace

Status sign_request(HttpRequest& request, const AwsCredentials& credentials,
                    const AwsScope& scope, double wall_seconds) {
  SMD_TRY(const UrlParts url, split_url(request.url));
  const std::string time = utc_text(wall_seconds, "%Y%m%dT%H%M%SZ");
  const std::string date = time.substr(0, 8);
  const SignatureDialect& dialect = scope.dialect;
  request.headers.push_back({dialect.header("date"), time});
  if (!credentials.session_token.empty()) {
    request.headers.push_back(
        {dialect.header("security-token"), credentials.session_token});
  }

  const bool is_object_store =
      scope.service == "s3" || scope.service == "storage";
  const CanonicalHeaders headers = canonical_headers(request, url.authority);
  const std::string canonical_request =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method,
                  is_object_store ? url.path : uri_encoded(url.path, true),
                  canonical_query(url.query), headers.lines, headers.names,
                  payload_hash(request, dialect));
  const std::string credential_scope = fmt::format(
      "{}/{}/{}/{}", date, scope.region, scope.service, dialect.end_of_scope);
  const std::string signed_text =
      fmt::format("{}\n{}\n{}\n{}", dialect.algorithm, time, credential_scope,
                  hex_text(sha256(canonical_request)));
  const std::string signature =
      hex_text(hmac_sha256(signing_key(credentials, date, scope), signed_text));
  request.headers.push_back(
      {"authorization",
       fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}",
                   dialect.algorithm, credentials.access_key_id,
                   credential_scope, headers.names, signature)});
  return {};
}

}  // namespace smdebug
