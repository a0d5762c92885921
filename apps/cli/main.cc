#include "smdebug/cli/main.h"

#include <string>
#include <vector>

int main(int count, char** words) {
  const std::vector<std::string> args(words + 1, words + count);
  return smdebug::smdebug_main(args);
}
