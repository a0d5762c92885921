#pragma once

// A chain of folders whose path is too long for one call.

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace smdebug {

// Exists below a folder as "d/d/d/..." until its end.
class DeepFolder {
 public:
  DeepFolder(const std::string& parent, int depth) : parent_(parent) {
    const std::filesystem::path home = std::filesystem::current_path();
    std::filesystem::current_path(parent_);
    for (; depth_ < depth; ++depth_) {
      if (mkdir("d", 0777) != 0 || chdir("d") != 0) break;
    }
    std::filesystem::current_path(home);
    EXPECT_EQ(depth_, depth);
  }
  DeepFolder(const DeepFolder&) = delete;
  DeepFolder& operator=(const DeepFolder&) = delete;
  ~DeepFolder() {
    const std::filesystem::path home = std::filesystem::current_path();
    std::filesystem::current_path(parent_);
    int depth = 0;
    while (chdir("d") == 0) ++depth;
    for (; depth > 0; --depth) {
      if (chdir("..") != 0) break;
      (void)rmdir("d");
    }
    std::filesystem::current_path(home);
  }

 private:
  const std::string parent_;
  int depth_ = 0;
};

}  // namespace smdebug
