#pragma once

// Reads the answers of services in XML, by pugixml.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smdebug {

// Returns the text of the first element with this name, at any depth of a
// response in XML; nothing if there is none or the document is not XML.
std::optional<std::string> find_xml_text(std::string_view document,
                                         std::string_view element);

// The texts of the children of an element, by their names.
using XmlRecord = std::map<std::string, std::string, std::less<>>;

// Returns a record for each element with this name among the children of the
// root, which is called `root`; nothing if the document is not XML or has
// another root.
std::optional<std::vector<XmlRecord>> find_xml_records(
    std::string_view document, std::string_view root, std::string_view element);

}  // namespace smdebug
