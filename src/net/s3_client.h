#pragma once

// Requests of S3 and of stores with its protocol: the objects of one bucket.
// Requests that fail for a reason that passes are sent again.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"

#include "net/aws_signature.h"
#include "net/backoff.h"
#include "net/http.h"

namespace smdebug {

// "s3://bucket/experiments/run" or "gs://...".
struct S3Location {
  std::string scheme;  // "s3", "gs"
  std::string bucket;
  std::string prefix;  // without a slash at its ends; may be empty

  std::string text() const;

  friend bool operator==(const S3Location&, const S3Location&) = default;
};

// Returns nothing if `location` has another scheme. Fails with
// `invalid_argument` if it has no bucket, or one with a name that no bucket can
// have.
Result<std::optional<S3Location>> parse_s3_location(std::string_view location);

// Where the bucket is.
struct S3Endpoint {
  std::string url;                  // "https://s3.eu-west-1.amazonaws.com"
  std::string region;               // of the signatures
  bool is_of_aws = false;           // `url` depends on the region
  bool is_of_google = false;        // its own headers and signatures
  bool has_bucket_in_host = false;  // "https://<bucket>.s3..."
};

// Returns the endpoint of AWS or Google, unless the environment names another:
// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, for both schemes. The bucket is a
// part of the host's name at AWS, if certificates of TLS allow that, and of the
// path elsewhere.
S3Endpoint s3_endpoint(const S3Location& location);

struct S3Object {
  std::string key;
  std::uint64_t bytes = 0;
  std::string tag;  // changes with the content; empty if the server has none
};

// How much of a listing is requested: a page has a thousand keys.
enum class S3Pages { all, first };

// Returns the credentials of a request; nothing if there are none, and the
// request is sent without a signature, as public buckets allow.
using FindCredentials = std::function<Result<std::optional<AwsCredentials>>()>;

// Safe to use from several threads. Errors have the code `not_found` for
// objects that do not exist, `io` for what the server refuses, `unavailable`
// if it did not answer well in several attempts, and else those of
// `HttpClient::send`. Their messages name the object and what the server said.
class S3Client {
 public:
  S3Client(S3Location location, S3Endpoint endpoint, FindCredentials find,
           const HttpClient& http, const Clock& clock,
           RetryPolicy retries = {});

  // Returns the bytes [start, start + length) of an object, cut short at its
  // end. Fails with `io` if there are more than `max_bytes`. Sets `tag`, unless
  // it is null, to the tag of the object they are of; empty if unknown.
  Result<std::string> get(std::string_view key, std::uint64_t start,
                          std::uint64_t length, std::uint64_t max_bytes,
                          std::string* tag = nullptr) const;

  Result<bool> exists(std::string_view key) const;

  Status put(std::string_view key, std::string body) const;

  // Creates the object unless the key is taken; returns whether it did. If the
  // server has no conditional requests, the object is looked for, written and
  // read again: of several clients at the same moment, more than one may then
  // get `true`.
  Result<bool> put_if_free(std::string_view key, std::string_view body) const;

  // Succeeds if there is no such object.
  Status remove(std::string_view key) const;

  Status copy(std::string_view from, std::string_view to) const;

  // Returns the objects whose key begins with `prefix` and sorts after `after`,
  // sorted by the bytes of their keys: one request per thousand.
  Result<std::vector<S3Object>> list(std::string_view prefix,
                                     std::string_view after,
                                     S3Pages pages = S3Pages::all) const;

  // Returns the keys that begin with `prefix` and have no '/' after it, and
  // once what the others have up to there, with the '/'. Sorted.
  Result<std::vector<std::string>> list_level(std::string_view prefix) const;

  // An object of several parts, each but the last of at least 5 MiB. An upload
  // that was begun takes space, for which users pay, until it is completed or
  // aborted.
  Result<std::string> begin_upload(std::string_view key) const;
  // Returns the tag of the part, which has a number from 1 on.
  Result<std::string> put_part(std::string_view key, std::string_view upload,
                               int number, std::string body) const;
  // Makes it an object of `bytes` bytes.
  Status complete_upload(std::string_view key, std::string_view upload,
                         const std::vector<std::string>& tags,
                         std::uint64_t bytes) const;
  Status abort_upload(std::string_view key, std::string_view upload) const;

 private:
  struct Request {
    std::string action;  // "read 's3://bucket/key'"
    std::string method = "GET";
    std::string_view key = {};  // empty: the bucket
    std::vector<std::pair<std::string, std::string>> query = {};
    std::vector<HttpHeader> headers = {};
    std::string body = {};
    std::uint64_t max_response_bytes = kMaxResponseBytes;
    // Returns the fault of a response that is a success, or nothing.
    std::function<std::string(const HttpResponse&)> find_fault = {};
  };

  // What to do about the answer to an attempt. `repeat_once`: something was
  // learned from it, which the next attempt takes into account.
  enum class Next { take, fail, repeat, repeat_once };
  struct Judgment {
    Next next = Next::take;
    std::string text = {};  // what the server said
    Error::Code code = Error::Code::io;
  };

  // Returns a response with a status that is a success or one of `expected`.
  // Sets `attempts` to their number, if it is not null.
  Result<HttpResponse> send(const Request& request,
                            std::vector<int> expected = {},
                            int* attempts = nullptr) const;
  Judgment judge(const Request& request, const HttpResponse& response,
                 std::span<const int> expected) const;
  // Calls `take` for each page of a listing; it returns whether the page has
  // anything that those before it had not.
  Status for_each_page(
      Request wanted, const std::function<bool(const HttpResponse& page)>& take,
      S3Pages pages = S3Pages::all) const;
  Result<HttpResponse> confirmed(const Request& request,
                                 HttpResponse response) const;
  Result<bool> put_if_absent(std::string_view key, std::string_view body) const;
  Result<HttpRequest> make(const Request& request) const;
  // Whether the next attempt may succeed because this response has the
  // region of the bucket, or the time of the server.
  bool learn_from(const HttpResponse& response, std::string_view code) const;
  Request request(std::string_view verb, std::string method,
                  std::string_view key) const;
  Request upload_request(std::string_view method, std::string_view key,
                         std::string_view upload) const;

  const S3Location location_;
  const FindCredentials find_credentials_;
  const HttpClient& http_;
  const Clock& clock_;
  const RetryPolicy retries_;
  const bool is_of_google_;
  const SignatureDialect dialect_;
  mutable std::atomic<bool> tags_are_hashes_ = true;
  mutable std::mutex mutex_;  // guards what responses correct:
  mutable S3Endpoint endpoint_;
  mutable double server_ahead_seconds_ = 0;
};

}  // namespace smdebug
