// Repeats the parsing of a hook configuration, so that
// test_instruction_counts.py can count its instructions: collections with a
// pattern and an unknown key each, on one line.
//
//     smdebug_config_instruction_driver COLLECTIONS

#include <cstdlib>
#include <string>

#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config_file.h"

using namespace smdebug;

int main(int, char** argv) {
  const int collections = std::atoi(argv[1]);
  std::string text = R"({"LocalPath": "/run", "CollectionConfigurations": [)";
  for (int i = 0; i < collections; ++i) {
    const std::string number = std::to_string(i);
    text += i == 0 ? "" : ", ";
    text += R"({"CollectionName": "c)" + number;
    text += R"(", "CollectionParameters": {"include_regex": "x)" + number;
    text += R"($", "save_intervals": 3}})";
  }
  text += "]}";
  const auto file = parse_hook_config(text, "file.json", pytorch_framework(),
                                      JobEnvironment());
  return file && file->warnings.size() == static_cast<std::size_t>(collections)
             ? 0
             : 1;
}
