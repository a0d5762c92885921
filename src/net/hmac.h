#pragma once

// SHA-256 and HMAC-SHA256 by OpenSSL, and hexadecimal text.

#include <string>
#include <string_view>

namespace smdebug {

// Both return 32 bytes.
std::string sha256(std::string_view text);
std::string hmac_sha256(std::string_view key, std::string_view text);

// Returns two lower-case digits per byte.
std::string hex_text(std::string_view bytes);

}  // namespace smdebug
