// Tests HTTP over libcurl with minimal servers on this machine. python/tests
// sends requests and mails to real servers.

#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/result_matchers_testing.h"
#include "net/http.h"
#include "net/mail.h"
#include "net/scripted_http_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Listens on a port of its own; what it accepts is up to the test.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, any, size), 0);
    EXPECT_EQ(::listen(socket_, 4), 0);
    EXPECT_EQ(::getsockname(socket_, any, &size), 0);
    port_ = std::to_string(ntohs(address.sin_port));
  }
  ~Listener() { ::close(socket_); }

  std::string url() const { return "http://127.0.0.1:" + port_; }
  const std::string& port() const { return port_; }

  // Takes one connection, reads until `end` has come, and answers.
  std::string serve_once(std::string_view end, std::string_view answer) const {
    const int connection = ::accept(socket_, nullptr, nullptr);
    std::string request;
    char block[1024];
    while (request.find(end) == std::string::npos) {
      const auto n = ::read(connection, block, sizeof block);
      if (n <= 0) break;
      request.append(block, static_cast<std::size_t>(n));
    }
    EXPECT_EQ(::write(connection, answer.data(), answer.size()),
              static_cast<ssize_t>(answer.size()));
    ::close(connection);
    return request;
  }

  // Answers two requests of one connection.
  void serve_twice(std::string_view end, std::string_view answer) const {
    const int connection = ::accept(socket_, nullptr, nullptr);
    for (int i = 0; i < 2; ++i) {
      std::string request;
      char block[1024];
      while (request.find(end) == std::string::npos) {
        const auto n = ::read(connection, block, sizeof block);
        if (n <= 0) break;
        request.append(block, static_cast<std::size_t>(n));
      }
      EXPECT_EQ(::write(connection, answer.data(), answer.size()),
                static_cast<ssize_t>(answer.size()));
    }
    ::close(connection);
  }

  // Writes and writes until the other side hangs up.
  void serve_without_end(std::string_view head) const {
    const int connection = ::accept(socket_, nullptr, nullptr);
    const std::string block(1 << 16, 'x');
    std::string_view next = head;
    while (::send(connection, next.data(), next.size(), MSG_NOSIGNAL) > 0) {
      next = block;
    }
    ::close(connection);
  }

  // Writes a blank from time to time until the other side hangs up.
  void serve_slowly_without_end(std::string_view head) const {
    const int connection = ::accept(socket_, nullptr, nullptr);
    std::string_view next = head;
    pollfd hang_up = {connection, POLLRDHUP, 0};
    do {
      (void)::send(connection, next.data(), next.size(), MSG_NOSIGNAL);
      next = " ";
    } while (::poll(&hang_up, 1, 50) == 0);
    ::close(connection);
  }

 private:
  int socket_;
  std::string port_;
};

TEST(HttpClient, SendsWhatItIsGivenAndReturnsTheAnswer) {
  const Listener listener;
  std::string seen;
  std::jthread server([&] {
    seen = listener.serve_once(
        "{\"a\": 1}", "HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nlater");
  });
  HttpRequest request;
  request.method = "POST";
  request.url = listener.url() + "/hook?x=1";
  request.headers = {{"Content-Type", "application/json"}, {"X-Own", "value"}};
  request.body = "{\"a\": 1}";
  const auto response = http_client().send(request);
  server.join();
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->status, 503);
  EXPECT_FALSE(response->is_success());
  EXPECT_EQ(response->body, "later");
  EXPECT_THAT(seen, AllOf(HasSubstr("POST /hook?x=1 HTTP/1.1\r\n"),
                          HasSubstr("X-Own: value\r\n"),
                          HasSubstr("Content-Length: 8\r\n"),
                          Not(HasSubstr("Expect:"))));
}

TEST(HttpClient, GivesUpAServerThatNeverAnswers) {
  const Listener listener;
  HttpRequest request;
  request.url = listener.url() + "/secret";
  request.timeout = std::chrono::milliseconds(50);
  const auto response = http_client().send(request);
  ASSERT_THAT(response, FailsWith(Error::Code::unavailable));
  EXPECT_THAT(response.error().message,
              AllOf(HasSubstr(listener.url()), Not(HasSubstr("secret")),
                    HasSubstr("timed out")));
}

TEST(HttpClient, GivesUpAnAnswerThatNeverEnds) {
  const Listener listener;
  std::jthread server(
      [&] { listener.serve_slowly_without_end("HTTP/1.1 200 OK\r\n\r\n"); });
  HttpRequest request;
  request.url = listener.url();
  request.timeout = std::chrono::seconds(20);
  request.longest_silence = std::chrono::seconds(1);
  EXPECT_THAT(http_client().send(request),
              FailsWith(Error::Code::unavailable, HasSubstr("too slow")));
}

TEST(HttpClient, SaysWhereNobodyListens) {
  std::string url;
  {
    const Listener listener;
    url = listener.url();
  }
  HttpRequest request;
  request.url = url;
  EXPECT_THAT(http_client().send(request),
              FailsWith(Error::Code::unavailable, HasSubstr(url)));
}

TEST(HttpClient, ReadsTheHeadOfAnObjectThatIsLongerThanAResponse) {
  const Listener listener;
  std::jthread server([&] {
    (void)listener.serve_once(
        "\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\nETag: \"x\"\r\n\r\n");
  });
  HttpRequest request;
  request.method = "HEAD";
  request.url = listener.url();
  const auto response = http_client().send(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->body, "");
  EXPECT_EQ(response->header("etag"), "\"x\"");
  EXPECT_EQ(response->header("date"), "");
}

TEST(HttpClient, FailsForABodyThatIsCutShort) {
  const Listener listener;
  std::jthread server([&] {
    (void)listener.serve_once(
        "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart");
  });
  HttpRequest request;
  request.url = listener.url();
  EXPECT_THAT(http_client().send(request), FailsWith(Error::Code::unavailable));
}

// As after an answer of Swift to HEAD, which ends with the end of a body.
TEST(HttpClient, FailsForAnAnswerThatIsNotHttp) {
  const Listener listener;
  std::jthread server(
      [&] { (void)listener.serve_once("\r\n\r\n", "0\r\n\r\n"); });
  HttpRequest request;
  request.url = listener.url();
  EXPECT_THAT(http_client().send(request),
              FailsWith(Error::Code::unavailable, HasSubstr("HTTP/0.9")));
}

TEST(HttpClient, SendsTheNextRequestOverTheSameConnection) {
  const Listener listener;
  constexpr std::string_view kAnswer =
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  std::jthread server([&] { listener.serve_twice("\r\n\r\n", kAnswer); });
  HttpRequest request;
  request.url = listener.url();
  for (int i = 0; i < 2; ++i) {
    const auto response = http_client().send(request);
    ASSERT_THAT(response, IsOk());
    EXPECT_EQ(response->body, "ok");
  }
}

TEST(HttpClient, ReadsTheDateOfAHeader) {
  EXPECT_EQ(parse_http_date("Wed, 21 Oct 2015 07:28:00 GMT"), 1445412480);
  EXPECT_EQ(parse_http_date("soon"), std::nullopt);
}

TEST(HttpClient, SendsARequestPastTheProxyOfTheEnvironment) {
  const Listener listener, proxy;
  const ScopedVariable variable("http_proxy", proxy.url().c_str());
  const ScopedVariable exceptions("no_proxy", nullptr);
  const ScopedVariable more_exceptions("NO_PROXY", nullptr);
  std::jthread server([&] {
    (void)listener.serve_once("\r\n\r\n",
                              "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  });
  std::jthread relay([&] {
    (void)proxy.serve_once("\r\n\r\n",
                           "HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n");
  });
  HttpRequest request;
  request.url = listener.url();
  const auto relayed = http_client().send(request);
  ASSERT_THAT(relayed, IsOk());
  EXPECT_EQ(relayed->status, 502);
  request.may_use_proxy = false;
  const auto direct = http_client().send(request);
  ASSERT_THAT(direct, IsOk());
  EXPECT_EQ(direct->status, 200);
}

TEST(HttpClient, FollowsNoRedirection) {
  const Listener listener;
  std::jthread server([&] {
    (void)listener.serve_once("\r\n\r\n",
                              "HTTP/1.1 302 Found\r\nLocation: file:///etc/"
                              "passwd\r\nContent-Length: 0\r\n\r\n");
  });
  HttpRequest request;
  request.url = listener.url();
  const auto response = http_client().send(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->status, 302);
}

TEST(HttpClient, RefusesWhatIsNotHttpAndHeadersThatAreTwo) {
  HttpRequest request;
  request.url = "file:///etc/passwd";
  EXPECT_THAT(http_client().send(request),
              FailsWith(Error::Code::invalid_argument));
  request.url = "http://127.0.0.1/";
  request.headers = {{"X-Own", "a\r\nX-Other: b"}};
  EXPECT_THAT(http_client().send(request),
              FailsWith(Error::Code::invalid_argument));
}

TEST(HttpClient, EndsAnAnswerThatIsTooLong) {
  const Listener listener;
  std::jthread server(
      [&] { listener.serve_without_end("HTTP/1.1 200 OK\r\n\r\n"); });
  HttpRequest request;
  request.url = listener.url();
  EXPECT_THAT(http_client().send(request),
              FailsWith(Error::Code::io, HasSubstr("longer than")));
}

TEST(MailClient, RefusesWhatIsNoMailServer) {
  Mail mail;
  mail.from = "a@example.com";
  mail.to = {"b@example.com"};
  EXPECT_THAT(mail_client().send({"http://127.0.0.1", "", ""}, mail),
              FailsWith(Error::Code::invalid_argument));
  mail.to = {"b@example.com>\r\nDATA"};
  EXPECT_THAT(mail_client().send({"smtp://127.0.0.1", "", ""}, mail),
              FailsWith(Error::Code::invalid_argument));
}

TEST(MailClient, GivesUpAServerThatNeverAnswers) {
  const Listener listener;
  Mail mail;
  mail.from = "a@example.com";
  mail.to = {"b@example.com"};
  mail.timeout = std::chrono::milliseconds(50);
  EXPECT_THAT(
      mail_client().send({"smtp://127.0.0.1:" + listener.port(), "", ""}, mail),
      FailsWith(Error::Code::unavailable, HasSubstr("timed out")));
}

TEST(MailClient, SaysThatTheServerIsDown) {
  std::string port;
  {
    const Listener listener;
    port = listener.port();
  }
  Mail mail;
  mail.from = "a@example.com";
  mail.to = {"b@example.com"};
  EXPECT_THAT(
      mail_client().send({"smtp://127.0.0.1:" + port, "", ""}, mail),
      FailsWith(Error::Code::unavailable, HasSubstr("127.0.0.1:" + port)));
}

TEST(Url, IsSplitIntoItsParts) {
  const auto parts = split_url("https://user@host:8443/a%20b?x=1&y");
  ASSERT_THAT(parts, IsOk());
  EXPECT_EQ(parts->scheme, "https");
  EXPECT_EQ(parts->authority, "host:8443");
  EXPECT_EQ(parts->path, "/a%20b");
  EXPECT_EQ(parts->query, "x=1&y");
  EXPECT_THAT(split_url(""), FailsWith(Error::Code::invalid_argument));
}

TEST(Url, IsShownWithoutWhatMayBeSecret) {
  EXPECT_EQ(shown_url("https://user:word@host/token"), "https://host/…");
  EXPECT_EQ(shown_url("http://host:80"), "http://host:80");
}

}  // namespace
}  // namespace smdebug
