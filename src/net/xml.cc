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

std::optional<std::vector<XmlRecord>> find_xml_records(
    std::string_view document, std::string_view root,
    std::string_view element) {
  pugi::xml_document parsed;
  if (!parsed.load_buffer(document.data(), document.size())) return {};
  const pugi::xml_node top = parsed.document_element();
  if (root != top.name()) return {};
  std::vector<XmlRecord> records;
  for (const pugi::xml_node& node : top.children()) {
    if (element != node.name()) continue;
    XmlRecord& record = records.emplace_back();
    for (const pugi::xml_node& child : node.children()) {
      record.emplace(child.name(), child.text().get());
    }
  }
  return records;
}

}  // namespace smdebug
