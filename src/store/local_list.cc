#include <algorithm>
#include <memory>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "smdebug/base/try.h"

#include "store/backends.h"
#include "store/local_files.h"

namespace smdebug {
namespace {

// Two changes that are this many seconds apart have different time stamps.
// Linux updates its time stamps once per tick of at most 10 ms. File systems
// with a resolution of one second, or two (FAT), set the nanoseconds to 0.
constexpr double kFineTick = 0.1;
constexpr double kCoarseTick = 3;

// A run has four levels of folders at most. The limit bounds the recursion and
// the length of keys.
constexpr int kMaxDepth = 500;

// A name in a folder. Folders end with '/', so that the order of names is also
// the order of the keys below them.
struct Entry {
  std::string name;
  std::uint64_t bytes = 0;
  bool is_file = true;

  bool is_folder() const { return name.ends_with('/'); }
};

// Whether a folder cannot be listed because of its nature, not because of a
// failure that may pass.
bool is_permanent(int error) {
  return error == ENOTDIR || error == ELOOP || error == EACCES ||
         error == EPERM || error == ENAMETOOLONG;
}

class FolderWalk {
 public:
  FolderWalk(const std::string& root, std::string_view prefix,
             std::string_view after)
      : path_(root), root_(path_), prefix_(prefix), after_(after) {}

  // `folder` is a key that ends with '/', or empty for the root.
  Status visit(const std::string& folder, int depth = 0) {
    SMD_TRY(std::vector<Entry> entries, read_folder(folder, depth));
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.name < b.name; });
    for (Entry& entry : entries) {
      std::string key = folder + entry.name;
      if (entry.is_folder()) {
        SMD_CHECK_OK(visit(key, depth + 1));
      } else {
        found_.push_back({std::move(key), entry.bytes, entry.is_file});
      }
    }
    return {};
  }

  std::vector<ObjectEntry> found() && { return std::move(found_); }

 private:
  bool wants_file(std::string_view key) const {
    return key.starts_with(prefix_) && key > after_ &&
           !key.ends_with(kUnfinishedSuffix);
  }

  bool wants_folder(std::string_view key) const {
    const bool has_prefix = key.starts_with(prefix_);
    return (has_prefix || prefix_.starts_with(key)) &&
           (key > after_ || after_.starts_with(key));
  }

  // Returns the matching entries of one folder. Closes it before its subfolders
  // are opened, so the number of descriptors does not grow with the depth.
  Result<std::vector<Entry>> read_folder(const std::string& folder, int depth) {
    std::vector<Entry> entries;
    const std::string key = folder_part(folder);
    const std::string path = key.empty() ? path_ : path_ + "/" + key;
    errno = ENAMETOOLONG;
    FileDescriptor descriptor =
        depth < kMaxDepth ? root_.open_folder(key) : FileDescriptor();
    if (!descriptor.is_open()) {
      if (errno == ENOENT) return entries;
      const bool is_listed = depth > 0 && is_permanent(errno);
      if (!is_listed) return system_error("list", path, errno);
      found_.push_back({key, 0, /*is_file=*/false});
      return entries;
    }
    const int number = descriptor.number();
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(number),
                                                     &closedir);
    if (!stream) return system_error("list", path, errno);
    descriptor.release();  // closed with the stream
    for (;;) {
      errno = 0;
      const dirent* entry = readdir(stream.get());
      if (entry == nullptr) break;
      add_if_wanted(folder, *entry, number, entries);
    }
    if (errno != 0) return system_error("list", path, errno);
    return entries;
  }

  void add_if_wanted(const std::string& folder, const dirent& entry,
                     int folder_number, std::vector<Entry>& entries) const {
    std::string name = entry.d_name;
    if (name == "." || name == "..") return;
    const std::string key = folder + name;
    // A folder's key ends with '/', so it may sort after `after_` even if the
    // name without it does not.
    const bool file_wanted = wants_file(key);
    const bool folder_wanted = wants_folder(key + "/");
    if (!file_wanted && !folder_wanted) return;
    struct stat status;
    if (fstatat(folder_number, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) !=
        0) {
      return;  // removed in the meantime
    }
    if (S_ISREG(status.st_mode) && file_wanted) {
      entries.push_back(
          {std::move(name), static_cast<std::uint64_t>(status.st_size)});
    } else if (S_ISDIR(status.st_mode) && folder_wanted) {
      entries.push_back({std::move(name) + "/", 0});
    } else if (!S_ISDIR(status.st_mode) && file_wanted) {
      entries.push_back({std::move(name), 0, /*is_file=*/false});
    }
  }

  const std::string& path_;
  OpenFolder root_;
  std::string_view prefix_;
  std::string_view after_;
  std::vector<ObjectEntry> found_;
};

}  // namespace

Result<std::vector<ObjectEntry>> list_files(const std::string& root,
                                            std::string_view prefix,
                                            std::string_view after) {
  // Walks only the folder that the prefix names.
  const std::size_t slash = prefix.rfind('/');
  const std::string_view folder =
      slash == prefix.npos ? std::string_view() : prefix.substr(0, slash + 1);
  if (!folder.empty()) {
    SMD_CHECK_OK(check_key(folder.substr(0, slash)));
  }
  FolderWalk walk(root, prefix, after);
  SMD_CHECK_OK(walk.visit(std::string(folder)));
  return std::move(walk).found();
}

Status check_listable(const std::string& root, const std::string& key) {
  const OpenFolder folder(root);
  if (folder.open_folder(key).is_open() || errno == ENOENT) return {};
  if (errno != ENOTDIR && errno != ELOOP) {
    return system_error("list", root + "/" + key, errno);
  }
  struct stat status;
  const FileDescriptor parent = folder.open_path(folder_part(key));
  const std::string name = key.substr(key.rfind('/') + 1);
  if (parent.is_open() &&
      fstatat(parent.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) ==
          0 &&
      !S_ISLNK(status.st_mode)) {
    return Error{Error::Code::io, "not a folder"};
  }
  return Error{Error::Code::io,
               "a link; links inside a run are not followed: move the files to "
               "where the link is"};
}

std::optional<std::uint64_t> version_of_folder(const std::string& path,
                                               double now_seconds) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return Storage::kNoFolder;
    return std::nullopt;
  }
  const timespec changed = status.st_mtim;
  const double age = now_seconds - static_cast<double>(changed.tv_sec) -
                     1e-9 * static_cast<double>(changed.tv_nsec);
  if (age < (changed.tv_nsec == 0 ? kCoarseTick : kFineTick)) {
    return std::nullopt;
  }
  constexpr std::uint64_t kOddMultiplier = 0x9e3779b97f4a7c15;  // 2^64 / phi
  const auto nanoseconds =
      static_cast<std::uint64_t>(changed.tv_sec) * 1'000'000'000 +
      static_cast<std::uint64_t>(changed.tv_nsec);
  return (nanoseconds ^ status.st_ino * kOddMultiplier) | 1;
}

}  // namespace smdebug
