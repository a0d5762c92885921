#pragma once

// One HTTP request and its answer. `HttpClient` is an interface, so that tests
// can answer themselves; `http_client()` is the real one, over libcurl
// (curl.cc). Actions speak through it, and whatever talks to a cloud.

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
  // For all of it, from looking up the name to the last byte of the answer.
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
};

struct HttpResponse {
  int status = 0;
  std::string body;  // at most kMaxResponseBytes

  bool is_success() const { return status >= 200 && status < 300; }
};

// A longer answer is an error: nobody that we speak to sends one.
inline constexpr std::size_t kMaxResponseBytes = 4 << 20;

class HttpClient {
 public:
  virtual ~HttpClient() = default;

  // Sends the request once, and follows no redirection. Every answer is a
  // success, whatever its status. Fails with `invalid_argument` for a URL or a
  // header that cannot be sent and `unavailable` where no answer came in time;
  // the message names the server, not the rest of the URL, which may be a
  // secret. Safe to call from several threads.
  virtual Result<HttpResponse> send(const HttpRequest& request) const = 0;
};

const HttpClient& http_client();

// A URL in its parts, as they stand in it.
struct UrlParts {
  std::string scheme;
  std::string authority;  // host, and port where one is given
  std::string path;       // "/" where the URL has none
  std::string query;      // without '?'
};

// Fails with `invalid_argument`.
Result<UrlParts> split_url(const std::string& url);

// "https://hooks.example.com/…": what of a URL may stand in a log.
std::string shown_url(const std::string& url);

}  // namespace smdebug
