#include <atomic>

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "smdebug/base/try.h"
#include "smdebug/store/file_in_path.h"

#include "store/backends.h"
#include "store/local_files.h"
#include "store/unfinished_file.h"

namespace smdebug {
namespace {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getentropy(&number, sizeof(number)) != 0) number = 0;
  return number;
}

class LocalWriter final : public ObjectWriter {
 public:
  LocalWriter(UnfinishedFile file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  Status append(std::span<const std::span<const std::byte>> parts) override {
    if (!file_.is_open()) return closed();
    return file_.append(parts);
  }

  Status commit() override {
    if (!file_.is_open()) return closed();
    return file_.publish();
  }

  void abort() override { file_.discard(); }

 private:
  Error closed() const {
    return {Error::Code::closed,
            fmt::format("'{}' was already committed or aborted", path_)};
  }

  UnfinishedFile file_;
  std::string path_;
};

// A file that appears under its final name at once.
class LocalLog final : public ObjectLog {
 public:
  LocalLog(FileDescriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  Status append(std::span<const std::byte> bytes) override {
    Status status = write_all(file_, path_, {&bytes, 1});
    if (status) {
      bytes_ += static_cast<off_t>(bytes.size());
    } else if (ftruncate(file_.number(), bytes_) == 0) {
      lseek(file_.number(), bytes_, SEEK_SET);
    }
    return status;
  }

 private:
  FileDescriptor file_;
  std::string path_;
  off_t bytes_ = 0;
};

class LocalReader final : public ObjectReader {
 public:
  LocalReader(OpenFile file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  Result<std::vector<Bytes>> read(
      std::span<const ByteRange> ranges) const override {
    return read_ranges(file_, path_, ranges);
  }

 private:
  OpenFile file_;
  std::string path_;
};

class LocalStorage final : public Storage {
 public:
  LocalStorage(std::string uri, std::string root, const Clock& clock,
               FileAccess access, MissingFolder missing, FileSync sync)
      : uri_(std::move(uri)),
        root_(std::move(root)),
        clock_(clock),
        missing_(missing),
        sync_(sync),
        access_(access) {}

  const std::string& uri() const override { return uri_; }

  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    SMD_TRY(std::string path, path_of(key));
    SMD_TRY(UnfinishedFile file,
            start_file(key, path, std::string(kUnfinishedSuffix)));
    return std::unique_ptr<ObjectWriter>(
        std::make_unique<LocalWriter>(std::move(file), std::move(path)));
  }

  Result<std::unique_ptr<ObjectLog>> create_log(std::string_view key) override {
    SMD_TRY(std::string path, path_of(key));
    SMD_TRY(FileDescriptor file,
            start<FileDescriptor>(key, path, [&](FileDescriptor folder) {
              return create_new_file(folder, last_part(key), access_);
            }));
    return std::unique_ptr<ObjectLog>(
        std::make_unique<LocalLog>(std::move(file), std::move(path)));
  }

  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override {
    SMD_TRY(const std::string path, path_of(key));
    // A unique name, so that concurrent callers, which can be on other machines
    // and have the same process id, do not remove each other's.
    SMD_TRY(UnfinishedFile file,
            start_file(
                key, path,
                fmt::format(".{:016x}{}", random_number(), kUnfinishedSuffix)));
    SMD_CHECK_OK(file.append({&bytes, 1}));
    return file.publish_exclusive();
  }

  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    SMD_TRY(const std::string path, path_of(key));
    SMD_TRY(const OpenFile file, OpenFolder(root_).open_file(std::string(key)));
    return read_ranges(file, path, ranges);
  }

  Result<Bytes> read_whole(std::string_view key,
                           std::uint64_t max_bytes) const override {
    SMD_TRY(const std::string path, path_of(key));
    SMD_TRY(const OpenFile file, OpenFolder(root_).open_file(std::string(key)));
    if (file.bytes > max_bytes) return too_large(path, max_bytes);
    return read_bytes(file.descriptor, path, 0, file.bytes);
  }

  std::vector<Result<Bytes>> read_each(
      std::span<const ObjectRange> ranges) const override {
    const OpenFolder root(root_);
    std::vector<Result<Bytes>> parts;
    parts.reserve(ranges.size());
    for (const ObjectRange& wanted : ranges) {
      parts.push_back(read_one(root, wanted));
    }
    return parts;
  }

  Result<std::unique_ptr<ObjectReader>> open(
      std::string_view key) const override {
    SMD_TRY(std::string path, path_of(key));
    SMD_TRY(OpenFile file, OpenFolder(root_).open_file(std::string(key)));
    return std::unique_ptr<ObjectReader>(
        std::make_unique<LocalReader>(std::move(file), std::move(path)));
  }

  std::optional<std::uint64_t> folder_version(
      std::string_view folder) const override {
    return version_of_folder(fmt::format("{}/{}", root_, folder),
                             clock_.wall_seconds());
  }

  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    return list_files(root_, prefix, after);
  }

  Status check_folder(std::string_view folder) const override {
    while (folder.ends_with('/')) folder.remove_suffix(1);
    SMD_CHECK_OK(check_key(folder));
    return check_listable(root_, std::string(folder));
  }

  Result<bool> exists(std::string_view key) const override {
    SMD_TRY(const std::string path, path_of(key));
    struct stat status;
    int failed = 0;
    if (key.find('/') == key.npos) {
      failed = lstat(path.c_str(), &status);
    } else {
      // lstat would follow a link in the middle of the path.
      const FileDescriptor folder =
          OpenFolder(root_).open_path(folder_part(key));
      failed = folder.is_open()
                   ? fstatat(folder.number(), last_part(key).c_str(), &status,
                             AT_SYMLINK_NOFOLLOW)
                   : -1;
    }
    if (failed == 0) return S_ISREG(status.st_mode);
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return false;
    return system_error("look up", path, errno);
  }

  Status remove(std::string_view key) override {
    SMD_TRY(const std::string path, path_of(key));
    const OpenFolder root(root_);
    const FileDescriptor folder = root.open_path(folder_part(key));
    const int failed =
        folder.is_open() ? unlinkat(folder.number(), last_part(key).c_str(), 0)
                         : -1;
    if (failed != 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
      return system_error("remove", path, errno);
    }
    if (failed == 0) SMD_CHECK_OK(keep_names(folder, path));
    if (folder.is_open()) remove_empty_folder_of(root, key);
    return {};
  }

  Status move(std::string_view from, std::string_view to) override {
    SMD_TRY(const std::string path, path_of(from));
    SMD_CHECK_OK(check_key(to));
    SMD_TRY(const bool is_found, exists(from));
    if (!is_found) return {};
    const OpenFolder root(root_);
    const FileDescriptor source = root.open_path(folder_part(from));
    if (!source.is_open()) return system_error("move", path, errno);
    SMD_TRY(const FileDescriptor target,
            root.make_folder(folder_part(to), access_, synced()));
    if (!target.is_open() ||
        renameat(source.number(), last_part(from).c_str(), target.number(),
                 last_part(to).c_str()) != 0) {
      return system_error("move", path, errno);
    }
    SMD_CHECK_OK(keep_names(target, path));
    SMD_CHECK_OK(keep_names(source, path));
    remove_empty_folder_of(root, from);
    return {};
  }

 private:
  // Null if nothing is synced.
  SyncedFolders* synced() {
    return sync_ == FileSync::each_call ? &synced_ : nullptr;
  }

  Status keep_names(const FileDescriptor& folder,
                    const std::string& path) const {
    if (sync_ == FileSync::never) return {};
    return sync_folder(folder, path);
  }

  Result<std::string> path_of(std::string_view key) const {
    SMD_CHECK_OK(check_key(key));
    return fmt::format("{}/{}", root_, key);
  }

  static std::string last_part(std::string_view key) {
    return std::string(key.substr(key.rfind('/') + 1));
  }

  // Each step has its own folder. It can be removed only if it is empty.
  static void remove_empty_folder_of(const OpenFolder& root,
                                     std::string_view key) {
    const std::string folder = folder_part(key);
    if (folder.empty()) return;
    const FileDescriptor parent = root.open_path(folder_part(folder));
    unlinkat(parent.number(), last_part(folder).c_str(), AT_REMOVEDIR);
  }

  Result<UnfinishedFile> start_file(std::string_view key,
                                    const std::string& path,
                                    const std::string& suffix) {
    return start<UnfinishedFile>(key, path, [&](FileDescriptor folder) {
      return UnfinishedFile(std::move(folder), path, suffix, access_, sync_);
    });
  }

  // Returns the open file that `create` makes in the folder of `key`. Another
  // process may remove an empty folder before the file is in it.
  template <typename File, typename Create>
  Result<File> start(std::string_view key, const std::string& path,
                     const Create& create) {
    constexpr int kTries = 10;
    for (int i = 0; i < kTries; ++i) {
      const OpenFolder root(root_);
      if (root.reason() == ENOENT) {
        SMD_CHECK_OK(make_root(path));
        continue;
      }
      if (!has_folder_ && root.is_for_owner_only())
        access_ = FileAccess::owner_only;
      SMD_TRY(FileDescriptor folder,
              root.make_folder(folder_part(key), access_, synced()));
      File file = create(std::move(folder));
      if (file.is_open()) {
        has_folder_ = true;
        return file;
      }
      const int reason = errno;
      if (reason != ENOENT) return not_created(path, reason);
    }
    return not_created(path, ENOENT);
  }

  // Does not create a folder again that was removed: it would contain only part
  // of a run.
  Status make_root(const std::string& path) const {
    if (has_folder_) {
      return Error{Error::Code::io,
                   fmt::format("cannot create '{}': the folder '{}' was "
                               "removed after it had been written to",
                               path, root_)};
    }
    if (missing_ == MissingFolder::keep_removed) {
      return Error{Error::Code::io,
                   fmt::format("cannot create '{}': the folder '{}' was "
                               "removed",
                               path, root_)};
    }
    return create_folders(root_, access_);
  }

  static Error not_created(const std::string& path, int reason) {
    const auto file =
        reason == ENOTDIR ? find_file_in(folder_part(path)) : std::nullopt;
    if (file) {
      return {Error::Code::io,
              fmt::format("cannot create '{}': '{}' is a file, not a folder; "
                          "choose another path",
                          path, *file)};
    }
    if (reason != ELOOP) return system_error("create", path, reason);
    return {Error::Code::io,
            fmt::format("cannot create '{}': the path contains a link, and "
                        "links inside a run are not followed",
                        path)};
  }

  Result<Bytes> read_one(const OpenFolder& root,
                         const ObjectRange& wanted) const {
    SMD_CHECK_OK(check_key(wanted.key));
    SMD_TRY(const OpenFile file, root.open_file(wanted.key));
    const ByteRange range = cut_range(wanted.range, file.bytes);
    return read_bytes(file.descriptor, fmt::format("{}/{}", root_, wanted.key),
                      range.start, range.length);
  }

  std::string uri_;
  std::string root_;
  const Clock& clock_;
  const MissingFolder missing_;
  const FileSync sync_;
  SyncedFolders synced_;
  std::atomic<bool> has_folder_ = false;  // the folder was written to
  std::atomic<FileAccess> access_;
};

}  // namespace

std::shared_ptr<Storage> make_local_storage(std::string uri, std::string root,
                                            const Clock& clock,
                                            FileAccess access,
                                            MissingFolder missing,
                                            FileSync sync) {
  return std::make_shared<LocalStorage>(std::move(uri), std::move(root), clock,
                                        access, missing, sync);
}

}  // namespace smdebug
