#pragma once

// A fixture for tests of AWS credentials: an empty home folder, no variables
// for AWS, and a clock that stands at 2015-08-30T12:36:00Z.

#include <filesystem>
#include <list>
#include <string>

#include <gtest/gtest.h>

#include "net/aws_sources.h"
#include "net/scripted_http_testing.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {

inline constexpr double kAwsNow = 1440938160;
inline constexpr const char* kInAnHour = "2015-08-30T13:36:00Z";
inline constexpr double kHour = 3600;
inline const Error kNobody = {Error::Code::unavailable, "nobody answers"};

class AwsTest : public testing::Test {
 protected:
  AwsTest() {
    for (const char* const name : {"AWS_ACCESS_KEY_ID",
                                   "AWS_SECRET_ACCESS_KEY",
                                   "AWS_SESSION_TOKEN",
                                   "AWS_SECURITY_TOKEN",
                                   "AWS_PROFILE",
                                   "AWS_DEFAULT_PROFILE",
                                   "AWS_SHARED_CREDENTIALS_FILE",
                                   "AWS_CONFIG_FILE",
                                   "AWS_WEB_IDENTITY_TOKEN_FILE",
                                   "AWS_ROLE_ARN",
                                   "AWS_ROLE_SESSION_NAME",
                                   "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                   "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                   "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                                   "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                                   "AWS_EC2_METADATA_DISABLED",
                                   "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                   "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
                                   "AWS_REGION",
                                   "AWS_DEFAULT_REGION",
                                   "AWS_ENDPOINT_URL",
                                   "AWS_ENDPOINT_URL_SAGEMAKER",
                                   "AWS_ENDPOINT_URL_SNS",
                                   "AWS_ENDPOINT_URL_SSO",
                                   "AWS_ENDPOINT_URL_SSO_OIDC",
                                   "AWS_ENDPOINT_URL_STS"}) {
      set(name, nullptr);
    }
    set("HOME", home_.path().c_str());
    std::filesystem::create_directories(home_.path(".aws/sso/cache"));
  }

  // Until the end of the test.
  void set(const char* name, const char* value) {
    variables_.emplace_front(name, value);
  }
  void write_config(const std::string& text) const {
    home_.write(".aws/config", text);
  }
  void write_credentials(const std::string& text) const {
    home_.write(".aws/credentials", text);
  }

  TemporaryFolder home_;
  FakeClock clock_{kAwsNow};

 private:
  // Destroyed from the front, so that the oldest value is restored last.
  std::list<ScopedVariable> variables_;
};

inline std::string header_of(const HttpRequest& request,
                             const std::string& name) {
  for (const HttpHeader& header : request.headers) {
    if (header.name == name) return header.value;
  }
  return "";
}

// A response of the security token service.
inline HttpResponse role_response(const std::string& key,
                                  const std::string& expiration = kInAnHour) {
  return {200,
          "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/"
          "2011-06-15/\"><AssumeRoleResult><Credentials><AccessKeyId>" +
              key +
              "</AccessKeyId><SecretAccessKey>secret-of-role</SecretAccessKey>"
              "<SessionToken>token-of-role</SessionToken><Expiration>" +
              expiration +
              "</Expiration></Credentials></AssumeRoleResult>"
              "</AssumeRoleResponse>"};
}

// A response of the server of a container, or of the metadata service.
inline HttpResponse key_response(const std::string& key,
                                 const std::string& expiration = kInAnHour) {
  return {200, R"({"Code": "Success", "AccessKeyId": ")" + key +
                   R"(", "SecretAccessKey": "S", "Token": "T", )" +
                   R"("Expiration": ")" + expiration + "\"}"};
}

}  // namespace smdebug
