#pragma once

// The certificate authorities that a TLS connection trusts. A library that is
// linked statically must find those of the Linux distribution it runs on.

#include <functional>
#include <optional>
#include <string>

namespace smdebug {

// A file with certificates in PEM format, and a folder as OpenSSL makes it.
// Empty: none.
struct Certificates {
  std::string file;
  std::string folder;

  friend bool operator==(const Certificates&, const Certificates&) = default;
};

struct CertificatePlaces {
  std::function<std::optional<std::string>(const char*)> variable;
  std::function<bool(const std::string& path)> has_file;
  // The folder of Python packages, such as certifi. Empty: not in Python.
  std::string packages;
};

// Returns those of SSL_CERT_FILE and SSL_CERT_DIR, else of CURL_CA_BUNDLE, else
// of the Python package certifi, else of the first place of a distribution that
// exists. A variable that is set is taken whether its file exists or not, so
// that the connection fails with its name.
Certificates find_certificates(const CertificatePlaces& places);

// Those of this process.
Certificates trusted_certificates();

}  // namespace smdebug
