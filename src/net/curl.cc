// HTTP and SMTP over libcurl: the one place that includes it.

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <curl/curl.h>

#include "smdebug/base/blocking_wait.h"
#include "smdebug/base/escape.h"

#include "base/environment.h"
#include "base/strings.h"
#include "net/certificates.h"
#include "net/http.h"
#include "net/mail.h"

namespace smdebug {
namespace {

struct CurlFree {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  void operator()(char* text) const { curl_free(text); }
};
using Handle = std::unique_ptr<CURL, CurlFree>;
using UrlHandle = std::unique_ptr<CURLU, CurlFree>;
using List = std::unique_ptr<curl_slist, CurlFree>;

Handle make_handle() {
  static std::once_flag once;
  // libcurl must not be initialized concurrently. It is never cleaned up,
  // because the program may use it as well.
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  return Handle(curl_easy_init());
}

// Handles with the connections that they have opened.
class HandlePool {
 public:
  Handle take() {
    const std::lock_guard lock(mutex_);
    forget_those_of_parent();
    if (idle_.empty()) return make_handle();
    Handle handle = std::move(idle_.back());
    idle_.pop_back();
    return handle;
  }

  void give_back(Handle handle) {
    curl_easy_reset(handle.get());  // keeps the connections
    const std::lock_guard lock(mutex_);
    if (process_ == process_id() && idle_.size() < kMostIdle) {
      idle_.push_back(std::move(handle));
    }
  }

 private:
  static constexpr std::size_t kMostIdle = 64;

  // A child process has the connections of its parent, which still uses them:
  // it may neither send anything over them nor close them.
  void forget_those_of_parent() {
    if (process_ == process_id()) return;
    process_ = process_id();
    for (Handle& handle : idle_) (void)handle.release();
    idle_.clear();
  }

  std::mutex mutex_;
  std::int64_t process_ = process_id();
  std::vector<Handle> idle_;
};

// Never destroyed, because other threads may send requests until the end.
HandlePool& pool() {
  static auto& pool = *new HandlePool;
  return pool;
}

void trust_certificates(CURL* handle) {
  const Certificates trusted = trusted_certificates();
  if (!trusted.file.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, trusted.file.c_str());
  }
  if (!trusted.folder.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAPATH, trusted.folder.c_str());
  }
}

// Appends to the list, or leaves it unchanged if memory is exhausted.
void add_line(List& list, const std::string& line) {
  if (curl_slist* longer = curl_slist_append(list.get(), line.c_str())) {
    (void)list.release();
    list.reset(longer);
  }
}

void set_time_limit(CURL* handle, std::chrono::milliseconds timeout) {
  // Otherwise the time limit of name lookups would use a signal.
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS,
                   static_cast<long>(timeout.count()));
}

CURLcode perform(CURL* handle) {
  const BlockingWait wait;
  return curl_easy_perform(handle);
}

struct Received {
  std::string bytes;
  std::uint64_t most_bytes = kMaxResponseBytes;
  bool is_too_long = false;
  std::vector<HttpHeader> headers;
};

std::size_t receive(const char* bytes, std::size_t, std::size_t size,
                    void* target) {
  auto& received = *static_cast<Received*>(target);
  if (received.bytes.size() + size > received.most_bytes) {
    received.is_too_long = true;
    return 0;  // ends the transfer
  }
  received.bytes.append(bytes, size);
  return size;
}

// Takes a line of the head of a response.
std::size_t receive_header(const char* bytes, std::size_t, std::size_t size,
                           void* target) {
  auto& headers = static_cast<Received*>(target)->headers;
  const std::string_view line(bytes, size);
  const std::size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {
    headers
        .clear();  // an interim response, such as that of a proxy, came first
  } else if (colon != line.npos) {
    headers.push_back({lower_case(trimmed(line.substr(0, colon))),
                       std::string(trimmed(line.substr(colon + 1)))});
  }
  return size;
}

std::size_t send_part(char* buffer, std::size_t size, std::size_t count,
                      void* source) {
  auto& rest = *static_cast<std::string_view*>(source);
  const std::size_t n = std::min(size * count, rest.size());
  std::memcpy(buffer, rest.data(), n);
  rest.remove_prefix(n);
  return n;
}

// Returns the message of the transfer, or the meaning of its code.
std::string reason(CURLcode code, const char* message) {
  return message[0] ? message : curl_easy_strerror(code);
}

bool is_http(const std::string& url) {
  const auto parts = split_url(url);
  return parts && (parts->scheme == "http" || parts->scheme == "https");
}

Error http_failure(const HttpRequest& request, CURLcode code,
                   const char* message, const Received& received) {
  const std::string where = request.method + " " + shown_url(request.url);
  if (received.is_too_long || code == CURLE_FILESIZE_EXCEEDED) {
    return {Error::Code::io, where + ": the answer is longer than " +
                                 std::to_string(request.max_response_bytes) +
                                 " bytes"};
  }
  // libcurl also calls an answer without a head a protocol that it does not
  // know.
  if (code == CURLE_URL_MALFORMAT ||
      (code == CURLE_UNSUPPORTED_PROTOCOL && !is_http(request.url))) {
    return {Error::Code::invalid_argument,
            where + ": a URL begins with http:// or https://"};
  }
  return {Error::Code::unavailable, where + ": " + reason(code, message)};
}

class CurlHttp : public HttpClient {
 public:
  Result<HttpResponse> send(const HttpRequest& request) const override {
    List headers;
    for (const auto& [name, value] : request.headers) {
      if (!is_one_line(name) || !is_one_line(value)) {
        return Error{Error::Code::invalid_argument,
                     "header '" + printable(name) + "' is not one line"};
      }
      add_line(headers, name + ": " + value);
    }
    // Otherwise libcurl may wait for the server's permission to send the body.
    add_line(headers, "Expect:");
    Handle handle = pool().take();
    Received received{.most_bytes = request.max_response_bytes};
    char message[CURL_ERROR_SIZE] = "";
    configure(handle.get(), request, received, message);
    curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
    const CURLcode code = perform(handle.get());
    if (code != CURLE_OK) return http_failure(request, code, message, received);
    long status = 0;
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
    pool().give_back(std::move(handle));
    return HttpResponse{static_cast<int>(status), std::move(received.bytes),
                        std::move(received.headers)};
  }

 private:
  static void configure(CURL* handle, const HttpRequest& request,
                        Received& received, char* message) {
    trust_certificates(handle);
    curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
    // A key of an object may look like "a/../b".
    curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (!request.may_use_proxy) curl_easy_setopt(handle, CURLOPT_NOPROXY, "*");
    if (request.method == "HEAD") {
      curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
    } else if (request.method != "GET") {
      curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.data());
      curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
    }
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &received);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, receive_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &received);
    // A response that is too long by its head is not read at all. That to HEAD
    // has the length of an object, and no body.
    if (request.method != "HEAD") {
      curl_easy_setopt(handle, CURLOPT_MAXFILESIZE_LARGE,
                       static_cast<curl_off_t>(received.most_bytes));
    }
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, message);
    set_time_limit(handle, request.timeout);
    if (request.longest_silence.count() > 0) {
      const auto seconds = static_cast<long>(request.longest_silence.count());
      curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, seconds);
      curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT,
                       static_cast<long>(kSlowestTransfer));
      curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, seconds);
    }
  }
};

class CurlMail : public MailClient {
 public:
  Status send(const SmtpServer& server, const Mail& mail) const override {
    if (!server.url.starts_with("smtp://") &&
        !server.url.starts_with("smtps://")) {
      return Error{Error::Code::invalid_argument,
                   "the mail server's URL begins with smtp:// or smtps://"};
    }
    List recipients;
    for (const std::string& address : mail.to) {
      if (!is_one_line(address)) {
        return Error{Error::Code::invalid_argument,
                     "'" + printable(address) + "' is not an address"};
      }
      add_line(recipients, address);
    }
    Handle handle = make_handle();
    trust_certificates(handle.get());
    char message[CURL_ERROR_SIZE] = "";
    std::string_view rest = mail.message;
    curl_easy_setopt(handle.get(), CURLOPT_ERRORBUFFER, message);
    curl_easy_setopt(handle.get(), CURLOPT_URL, server.url.c_str());
    curl_easy_setopt(handle.get(), CURLOPT_MAIL_FROM, mail.from.c_str());
    curl_easy_setopt(handle.get(), CURLOPT_MAIL_RCPT, recipients.get());
    curl_easy_setopt(handle.get(), CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle.get(), CURLOPT_READFUNCTION, send_part);
    curl_easy_setopt(handle.get(), CURLOPT_READDATA, &rest);
    set_time_limit(handle.get(), mail.timeout);
    log_in(handle.get(), server);
    const CURLcode code = perform(handle.get());
    if (code == CURLE_OK) return {};
    const bool is_unreachable =
        code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
        code == CURLE_OPERATION_TIMEDOUT || code == CURLE_GOT_NOTHING ||
        code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR;
    return Error{
        is_unreachable ? Error::Code::unavailable : Error::Code::io,
        "mail server " + shown_url(server.url) + ": " + reason(code, message)};
  }

 private:
  // A password is never sent without encryption.
  static void log_in(CURL* handle, const SmtpServer& server) {
    const bool has_password = !server.user.empty();
    curl_easy_setopt(handle, CURLOPT_USE_SSL,
                     has_password ? CURLUSESSL_ALL : CURLUSESSL_TRY);
    if (!has_password) return;
    curl_easy_setopt(handle, CURLOPT_USERNAME, server.user.c_str());
    curl_easy_setopt(handle, CURLOPT_PASSWORD, server.password.c_str());
  }
};

// Returns a part of a URL, empty if it is absent.
std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  const std::unique_ptr<char, CurlFree> owner(text);
  return text;
}

}  // namespace

std::string_view HttpResponse::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &HttpHeader::name);
  return found == headers.end() ? std::string_view() : found->value;
}

const HttpClient& http_client() {
  static const CurlHttp client;
  return client;
}

const MailClient& mail_client() {
  static const CurlMail client;
  return client;
}

Result<UrlParts> split_url(const std::string& url) {
  const UrlHandle handle(curl_url());
  if (curl_url_set(handle.get(), CURLUPART_URL, url.c_str(),
                   CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS) != CURLUE_OK) {
    return Error{Error::Code::invalid_argument,
                 "a URL like https://host/path was expected"};
  }
  UrlParts parts;
  parts.scheme = part_of(handle.get(), CURLUPART_SCHEME);
  parts.authority = part_of(handle.get(), CURLUPART_HOST);
  const std::string port = part_of(handle.get(), CURLUPART_PORT);
  if (!port.empty()) parts.authority += ":" + port;
  parts.path = part_of(handle.get(), CURLUPART_PATH);
  if (parts.path.empty()) parts.path = "/";
  parts.query = part_of(handle.get(), CURLUPART_QUERY);
  return parts;
}

std::optional<double> parse_http_date(std::string_view text) {
  const auto seconds = curl_getdate(std::string(text).c_str(), nullptr);
  if (seconds < 0) return {};
  return static_cast<double>(seconds);
}

std::string shown_url(const std::string& url) {
  const auto parts = split_url(url);
  if (!parts) return "an invalid URL";
  const bool has_more = parts->path != "/" || !parts->query.empty();
  return printable(parts->scheme + "://" + parts->authority +
                   (has_more ? "/…" : ""));
}

}  // namespace smdebug
