#pragma once

// One HTTP request and its response. `HttpClient` is an interface that tests
// implement; `http_client()` returns the real one, which uses libcurl
// (curl.cc). Actions and calls of cloud services use it.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

namespace smdebug {

struct HttpHeader {
  std::string name;
  std::string value;

  friend bool operator==(const HttpHeader&, const HttpHeader&) = default;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http or https
  std::vector<HttpHeader> headers;
  std::string body;
  // For everything, from the name lookup to the last byte of the response.
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
};

struct HttpResponse {
  int status = 0;
  std::string body;  // at most kMaxResponseBytes

  bool is_success() const { return status >= 200 && status < 300; }
};

// A longer response is an error: no service that smdebug calls sends one.
inline constexpr std::size_t kMaxResponseBytes = 4 << 20;

class HttpClient {
 public:
  virtual ~HttpClient() = default;

  // Sends the request once, without following redirections. Returns the
  // response whatever its status. Fails with `invalid_argument` for a URL or a
  // header that cannot be sent, `unavailable` without a response in time, and
  // `io` for a response that is too long. The message names only the server,
  // because the rest of the URL may be secret. Safe to call from several
  // threads.
  virtual Result<HttpResponse> send(const HttpRequest& request) const = 0;
};

const HttpClient& http_client();

// The parts of a URL, not decoded.
struct UrlParts {
  std::string scheme;
  std::string authority;  // host, and port if the URL has one
  std::string path;       // "/" if the URL has none
  std::string query;      // without '?'
};

// Fails with `invalid_argument`.
Result<UrlParts> split_url(const std::string& url);

// Returns the part of a URL that may be logged: "https://hooks.example.com/…".
std::string shown_url(const std::string& url);

}  // namespace smdebug
