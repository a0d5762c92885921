#pragma once

// Sends a complete message to a mail server over SMTP. `MailClient` is an
// interface that tests implement; `mail_client()` uses libcurl (curl.cc).

#include <chrono>
#include <string>
#include <vector>

#include "smdebug/base/result.h"

namespace smdebug {

struct SmtpServer {
  std::string url;   // "smtp://host:25", "smtps://host"
  std::string user;  // empty: no login
  std::string password;
};

struct Mail {
  std::string from;  // an address without a name: "a@example.com"
  std::vector<std::string> to;
  std::string message;  // RFC 5322: header, empty line, body; lines end in CRLF
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
};

class MailClient {
 public:
  virtual ~MailClient() = default;

  // Encrypts the connection if the server supports it, and always if there is a
  // password. Fails with `invalid_argument` for a URL that is not SMTP's or an
  // invalid address, `unavailable` if the server cannot be reached in time, and
  // `io` if it refuses. Safe to call from several threads.
  virtual Status send(const SmtpServer& server, const Mail& mail) const = 0;
};

const MailClient& mail_client();

}  // namespace smdebug
