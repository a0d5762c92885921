#pragma once

// SHA-256, HMAC-SHA256, SHA-1 and MD5 by OpenSSL, and hexadecimal text.

#include <string>
#include <string_view>

namespace smdebug {

// Both return 32 bytes.
std::string sha256(std::string_view text);
std::string hmac_sha256(std::string_view key, std::string_view text);

// Returns 20 bytes. For names of files only: SHA-1 protects nothing.
std::string sha1(std::string_view text);

// Returns 16 bytes; none if OpenSSL may not use MD5. Finds damage; protects
// nothing.
std::string md5(std::string_view text);

// Returns two lower-case digits per byte.
std::string hex_text(std::string_view bytes);

}  // namespace smdebug
