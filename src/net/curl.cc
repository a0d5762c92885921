// HTTP and SMTP over libcurl: the one place that includes it.

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include <curl/curl.h>

#include "smdebug/base/escape.h"

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
  Handle handle(curl_easy_init());
  const Certificates trusted = trusted_certificates();
  if (!trusted.file.empty()) {
    curl_easy_setopt(handle.get(), CURLOPT_CAINFO, trusted.file.c_str());
  }
  if (!trusted.folder.empty()) {
    curl_easy_setopt(handle.get(), CURLOPT_CAPATH, trusted.folder.c_str());
  }
  return handle;
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

struct Received {
  std::string bytes;
  bool is_too_long = false;
};

std::size_t receive(const char* bytes, std::size_t, std::size_t size,
                    void* target) {
  auto& received = *static_cast<Received*>(target);
  if (received.bytes.size() + size > kMaxResponseBytes) {
    received.is_too_long = true;
    return 0;  // ends the transfer
  }
  received.bytes.append(bytes, size);
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

Error http_failure(const HttpRequest& request, CURLcode code,
                   const char* message, const Received& received) {
  const std::string where = request.method + " " + shown_url(request.url);
  if (received.is_too_long) {
    return {Error::Code::io, where + ": the answer is longer than " +
                                 std::to_string(kMaxResponseBytes) + " bytes"};
  }
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
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
    Handle handle = make_handle();
    Received received;
    char message[CURL_ERROR_SIZE] = "";
    configure(handle.get(), request, received, message);
    curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
    const CURLcode code = curl_easy_perform(handle.get());
    if (code != CURLE_OK) return http_failure(request, code, message, received);
    long status = 0;
    curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
    return HttpResponse{static_cast<int>(status), std::move(received.bytes)};
  }

 private:
  static void configure(CURL* handle, const HttpRequest& request,
                        Received& received, char* message) {
    curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (request.method != "GET") {
      curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.data());
      curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
    }
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &received);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, message);
    set_time_limit(handle, request.timeout);
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
    const CURLcode code = curl_easy_perform(handle.get());
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
                   CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
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

std::string shown_url(const std::string& url) {
  const auto parts = split_url(url);
  if (!parts) return "an invalid URL";
  const bool has_more = parts->path != "/" || !parts->query.empty();
  return printable(parts->scheme + "://" + parts->authority +
                   (has_more ? "/…" : ""));
}

}  // namespace smdebug
