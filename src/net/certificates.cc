#include "net/certificates.h"

#include <filesystem>

#include "base/environment.h"
#include "base/text_file.h"

namespace smdebug {
namespace {

constexpr const char* kDistributionFiles[] = {
    "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Gentoo
    "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora, Red Hat
    "/etc/ssl/ca-bundle.pem",              // openSUSE
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Red Hat, SUSE
    "/etc/ssl/cert.pem",                                  // Alpine
};

}  // namespace

Certificates find_certificates(const CertificatePlaces& places) {
  const auto set = [&](const char* name) {
    return places.variable(name).value_or("");
  };
  const Certificates chosen = {set("SSL_CERT_FILE"), set("SSL_CERT_DIR")};
  if (chosen != Certificates()) return chosen;
  if (auto bundle = set("CURL_CA_BUNDLE"); !bundle.empty()) {
    return {std::move(bundle), ""};
  }
  if (!places.packages.empty()) {
    std::string bundle = places.packages + "/certifi/cacert.pem";
    if (places.has_file(bundle)) return {std::move(bundle), ""};
  }
  for (const char* file : kDistributionFiles) {
    if (places.has_file(file)) return {file, ""};
  }
  return {};
}

Certificates trusted_certificates() {
  const std::filesystem::path code = path_of_this_code();
  // site-packages/smdebug/_core.so
  const bool is_module = code.parent_path().filename() == "smdebug";
  return find_certificates(
      {environment_variable, is_file,
       is_module ? code.parent_path().parent_path().string() : ""});
}

}  // namespace smdebug
