#pragma once

// `RunIndex` updates a `RunTable` from the index files of a run. A refresh
// lists the keys after a given one, in the folders that have changed, and reads
// new files: the time to poll a growing run depends only on its growth.
//
// A file that cannot be read is left out, reported as damage once, and read
// again at each refresh, because it may have been listed before it was
// complete. So is a file that names the event file of another step or worker:
// it was renamed or exchanged. A file that was removed after it was listed is
// not damage.
//
// The first refresh of a run with many index files takes the content of those
// that statistics files have from there. Which steps exist is what the listing
// of the index files shows, always.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

#include "index/packed_steps.h"
#include "index/run_table.h"

namespace smdebug {

// A file, or a part of one, that was left out, and the reason.
struct LeftOut {
  std::string key;
  std::string what;
};

class RunIndex {
 public:
  // Never reads steps outside [first, end).
  RunIndex(std::shared_ptr<const Storage> storage,
           std::optional<Step> first_step, std::optional<Step> end_step);

  // Reads new files whose keys sort after `after`. With `all`, also lists
  // folders that seem unchanged. Fails with `io` if the run cannot be listed;
  // the table then stays as it was. A folder `index` that can never be listed
  // is no failure: the run reads as if it had none (see
  // `Storage::check_folder`).
  Status refresh(std::string_view after, bool all = false);

  // Forgets what was read, because the run has begun again. Ids stay valid, see
  // `RunTable::restart`.
  void restart();

  // Reads the statistics columns of all files, now and at each later refresh.
  // Those of a store are always read: it would have to send each file again.
  void load_statistics();

  const RunTable& table() const { return table_; }
  // Returns every file that is broken now, and every part of another file that
  // was left out.
  std::vector<LeftOut> left_out() const;
  bool has_broken_files() const { return !broken_.empty(); }

 private:
  // By key, with '/' at the end. None: unknown or uncertain.
  using FolderVersions =
      std::map<std::string, std::optional<std::uint64_t>, std::less<>>;

  FolderVersions versions_after(std::string_view after) const;
  Status list(std::string_view prefix, std::string_view after);
  void add_folders_of(std::string_view key);
  struct ListedFile {
    std::string key;
    StepFileName name;
    std::uint64_t bytes = 0;
  };

  struct WithoutStatistics {
    FileId file;
    std::uint64_t bytes;  // of the index file
  };

  bool is_wanted(const StepFileName& name) const;
  // Reports a file that is not an index file.
  void leave_out(const std::string& key, std::string what);
  std::string key_of(FileId file) const;
  void read_file(const std::string& key, const StepFileName& name);
  void read_files(std::span<const ListedFile> files);
  void take_file(const std::string& key, const StepFileName& name,
                 const Result<Bytes>& bytes);
  FileId take_content(const std::string& key, const StepFileName& name,
                      const IndexFile& content);
  FileId take_packed(const std::string& key, const PackedStep& step);
  void report_length(const std::string& key, std::string_view record,
                     std::uint64_t bytes);
  // Notes a file whose statistics were not loaded.
  void note_statistics(FileId file, const std::string& key,
                       std::uint64_t bytes);
  void retry_broken_files();
  void report_broken(const PackedSteps& packed);
  // Removes those that statistics files have from `files`.
  void add_packed_statistics(std::vector<WithoutStatistics>& files);
  void add_statistics(FileId file, const std::string& key,
                      const Result<Bytes>& bytes);

  std::shared_ptr<const Storage> storage_;
  std::optional<Step> first_step_, end_step_;
  RunTable table_;
  bool with_statistics_ = false;
  bool has_unpacked_ = false;  // the statistics files were looked at
  std::set<std::string, std::less<>> foreign_;  // already reported
  bool has_more_foreign_ = false;
  struct BrokenFile {
    StepFileName name;
    std::string what;
  };
  std::map<std::string, BrokenFile> broken_;
  std::vector<LeftOut> left_out_;
  std::vector<WithoutStatistics> without_statistics_;
  std::map<FileId, std::string> odd_keys_;  // keys other than the usual
  FolderVersions folders_;                  // from before the last listing
};

}  // namespace smdebug
