#pragma once

// A temporary folder for one test, removed with its contents at the end.

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>

namespace smdebug {

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "smdebug-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) {
      ADD_FAILURE() << "cannot make folder '" << path_ << "'";
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

  // Writes a file in this folder.
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }

 private:
  std::string path_;
};

}  // namespace smdebug
