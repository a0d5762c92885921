#include "net/xml.h"

#include <pugixml.hpp>

namespace smdebug {

std::optional<std::string> find_xml_text(std::string_view document,
                                         std::string_view element) {
  pugi::xml_document parsed;
  if (!parsed.load_buffer(document.data(), document.size())) return {};
  const pugi::xml_node found = parsed.find_node(
      [&](const pugi::xml_node& node) { return element == node.name(); });
  if (!found) return {};
  return found.text().get();
}

}  // namespace smdebug
