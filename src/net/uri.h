#pragma once

// Percent-encoding, and the forms that are made of it.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smdebug {

// Every byte but letters, digits and "-._~" becomes %XX (RFC 3986, as request
// signing wants it). With `keep_slashes`, '/' stays.
std::string uri_encoded(std::string_view text, bool keep_slashes = false);

// "a=1&b=two%20words", in the order given.
std::string form_encoded(
    const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace smdebug
