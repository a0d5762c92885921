#include "net/ini_file.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"

namespace smdebug {
namespace {

class IniReader {
 public:
  Status read(std::string_view line) {
    ++number_;
    const std::string_view text = trimmed(line);
    if (text.starts_with('#') || text.starts_with(';')) return {};
    if (text.empty()) {
      if (value_) *value_ += '\n';
      return {};
    }
    const std::size_t indent = line.find_first_not_of(" \t");
    if (value_ && indent > indent_) {
      *value_ += "\n" + std::string(text);
      return {};
    }
    indent_ = indent;
    const std::size_t close = text.rfind(']');
    const bool is_section =
        text.starts_with('[') && close != text.npos && close > 1;
    return is_section ? start_section(text.substr(1, close - 1))
                      : start_value(text);
  }

  std::vector<IniSection> sections() && {
    for (IniSection& section : sections_) {
      for (auto& [key, value] : section.values) {
        value.erase(value.find_last_not_of('\n') + 1);
      }
    }
    return std::move(sections_);
  }

 private:
  Status start_section(std::string_view name) {
    if (std::ranges::find(sections_, name, &IniSection::name) !=
        sections_.end()) {
      return failure("a section that occurred before");
    }
    sections_.push_back({std::string(name), {}});
    value_ = nullptr;
    return {};
  }

  Status start_value(std::string_view text) {
    if (sections_.empty()) {
      return failure("text before the first [section]");
    }
    const std::size_t end = text.find_first_of("=:");
    if (end == text.npos || end == 0) {
      return failure("neither [section] nor key = value");
    }
    const auto [entry, is_new] = sections_.back().values.emplace(
        lower_case(trimmed(text.substr(0, end))),
        trimmed(text.substr(end + 1)));
    if (!is_new) return failure("a key that occurred in this section before");
    value_ = &entry->second;
    return {};
  }

  Error failure(const char* found) const {
    return {Error::Code::corrupt, fmt::format("line {}: {}", number_, found)};
  }

  std::vector<IniSection> sections_;
  int number_ = 0;
  std::size_t indent_ = 0;        // of the latest key or section
  std::string* value_ = nullptr;  // the latest one of this section
};

}  // namespace

Result<std::vector<IniSection>> parse_ini(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  IniReader reader;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    SMD_CHECK_OK(reader.read(text.substr(0, end)));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return std::move(reader).sections();
}

}  // namespace smdebug
