#include "net/s3_client.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "base/base64.h"
#include "base/crc32c.h"
#include "base/strings.h"
#include "net/aws_endpoint.h"
#include "net/hmac.h"
#include "net/xml.h"

namespace smdebug {
namespace {

constexpr std::size_t kMostMessage = 300;
constexpr std::string_view kChecksumHeader = "x-amz-checksum-crc32c";

// The checksum of a body as S3 wants it: the base64 text of its bytes, the
// highest first.
std::string checksum_text(std::string_view body) {
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(body)));
  const std::byte bytes[] = {std::byte(crc >> 24), std::byte(crc >> 16),
                             std::byte(crc >> 8), std::byte(crc)};
  std::string text;
  append_base64(bytes, text);
  return text;
}

bool is_error(std::string_view body) {
  return body.find("<Error") != body.npos;
}

// The code of an error, such as "NoSuchKey"; empty if the body is none, or is
// cut short.
std::string error_code(std::string_view body) {
  return is_error(body) ? find_xml_text(body, "Code").value_or("") : "";
}

bool is_transient(int status, std::string_view code) {
  constexpr std::string_view kCodes[] = {"BandwidthLimitExceeded",
                                         "ConditionalRequestConflict",
                                         "InternalError",
                                         "OperationAborted",
                                         "RequestLimitExceeded",
                                         "RequestTimeout",
                                         "ServiceUnavailable",
                                         "SlowDown",
                                         "Throttling"};
  constexpr int kStatuses[] = {408, 429, 500, 502, 503, 504};
  return std::ranges::find(kStatuses, status) != std::end(kStatuses) ||
         std::ranges::find(kCodes, code) != std::end(kCodes);
}

// The time that the server asks to wait; 0 if none.
std::chrono::nanoseconds asked_wait(const HttpResponse& response) {
  const auto seconds = find_number<int>(response.header("retry-after"));
  return std::chrono::seconds(std::clamp(seconds.value_or(0), 0, 3600));
}

std::string_view remedy(std::string_view code, int status) {
  if (code == "NoSuchBucket") {
    return "; check its name, or create it: smdebug creates no bucket";
  }
  if (code == "AccessDenied") {
    return "; check that these credentials allow s3:GetObject, s3:PutObject, "
           "s3:DeleteObject and s3:ListBucket there";
  }
  if (code == "ExpiredToken" || code == "TokenRefreshRequired") {
    return "; renew the credentials";
  }
  if (code == "InvalidAccessKeyId" || code == "SignatureDoesNotMatch" ||
      status == 401 || status == 403) {
    return "; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_PROFILE";
  }
  return "";
}

// "AccessDenied: Access Denied (HTTP 403)".
std::string answer_text(const HttpResponse& response, std::string_view code) {
  if (code.empty()) return fmt::format("HTTP {}", response.status);
  std::string message = find_xml_text(response.body, "Message")
                            .value_or("")
                            .substr(0, kMostMessage);
  if (!message.empty()) message.insert(0, ": ");
  return printable(
      fmt::format("{}{} (HTTP {})", code, message, response.status));
}

// Whether the body is the one that was stored, as far as the server shows: not
// of a part of an object, nor of one that was stored in several parts.
bool has_right_checksum(const HttpResponse& response) {
  const std::string_view wanted = response.header(kChecksumHeader);
  return response.status != 200 || wanted.empty() ||
         wanted.find('-') != wanted.npos ||
         wanted == checksum_text(response.body);
}

// Decodes what `uri_encoded` makes, and '+' as a blank.
std::string uri_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (text[i] == '%' && failure == std::errc() && end == digits.data() + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

// Whether a whole object does not have the MD5 that is its tag. The tags of
// some objects are no hashes of this kind.
bool contradicts_its_tag(const HttpResponse& response) {
  std::string_view tag = response.header("etag");
  if (response.status != 200 || tag.size() != 34 ||
      !response.header(kChecksumHeader).empty()) {
    return false;
  }
  const std::string hash = hex_text(md5(response.body));
  return !hash.empty() && tag.substr(1, 32) != hash;
}

// Whether the body is as long as the head of the answer to a range says.
std::string fault_of_range(const HttpResponse& response) {
  std::uint64_t first = 0, last = 0;
  const std::string range(response.header("content-range"));
  if (response.status != 206 ||
      std::sscanf(range.c_str(), "bytes %" SCNu64 "-%" SCNu64, &first, &last) !=
          2 ||
      response.body.size() == last - first + 1) {
    return "";
  }
  return fmt::format("the answer has {} bytes, and its range is '{}'",
                     response.body.size(), printable(range));
}

std::optional<std::vector<XmlRecord>> listed(const HttpResponse& page) {
  return find_xml_records(page.body, "ListBucketResult", "Contents");
}

// A tag is the same object's with and without the quotes around it.
std::string plain_tag(std::string_view tag) {
  if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"') {
    tag = tag.substr(1, tag.size() - 2);
  }
  return std::string(tag);
}

// Adds the objects of a page. A server may repeat those of the page before.
void add_objects(const HttpResponse& page, std::vector<S3Object>& objects) {
  const bool is_encoded = find_xml_text(page.body, "EncodingType") == "url";
  const auto records = listed(page);
  for (const XmlRecord& record : *records) {
    const auto key = record.find("Key"), bytes = record.find("Size"),
               tag = record.find("ETag");
    if (key == record.end() || bytes == record.end()) continue;
    S3Object object = {is_encoded ? uri_decoded(key->second) : key->second,
                       find_number<std::uint64_t>(bytes->second).value_or(0),
                       tag == record.end() ? "" : plain_tag(tag->second)};
    if (objects.empty() || objects.back().key < object.key) {
      objects.push_back(std::move(object));
    }
  }
}

// Adds the beginnings that the keys of further objects have up to a '/'.
void add_folders(const HttpResponse& page, std::set<std::string>& keys) {
  const bool is_encoded = find_xml_text(page.body, "EncodingType") == "url";
  const auto records =
      find_xml_records(page.body, "ListBucketResult", "CommonPrefixes");
  for (const XmlRecord& record : *records) {
    const auto prefix = record.find("Prefix");
    if (prefix == record.end()) continue;
    keys.insert(is_encoded ? uri_decoded(prefix->second) : prefix->second);
  }
}

// The region that the server says is that of the bucket; empty if none.
std::string told_region(const HttpResponse& response) {
  const std::string_view header = response.header("x-amz-bucket-region");
  if (!header.empty()) return std::string(header);
  return find_xml_text(response.body, "Region").value_or("");
}

}  // namespace

S3Client::S3Client(S3Location location, S3Endpoint endpoint,
                   FindCredentials find, const HttpClient& http,
                   const Clock& clock, RetryPolicy retries)
    : location_(std::move(location)),
      find_credentials_(std::move(find)),
      http_(http),
      clock_(clock),
      retries_(retries),
      is_of_google_(endpoint.is_of_google),
      dialect_(is_of_google_ ? kGoogleDialect : kAwsDialect),
      endpoint_(std::move(endpoint)) {}

// --- the objects ---

Result<std::string> S3Client::get(std::string_view key, std::uint64_t start,
                                  std::uint64_t length, std::uint64_t max_bytes,
                                  std::string* tag) const {
  if (tag != nullptr) tag->clear();
  if (length == 0) return std::string();
  Request wanted = request("read", "GET", key);
  if (!is_of_google_) {
    wanted.headers.push_back({"x-amz-checksum-mode", "ENABLED"});
  }
  // The text of an error may be longer.
  wanted.max_response_bytes = std::max(max_bytes, kMaxResponseBytes);
  const bool is_whole = start == 0 && length == UINT64_MAX;
  if (!is_whole) {
    const std::uint64_t last = start + std::min(length, UINT64_MAX - start) - 1;
    wanted.headers.push_back(
        {"range", last >= UINT64_MAX - 1
                      ? fmt::format("bytes={}-", start)
                      : fmt::format("bytes={}-{}", start, last)});
  }
  if (!is_whole) wanted.find_fault = fault_of_range;
  SMD_TRY(HttpResponse response, send(wanted, {416}));
  if (is_whole) {
    SMD_TRY(response, confirmed(wanted, std::move(response)));
  }
  if (response.status == 416) return std::string();  // begins after the end
  if (tag != nullptr) *tag = plain_tag(response.header("etag"));
  std::string bytes = std::move(response.body);
  if (!is_whole && response.status == 200) {
    // The server does not know ranges, and sent all bytes.
    bytes = bytes.substr(std::min<std::uint64_t>(start, bytes.size()), length);
  }
  if (bytes.size() <= max_bytes) return bytes;
  return Error{Error::Code::io,
               fmt::format("cannot {}: it has more than {} bytes",
                           wanted.action, max_bytes)};
}

// Reads an object again that contradicts its tag. If the same bytes come, the
// tags of this bucket are no hashes.
Result<HttpResponse> S3Client::confirmed(const Request& request,
                                         HttpResponse response) const {
  for (int i = 1; i < retries_.attempts && tags_are_hashes_ &&
                  contradicts_its_tag(response);
       ++i) {
    SMD_TRY(HttpResponse again, send(request, {416}));
    if (again.body == response.body) tags_are_hashes_ = false;
    response = std::move(again);
  }
  return response;
}

Result<bool> S3Client::exists(std::string_view key) const {
  SMD_TRY(const HttpResponse response,
          send(request("look for", "HEAD", key), {404}));
  return response.is_success();
}

Status S3Client::put(std::string_view key, std::string body) const {
  Request wanted = request("write", "PUT", key);
  wanted.body = std::move(body);
  SMD_TRY(const HttpResponse response, send(wanted));
  return {};
}

Result<bool> S3Client::put_if_free(std::string_view key,
                                   std::string_view body) const {
  Request wanted = request("create", "PUT", key);
  wanted.headers.push_back(is_of_google_
                               ? HttpHeader{"x-goog-if-generation-match", "0"}
                               : HttpHeader{"if-none-match", "*"});
  wanted.body = body;
  int attempts = 0;
  SMD_TRY(const HttpResponse response, send(wanted, {412, 501}, &attempts));
  if (response.status == 501) return put_if_absent(key, body);
  if (response.is_success()) return true;
  if (attempts < 2) return false;
  // An attempt whose answer was lost may have created it.
  SMD_TRY(const std::string found, get(key, 0, UINT64_MAX, body.size() + 1));
  return found == body;
}

Result<bool> S3Client::put_if_absent(std::string_view key,
                                     std::string_view body) const {
  SMD_TRY(const bool is_taken, exists(key));
  if (is_taken) return false;
  SMD_CHECK_OK(put(key, std::string(body)));
  SMD_TRY(const std::string found, get(key, 0, UINT64_MAX, kMaxResponseBytes));
  return found == body;
}

Status S3Client::remove(std::string_view key) const {
  SMD_TRY(const HttpResponse response,
          send(request("remove", "DELETE", key), {404}));
  return {};
}

Status S3Client::copy(std::string_view from, std::string_view to) const {
  Request wanted = request("copy", "PUT", to);
  wanted.headers.push_back(
      {dialect_.header("copy-source"),
       "/" + location_.bucket + "/" + uri_encoded(from, true)});
  SMD_TRY(const HttpResponse response, send(wanted));
  return {};
}

Status S3Client::for_each_page(
    Request wanted, const std::function<bool(const HttpResponse& page)>& take,
    S3Pages pages) const {
  const Request first = wanted;
  wanted.find_fault = [](const HttpResponse& page) {
    return listed(page) ? "" : "the answer is not that of an S3 server";
  };
  for (std::string token;;) {
    SMD_TRY(const HttpResponse page, send(wanted));
    const bool has_new = take(page);
    if (pages == S3Pages::first) return {};
    if (find_xml_text(page.body, "IsTruncated") != "true") return {};
    token = find_xml_text(page.body, "NextContinuationToken").value_or("");
    if (token.empty()) return {};
    if (!has_new) {
      return Error{Error::Code::io,
                   fmt::format("cannot {}: the server repeats a page of it",
                               wanted.action)};
    }
    wanted.query = first.query;
    std::erase_if(wanted.query, [](const auto& field) {
      return field.first == "start-after";
    });
    wanted.query.emplace_back("continuation-token", token);
  }
}

Result<std::vector<S3Object>> S3Client::list(std::string_view prefix,
                                             std::string_view after,
                                             S3Pages pages) const {
  Request wanted = request("list", "GET", "");
  wanted.query = {{"list-type", "2"},
                  {"encoding-type", "url"},
                  {"prefix", std::string(prefix)}};
  if (!after.empty()) wanted.query.emplace_back("start-after", after);
  std::vector<S3Object> objects;
  const auto take = [&](const HttpResponse& page) {
    const std::size_t before = objects.size();
    add_objects(page, objects);
    return objects.size() > before;
  };
  SMD_CHECK_OK(for_each_page(wanted, take, pages));
  return objects;
}

Result<std::vector<std::string>> S3Client::list_level(
    std::string_view prefix) const {
  Request wanted = request("list", "GET", "");
  wanted.query = {{"list-type", "2"},
                  {"encoding-type", "url"},
                  {"prefix", std::string(prefix)},
                  {"delimiter", "/"}};
  std::set<std::string> keys;
  SMD_CHECK_OK(for_each_page(wanted, [&](const HttpResponse& page) {
    const std::size_t before = keys.size();
    std::vector<S3Object> objects;
    add_objects(page, objects);
    for (S3Object& object : objects) keys.insert(std::move(object.key));
    add_folders(page, keys);
    return keys.size() > before;
  }));
  keys.erase(std::string(prefix));  // as browsers create it
  return std::vector(keys.begin(), keys.end());
}

// --- objects of several parts ---

Result<std::string> S3Client::begin_upload(std::string_view key) const {
  Request wanted = request("write", "POST", key);
  wanted.query = {{"uploads", ""}};
  const auto identifier = [](const HttpResponse& response) {
    return find_xml_text(response.body, "UploadId").value_or("");
  };
  wanted.find_fault = [&](const HttpResponse& response) {
    return identifier(response).empty()
               ? "the server began an upload without an identifier"
               : "";
  };
  SMD_TRY(const HttpResponse response, send(wanted));
  return identifier(response);
}

Result<std::string> S3Client::put_part(std::string_view key,
                                       std::string_view upload, int number,
                                       std::string body) const {
  Request wanted = upload_request("PUT", key, upload);
  wanted.query.emplace_back("partNumber", std::to_string(number));
  wanted.body = std::move(body);
  SMD_TRY(const HttpResponse response, send(wanted));
  return std::string(response.header("etag"));
}

Status S3Client::complete_upload(std::string_view key, std::string_view upload,
                                 const std::vector<std::string>& tags,
                                 std::uint64_t bytes) const {
  Request wanted = upload_request("POST", key, upload);
  wanted.body = "<CompleteMultipartUpload>";
  for (std::size_t i = 0; i < tags.size(); ++i) {
    wanted.body +=
        fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>",
                    i + 1, tags[i]);
  }
  wanted.body += "</CompleteMultipartUpload>";
  int attempts = 0;
  auto response = send(wanted, {}, &attempts);
  if (response) return {};
  Error error = std::move(response).error();
  if (error.code != Error::Code::not_found || attempts < 2) return error;
  // A server forgets an upload that is complete. An attempt whose answer was
  // lost may have completed it.
  SMD_TRY(const HttpResponse found,
          send(request("look for", "HEAD", key), {404}));
  const bool is_whole =
      found.is_success() &&
      find_number<std::uint64_t>(found.header("content-length")) == bytes;
  if (is_whole) return {};
  return error;
}

Status S3Client::abort_upload(std::string_view key,
                              std::string_view upload) const {
  SMD_TRY(const HttpResponse response,
          send(upload_request("DELETE", key, upload), {404}));
  return {};
}

// --- a request ---

S3Client::Request S3Client::request(std::string_view verb, std::string method,
                                    std::string_view key) const {
  const std::string bucket = location_.scheme + "://" + location_.bucket;
  return {.action = fmt::format("{} '{}{}{}'", verb, bucket,
                                key.empty() ? "" : "/", printable(key)),
          .method = std::move(method),
          .key = key};
}

S3Client::Request S3Client::upload_request(std::string_view method,
                                           std::string_view key,
                                           std::string_view upload) const {
  Request wanted = request("write", std::string(method), key);
  wanted.query = {{"uploadId", std::string(upload)}};
  return wanted;
}

Result<HttpRequest> S3Client::make(const Request& request) const {
  S3Endpoint endpoint;
  double seconds = clock_.wall_seconds();
  {
    const std::lock_guard lock(mutex_);
    endpoint = endpoint_;
    seconds += server_ahead_seconds_;
  }
  SMD_TRY(const auto credentials, find_credentials_());
  const std::size_t host = endpoint.url.find("://") + 3;
  HttpRequest made;
  made.method = request.method;
  made.url = endpoint.has_bucket_in_host
                 ? endpoint.url.substr(0, host) + location_.bucket + "." +
                       endpoint.url.substr(host)
                 : endpoint.url + "/" + location_.bucket;
  made.url += "/" + uri_encoded(request.key, true);
  if (!request.query.empty()) made.url += "?" + form_encoded(request.query);
  made.headers = request.headers;
  made.body = request.body;
  made.timeout = retries_.longest_attempt;
  made.longest_silence = retries_.longest_silence;
  made.max_response_bytes = request.max_response_bytes;
  if (!request.body.empty()) {
    const std::string checksum = checksum_text(request.body);
    made.headers.push_back(
        is_of_google_ ? HttpHeader{"x-goog-hash", "crc32c=" + checksum}
                      : HttpHeader{std::string(kChecksumHeader), checksum});
    made.headers.push_back({"content-type", "application/octet-stream"});
  }
  if (!credentials) return made;
  made.headers.push_back(
      {dialect_.header(kPayloadHash), hex_text(sha256(request.body))});
  SMD_CHECK_OK(sign_request(
      made, *credentials,
      {endpoint.region, is_of_google_ ? "storage" : "s3", dialect_}, seconds));
  return made;
}

bool S3Client::learn_from(const HttpResponse& response,
                          std::string_view code) const {
  const std::lock_guard lock(mutex_);
  if (code == "RequestTimeTooSkewed") {
    const auto now = parse_http_date(response.header("date"));
    if (now) server_ahead_seconds_ = *now - clock_.wall_seconds();
    return now.has_value();
  }
  if (response.status < 300 || response.status > 403) return false;
  const std::string region = told_region(response);
  if (region.empty() || region == endpoint_.region) return false;
  endpoint_.region = region;
  if (endpoint_.is_of_aws) endpoint_.url = aws_public_endpoint("s3", region);
  return true;
}

S3Client::Judgment S3Client::judge(const Request& request,
                                   const HttpResponse& response,
                                   std::span<const int> expected) const {
  // A copy and a completed upload may fail after the head of their answer.
  const bool may_fail_late =
      request.method == "PUT" || request.method == "POST";
  const bool is_failure =
      !response.is_success() || (may_fail_late && is_error(response.body));
  const std::string code =
      is_failure ? error_code(response.body) : std::string();
  if (std::ranges::find(expected, response.status) != expected.end()) {
    return {Next::take};
  }
  if (!is_failure) {
    std::string fault =
        request.find_fault ? request.find_fault(response) : std::string();
    if (request.method != "HEAD" && !has_right_checksum(response)) {
      fault = "the bytes do not have their checksum";
    }
    if (fault.empty()) return {Next::take};
    return {Next::repeat, std::move(fault)};
  }
  const std::string answer = answer_text(response, code);
  if (response.is_success() || is_transient(response.status, code)) {
    return {Next::repeat, answer};
  }
  if (learn_from(response, code)) return {Next::repeat_once, answer};
  return {Next::fail, answer + std::string(remedy(code, response.status)),
          response.status == 404 && code != "NoSuchBucket"
              ? Error::Code::not_found
              : Error::Code::io};
}

Result<HttpResponse> S3Client::send(const Request& request,
                                    std::vector<int> expected,
                                    int* attempts) const {
  Backoff backoff(retries_, clock_);
  bool has_learned = false;
  for (;;) {
    if (attempts != nullptr) *attempts = backoff.attempts();
    auto made = make(request);
    auto response = made ? http_.send(*made) : std::move(made).error();
    Judgment judgment;
    if (response) {
      judgment = judge(request, *response, expected);
      if (judgment.next == Next::take) return response;
    } else if (response.error().code == Error::Code::unavailable) {
      judgment = {Next::repeat, response.error().message};
    } else {
      return std::move(response).error().within("cannot " + request.action);
    }
    const bool is_over = judgment.next == Next::fail ||
                         (judgment.next == Next::repeat_once && has_learned);
    if (is_over) {
      return Error{judgment.code,
                   fmt::format("cannot {}: {}", request.action, judgment.text)};
    }
    has_learned |= judgment.next == Next::repeat_once;
    if (!backoff.wait(response ? asked_wait(*response)
                               : std::chrono::nanoseconds(0))) {
      return Error{
          Error::Code::unavailable,
          fmt::format("cannot {}, after {}: {}", request.action,
                      count_text(static_cast<std::uint64_t>(backoff.attempts()),
                                 "attempt"),
                      judgment.text)};
    }
  }
}

}  // namespace smdebug
