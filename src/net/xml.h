#pragma once

// The little that is read of the XML that cloud services answer with.

#include <optional>
#include <string>
#include <string_view>

namespace smdebug {

// The text of the first element of that name, at any depth; none where there
// is no such element, or the document is no XML.
std::optional<std::string> find_xml_text(std::string_view document,
                                         std::string_view element);

}  // namespace smdebug
