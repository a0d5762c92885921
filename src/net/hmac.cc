#include "net/hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace smdebug {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string digest_of(std::string_view text, const EVP_MD* algorithm) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, algorithm, nullptr);
  return {reinterpret_cast<const char*>(digest), size};
}

}  // namespace

std::string sha256(std::string_view text) {
  return digest_of(text, EVP_sha256());
}

std::string sha1(std::string_view text) { return digest_of(text, EVP_sha1()); }

std::string md5(std::string_view text) { return digest_of(text, EVP_md5()); }

std::string hmac_sha256(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(text),
       text.size(), digest, &size);
  return {reinterpret_cast<const char*>(digest), size};
}

std::string hex_text(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace smdebug
