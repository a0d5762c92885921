#include "net/certificates.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

struct Host {
  std::map<std::string, std::string> variables;
  std::set<std::string> files;
  std::string packages = "/packages";

  Certificates find() const {
    return find_certificates(
        {[this](const char* name) {
           const auto found = variables.find(name);
           return found == variables.end() ? std::optional<std::string>()
                                           : std::optional(found->second);
         },
         [this](const std::string& path) { return files.contains(path); },
         packages});
  }
};

constexpr const char* kCertifi = "/packages/certifi/cacert.pem";
constexpr const char* kDebian = "/etc/ssl/certs/ca-certificates.crt";
constexpr const char* kFedora = "/etc/pki/tls/certs/ca-bundle.crt";

TEST(Certificates, OfOpenSslsVariablesAreTakenFirst) {
  Host host{{{"SSL_CERT_FILE", "/mine.pem"},
             {"SSL_CERT_DIR", "/mine"},
             {"CURL_CA_BUNDLE", "/other.pem"}},
            {kCertifi, kDebian}};
  EXPECT_EQ(host.find(), (Certificates{"/mine.pem", "/mine"}));
  host.variables.erase("SSL_CERT_FILE");
  EXPECT_EQ(host.find(), (Certificates{"", "/mine"}));
  host.variables.erase("SSL_CERT_DIR");
  EXPECT_EQ(host.find(), (Certificates{"/other.pem", ""}));
}

TEST(Certificates, OfAnEmptyVariableAreNotTaken) {
  const Host host{{{"SSL_CERT_FILE", ""}, {"CURL_CA_BUNDLE", ""}}, {kDebian}};
  EXPECT_EQ(host.find(), (Certificates{kDebian, ""}));
}

TEST(Certificates, OfCertifiAreTakenBeforeThoseOfTheDistribution) {
  Host host{{}, {kCertifi, kDebian}};
  EXPECT_EQ(host.find(), (Certificates{kCertifi, ""}));
  host.packages = "";
  EXPECT_EQ(host.find(), (Certificates{kDebian, ""}));
}

TEST(Certificates, AreFoundWhereTheDistributionHasThem) {
  EXPECT_EQ((Host{{}, {kFedora, "/etc/ssl/cert.pem"}}).find(),
            (Certificates{kFedora, ""}));
  EXPECT_EQ((Host{{}, {"/etc/ssl/cert.pem"}}).find(),
            (Certificates{"/etc/ssl/cert.pem", ""}));
  EXPECT_EQ((Host{}).find(), Certificates());
}

TEST(Certificates, OfThisHostAreAFileThatExists) {
  const Certificates found = trusted_certificates();
  if (found == Certificates()) GTEST_SKIP() << "the host has none";
  EXPECT_FALSE(found.file.empty() && found.folder.empty());
}

}  // namespace
}  // namespace smdebug
