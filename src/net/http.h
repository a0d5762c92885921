#pragma once

// One HTTP request and its response. `HttpClient` is an interface that tests
// implement; `http_client()` returns the real one, which uses libcurl
// (curl.cc) and keeps connections open between requests. Actions and calls of
// cloud services use it.

#include <chrono>
#include <cstdint>
#include <optional>
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

// A longer response is an error: no service that smdebug calls sends one.
inline constexpr std::uint64_t kMaxResponseBytes = 4 << 20;

// Bytes per second. A connection that is slower is as good as silent: some send
// a blank from time to time to stay open.
inline constexpr std::uint64_t kSlowestTransfer = 1 << 10;

struct HttpRequest {
  std::string method = "GET";
  std::string url;  // http or https
  std::vector<HttpHeader> headers;
  std::string body;
  // For everything, from the name lookup to the last byte of the response.
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
  // The longest time with less than `kSlowestTransfer`. 0: `timeout` is the
  // only limit.
  std::chrono::seconds longest_silence{0};
  std::uint64_t max_response_bytes = kMaxResponseBytes;
  // Whether the proxy of the environment (http_proxy, https_proxy) gets it. A
  // proxy cannot reach an address that is only known on this machine.
  bool may_use_proxy = true;
};

struct HttpResponse {
  int status = 0;
  std::string body;
  std::vector<HttpHeader> headers;  // their names in lower case

  bool is_success() const { return status >= 200 && status < 300; }

  // Returns the value of the first header of this name, which is in lower case;
  // empty if there is none.
  std::string_view header(std::string_view name) const;
};

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

// Returns the seconds since the Unix epoch of a date in a header, such as "Wed,
// 21 Oct 2015 07:28:00 GMT"; nothing for other text.
std::optional<double> parse_http_date(std::string_view text);

// Returns the part of a URL that may be logged: "https://hooks.example.com/…".
std::string shown_url(const std::string& url);

}  // namespace smdebug
