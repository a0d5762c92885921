#pragma once

// `RunIndex` keeps a `RunTable` in step with the index files of a run. A
// refresh lists what sorts after a given key, in the folders that have
// changed, and reads what is new: polling a growing run costs what has grown.
//
// A file that cannot be read is left out, told as damage once, and tried again
// at each refresh, because it may have been listed while still on its way. One
// that was removed between listing and reading is no damage.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

#include "index/run_table.h"

namespace smdebug {

// A file, or a part of it, that was left out, and why.
struct LeftOut {
  std::string key;
  std::string what;
};

class RunIndex {
 public:
  // Steps outside [first, end) are never read.
  RunIndex(std::shared_ptr<const Storage> storage,
           std::optional<Step> first_step, std::optional<Step> end_step);

  // Reads the files that sort after `after` and are not known yet. `all` looks
  // into folders that seem unchanged, too. Fails with `io` where the run cannot
  // be listed; what was known stays.
  Status refresh(std::string_view after, bool all = false);

  // Reads the statistics columns of all files, now and at each refresh from
  // now on.
  void load_statistics();

  const RunTable& table() const { return table_; }
  // Every file that is broken now, and every part of others that was.
  std::vector<LeftOut> left_out() const;
  bool has_broken_files() const { return !broken_.empty(); }

 private:
  // By key, with '/' at the end. None: not known, or not for sure.
  using FolderVersions =
      std::map<std::string, std::optional<std::uint64_t>, std::less<>>;

  FolderVersions versions_after(std::string_view after) const;
  Status list(std::string_view prefix, std::string_view after);
  void add_folders_of(std::string_view key);
  bool is_wanted(const StepFileName& name) const;
  // Tells of a file that is none of ours.
  void leave_out(const std::string& key, std::string what);
  std::string key_of(FileId file) const;
  void read_file(const std::string& key, const StepFileName& name);
  void retry_broken_files();

  std::shared_ptr<const Storage> storage_;
  std::optional<Step> first_step_, end_step_;
  RunTable table_;
  bool with_statistics_ = false;
  std::set<std::string, std::less<>> foreign_;  // told once
  struct BrokenFile {
    StepFileName name;
    std::string what;
  };
  std::map<std::string, BrokenFile> broken_;
  std::vector<LeftOut> left_out_;
  std::vector<FileId> without_statistics_;
  std::map<FileId, std::string> odd_keys_;  // where not named as usual
  FolderVersions folders_;  // as they were before they were listed last
};

}  // namespace smdebug
