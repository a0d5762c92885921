#pragma once

// Reads INI files in the dialect of Python's configparser, with which the tools
// of AWS read theirs: "key = value" or "key: value" in "[sections]", lines that
// begin with '#' or ';' are comments, and lines that are indented deeper than a
// key continue its value. A pure function; aws_shared_files.h reads the files.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

namespace smdebug {

// Keys are in lower case. The lines of a continued value are joined by "\n".
using IniValues = std::map<std::string, std::string, std::less<>>;

struct IniSection {
  std::string name;
  IniValues values;
};

// Returns the sections in the order of the text. Fails with `corrupt` and the
// number of the line: text before the first section, a line without '=' and
// ':', a section or a key that occurs twice. The message does not contain the
// line, which may be secret.
Result<std::vector<IniSection>> parse_ini(std::string_view text);

}  // namespace smdebug
