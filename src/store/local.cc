#include <atomic>

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/environment.h"
#include "store/backends.h"
#include "store/local_files.h"

namespace smdebug {
namespace {

class LocalWriter final : public ObjectWriter {
 public:
  LocalWriter(FileDescriptor file, std::string path, std::string unfinished)
      : file_(std::move(file)),
        path_(std::move(path)),
        unfinished_(std::move(unfinished)) {}

  ~LocalWriter() override { abort(); }

  Status append(std::span<const std::span<const std::byte>> parts) override {
    if (!file_.is_open()) return closed();
    return write_all(file_, unfinished_, parts);
  }

  Status commit() override {
    if (!file_.is_open()) return closed();
    Status status = file_.close(unfinished_);
    if (status && rename(unfinished_.c_str(), path_.c_str()) != 0) {
      status = system_error("finish", path_, errno);
    }
    if (!status) unlink(unfinished_.c_str());
    return status;
  }

  void abort() override {
    if (!file_.is_open()) return;
    file_ = FileDescriptor();
    unlink(unfinished_.c_str());
  }

 private:
  Error closed() const {
    return {Error::Code::closed,
            fmt::format("'{}' was already committed or aborted", path_)};
  }

  FileDescriptor file_;
  std::string path_;
  std::string unfinished_;
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
  LocalStorage(std::string uri, std::string root, const Clock& clock)
      : uri_(std::move(uri)), root_(std::move(root)), clock_(clock) {}

  const std::string& uri() const override { return uri_; }

  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    SMD_TRY(std::string path, path_of(key));
    std::string unfinished = path + std::string(kUnfinishedSuffix);
    SMD_TRY(FileDescriptor file, start_file(unfinished));
    return std::unique_ptr<ObjectWriter>(std::make_unique<LocalWriter>(
        std::move(file), std::move(path), std::move(unfinished)));
  }

  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override {
    SMD_TRY(const std::string path, path_of(key));
    // A unique name, so that concurrent callers do not write to the same file.
    const std::string unfinished =
        fmt::format("{}.{}.{}{}", path, process_id(),
                    exclusive_files_.fetch_add(1), kUnfinishedSuffix);
    SMD_TRY(FileDescriptor file, start_file(unfinished));
    Status status = write_all(file, unfinished, {&bytes, 1});
    if (status) status = file.close(unfinished);
    if (!status) {
      unlink(unfinished.c_str());
      return std::move(status).error();
    }
    return publish_exclusive(unfinished, path);
  }

  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    SMD_TRY(const std::string path, path_of(key));
    SMD_TRY(const OpenFile file, OpenFolder(root_).open_file(std::string(key)));
    return read_ranges(file, path, ranges);
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

  Result<bool> exists(std::string_view key) const override {
    SMD_TRY(const std::string path, path_of(key));
    struct stat status;
    if (lstat(path.c_str(), &status) == 0) return S_ISREG(status.st_mode);
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return system_error("look up", path, errno);
  }

  Status remove(std::string_view key) override {
    SMD_TRY(const std::string path, path_of(key));
    if (unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR) {
      return system_error("remove", path, errno);
    }
    remove_empty_folder_of(key);
    return {};
  }

  Status move(std::string_view from, std::string_view to) override {
    SMD_TRY(const std::string source, path_of(from));
    SMD_TRY(const std::string target, path_of(to));
    SMD_TRY(const bool is_there, exists(from));
    if (!is_there) return {};
    int reason = rename_file(source, target);
    if (reason == ENOENT) {
      SMD_CHECK_OK(create_folder(target.substr(0, target.rfind('/'))));
      reason = rename_file(source, target);
    }
    if (reason != 0) return system_error("move", source, reason);
    remove_empty_folder_of(from);
    return {};
  }

 private:
  Result<std::string> path_of(std::string_view key) const {
    SMD_CHECK_OK(check_key(key));
    return fmt::format("{}/{}", root_, key);
  }

  // Each step has its own folder. rmdir fails if it is not empty.
  void remove_empty_folder_of(std::string_view key) const {
    if (const std::size_t slash = key.rfind('/'); slash != key.npos)
      rmdir(fmt::format("{}/{}", root_, key.substr(0, slash)).c_str());
  }

  // Returns 0, or the reason why it failed.
  static int rename_file(const std::string& from, const std::string& to) {
    return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  }

  // Does not create a folder again that was removed: it would contain only part
  // of a run.
  Result<FileDescriptor> start_file(const std::string& unfinished) {
    SMD_TRY(FileDescriptor file,
            create_file(unfinished, has_folder_ ? &root_ : nullptr));
    has_folder_ = true;
    return file;
  }

  Result<Bytes> read_one(const OpenFolder& root,
                         const ObjectRange& wanted) const {
    SMD_CHECK_OK(check_key(wanted.key));
    SMD_TRY(const OpenFile file, root.open_file(wanted.key));
    const ByteRange range = cut_range(wanted.range, file.bytes);
    return read_bytes(file.descriptor, fmt::format("{}/{}", root_, wanted.key),
                      range.start, range.length);
  }

  // Unlike a rename, a link fails if the name is taken.
  static Result<bool> publish_exclusive(const std::string& unfinished,
                                        const std::string& path) {
    const int linked = link(unfinished.c_str(), path.c_str());
    const int reason = errno;
    unlink(unfinished.c_str());
    if (linked == 0) return true;
    if (reason == EEXIST) return false;
    return system_error("create", path, reason);
  }

  std::string uri_;
  std::string root_;
  const Clock& clock_;
  std::atomic<std::uint64_t> exclusive_files_ = 0;
  std::atomic<bool> has_folder_ = false;  // the folder was written to
};

}  // namespace

std::shared_ptr<Storage> make_local_storage(std::string uri, std::string root,
                                            const Clock& clock) {
  return std::make_shared<LocalStorage>(std::move(uri), std::move(root), clock);
}

}  // namespace smdebug
