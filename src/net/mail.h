#pragma once

// Hands a finished message to a mail server over SMTP (curl.cc). An interface,
// so that tests can be the server.

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
  std::string from;  // an address alone: "a@example.com"
  std::vector<std::string> to;
  std::string message;  // RFC 5322: header, empty line, body; lines end in CRLF
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
};

class MailClient {
 public:
  virtual ~MailClient() = default;

  // The connection is encrypted where the server can; with a password it must.
  // Fails with `invalid_argument` for a URL that is not SMTP's, `unavailable`
  // where the server cannot be reached in time, and `io` where it refuses.
  // Safe to call from several threads.
  virtual Status send(const SmtpServer& server, const Mail& mail) const = 0;
};

const MailClient& mail_client();

}  // namespace smdebug
