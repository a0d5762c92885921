#include "store/local_files.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "smdebug/base/try.h"

namespace smdebug {
namespace {

template <typename Call>
auto without_interrupts(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

constexpr std::string_view kNotFollowed =
    ": the path contains a link or something else that is not read";

// O_PATH: the folder may be searchable without being readable.
constexpr int kPathOfFolder = O_PATH | O_DIRECTORY;

Error not_found(const std::string& path, std::string_view why) {
  return {Error::Code::not_found, fmt::format("no file '{}'{}", path, why)};
}

// O_NONBLOCK: opening a pipe would wait for its writer.
constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;

FileDescriptor open_at(int folder, const std::string& name, int flags) {
  return FileDescriptor(without_interrupts(
      [&] { return ::openat(folder, name.c_str(), flags | O_CLOEXEC); }));
}

// Opens one part of the path after the other, because O_NOFOLLOW applies only
// to the last part. On failure, sets `errno`.
FileDescriptor open_part_by_part(const FileDescriptor& top,
                                 std::string_view key, int flags) {
  FileDescriptor folder;
  for (;;) {
    const int number = folder.is_open() ? folder.number() : top.number();
    const std::size_t slash = key.find('/');
    const std::string name(key.substr(0, slash));
    if (slash == key.npos) {
      return open_at(number, name, flags | O_NOFOLLOW);
    }
    folder = open_at(number, name, kPathOfFolder | O_NOFOLLOW);
    if (!folder.is_open()) return folder;
    key.remove_prefix(slash + 1);
  }
}

// Same in one call. Returns nothing if the kernel does not support it (before
// Linux 5.6) or a sandbox forbids it.
std::optional<FileDescriptor> open_in_one_call(const FileDescriptor& top,
                                               const std::string& key,
                                               int flags) {
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const long number = without_interrupts([&] {
    return syscall(SYS_openat2, top.number(), key.c_str(), &how, sizeof(how));
  });
  const bool is_unsupported =
      errno == ENOSYS || errno == EPERM || errno == EAGAIN || errno == EINVAL;
  if (number < 0 && is_unsupported) return std::nullopt;
  return FileDescriptor(static_cast<int>(number));
}

mode_t folder_mode(FileAccess access) {
  return access == FileAccess::owner_only ? 0700 : 0777;
}

// The next parts for writev, and how much of them was written.
class PartsCursor {
 public:
  explicit PartsCursor(std::span<const std::span<const std::byte>> parts)
      : parts_(parts) {
    advance(0);
  }

  bool done() const { return parts_.empty(); }

  std::span<const iovec> next() {
    const std::size_t n = std::min(parts_.size(), vectors_.size());
    for (std::size_t i = 0; i < n; ++i) {
      const auto part = parts_[i].subspan(i == 0 ? written_ : 0);
      vectors_[i] = {const_cast<std::byte*>(part.data()), part.size()};
    }
    return {vectors_.data(), n};
  }

  void advance(std::size_t bytes) {
    written_ += bytes;
    while (!parts_.empty() && written_ >= parts_.front().size()) {
      written_ -= parts_.front().size();
      parts_ = parts_.subspan(1);
    }
  }

 private:
  std::span<const std::span<const std::byte>> parts_;
  std::size_t written_ = 0;  // of the first part
  std::array<iovec, IOV_MAX> vectors_;
};

// Reading this many unused bytes takes less time than another call.
constexpr std::uint64_t kGapBytes = 4 << 10;
constexpr std::uint64_t kBlockBytes = 1 << 20;

// A range within the file, and its index in the request.
struct Piece {
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  std::size_t index = 0;

  std::uint64_t end() const { return start + length; }
};

// Returns how many of `pieces`, sorted by their start, form one block.
std::size_t pieces_of_block(std::span<const Piece> pieces) {
  const std::uint64_t start = pieces.front().start;
  std::uint64_t end = pieces.front().end();
  std::size_t n = 1;
  for (; n < pieces.size(); ++n) {
    const Piece& next = pieces[n];
    if (next.length >= kSeparateBytes || next.start > end + kGapBytes ||
        std::max(end, next.end()) - start > kBlockBytes) {
      break;
    }
    end = std::max(end, next.end());
  }
  return pieces.front().length >= kSeparateBytes ? 1 : n;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (is_open()) ::close(number_);
}

Status FileDescriptor::close(const std::string& path) {
  // EINTR also closes the descriptor.
  if (::close(release()) != 0 && errno != EINTR) {
    return system_error("finish", path, errno);
  }
  return {};
}

Error system_error(std::string_view action, std::string_view path, int number) {
  std::string_view advice;
  if (number == ENOSPC || number == EDQUOT)
    advice = "; free space, or write to another disk";
  if (number == EFBIG)
    advice = "; raise the limit on the size of a file (ulimit -f)";
  if (action.starts_with("create") &&
      (number == EACCES || number == EPERM || number == EROFS))
    advice = "; choose another folder, or allow this user to write there";
  return {Error::Code::io,
          fmt::format("cannot {} '{}': {}{}", action, path,
                      std::generic_category().message(number), advice)};
}

std::string folder_part(std::string_view key) {
  const std::size_t slash = key.rfind('/');
  return std::string(slash == key.npos ? std::string_view()
                                       : key.substr(0, slash));
}

Status create_folders(const std::string& path, FileAccess access) {
  const mode_t mode = folder_mode(access);
  if (mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  const std::size_t slash = path.rfind('/');
  if (errno == ENOENT && slash != path.npos && slash > 0) {
    SMD_CHECK_OK(create_folders(path.substr(0, slash), access));
    if (mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  }
  return system_error("create folder", path, errno);
}

OpenFolder::OpenFolder(const std::string& path)
    : path_(path), folder_(open_at(AT_FDCWD, path, kPathOfFolder)) {
  if (!folder_.is_open()) reason_ = errno;
}

FileDescriptor OpenFolder::open_below(const std::string& key, int flags) const {
  if (!folder_.is_open()) {
    errno = reason_;
    return FileDescriptor();
  }
  auto file = open_in_one_call(folder_, key, flags);
  return file ? *std::move(file) : open_part_by_part(folder_, key, flags);
}

FileDescriptor OpenFolder::open_folder(const std::string& key) const {
  return open_below(key.empty() ? "." : key, O_RDONLY | O_DIRECTORY);
}

FileDescriptor OpenFolder::open_path(const std::string& key) const {
  return open_below(key.empty() ? "." : key, kPathOfFolder);
}

bool OpenFolder::is_for_owner_only() const {
  struct stat status;
  return fstat(folder_.number(), &status) == 0 &&
         (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

Result<FileDescriptor> OpenFolder::make_folder(const std::string& key,
                                               FileAccess access,
                                               SyncedFolders* synced) const {
  FileDescriptor folder = open_path(key);
  const bool is_kept = synced == nullptr || synced->contains(key);
  if (folder.is_open() ? is_kept : errno != ENOENT || key.empty())
    return folder;
  if (key.empty()) {
    SMD_CHECK_OK(sync_folders_above(folder, path_));
    synced->add(key);
    return folder;
  }
  SMD_TRY(const FileDescriptor parent,
          make_folder(folder_part(key), access, synced));
  if (!parent.is_open()) return FileDescriptor();
  const std::string name = key.substr(key.rfind('/') + 1);
  if (!folder.is_open()) {
    if (mkdirat(parent.number(), name.c_str(), folder_mode(access)) != 0 &&
        errno != EEXIST) {
      return folder;
    }
    folder = open_at(parent.number(), name, kPathOfFolder | O_NOFOLLOW);
  }
  if (synced != nullptr && folder.is_open()) {
    SMD_CHECK_OK(sync_folder(parent, fmt::format("{}/{}", path_, key)));
    synced->add(key);
  }
  return folder;
}

Result<OpenFile> OpenFolder::open_file(const std::string& key) const {
  const auto path = [&] { return fmt::format("{}/{}", path_, key); };
  FileDescriptor file = open_below(key, kReadFlags);
  if (!file.is_open()) {
    const int reason = errno;
    if (reason == ENOENT) return not_found(path(), "");
    if (reason == ENOTDIR || reason == ELOOP)
      return not_found(path(), kNotFollowed);
    return system_error("open", path(), reason);
  }
  struct stat status;
  if (fstat(file.number(), &status) != 0) {
    return system_error("open", path(), errno);
  }
  if (!S_ISREG(status.st_mode)) return not_found(path(), kNotFollowed);
  return OpenFile{std::move(file), static_cast<std::uint64_t>(status.st_size)};
}

Status write_all(const FileDescriptor& file, const std::string& path,
                 std::span<const std::span<const std::byte>> parts) {
  for (PartsCursor cursor(parts); !cursor.done();) {
    const auto vectors = cursor.next();
    const auto n = without_interrupts([&] {
      return writev(file.number(), vectors.data(),
                    static_cast<int>(vectors.size()));
    });
    if (n < 0) return system_error("write", path, errno);
    cursor.advance(static_cast<std::size_t>(n));
  }
  return {};
}

// Never maps the file: if another process shortens it while its bytes are in
// use, a mapping ends the process with SIGBUS.
Result<Bytes> read_bytes(const FileDescriptor& file, const std::string& path,
                         std::uint64_t start, std::uint64_t length) {
  if (length == 0) return Bytes();
  const std::shared_ptr<std::byte[]> buffer(new (std::nothrow)
                                                std::byte[length]);
  if (!buffer) {
    return Error{
        Error::Code::io,
        fmt::format("cannot read '{}': no memory for {} bytes", path, length)};
  }
  for (std::uint64_t done = 0; done < length;) {
    const auto n = without_interrupts([&] {
      return pread(file.number(), buffer.get() + done, length - done,
                   static_cast<off_t>(start + done));
    });
    if (n < 0) return system_error("read", path, errno);
    if (n == 0) {
      return Error{Error::Code::io,
                   fmt::format("cannot read '{}': it became shorter", path)};
    }
    done += static_cast<std::uint64_t>(n);
  }
  return Bytes(buffer, {buffer.get(), length}, Bytes::Kind::own);
}

ByteRange cut_range(const ByteRange& range, std::uint64_t file_bytes) {
  const std::uint64_t start = std::min(range.start, file_bytes);
  return {start, std::min(range.length, file_bytes - start)};
}

Result<std::vector<Bytes>> read_ranges(const OpenFile& file,
                                       const std::string& path,
                                       std::span<const ByteRange> ranges) {
  std::vector<Bytes> parts(ranges.size());
  std::vector<Piece> pieces;
  pieces.reserve(ranges.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [start, length] = cut_range(ranges[i], file.bytes);
    if (length > 0) pieces.push_back({start, length, i});
  }
  std::ranges::sort(pieces, {}, &Piece::start);
  for (std::span<const Piece> rest = pieces; !rest.empty();) {
    const auto block = rest.first(pieces_of_block(rest));
    rest = rest.subspan(block.size());
    const std::uint64_t start = block.front().start;
    const std::uint64_t end = std::ranges::max(block, {}, &Piece::end).end();
    SMD_TRY(Bytes bytes, read_bytes(file.descriptor, path, start, end - start));
    if (block.size() == 1) {
      parts[block.front().index] = std::move(bytes);
      continue;
    }
    for (const Piece& piece : block) {
      parts[piece.index] =
          Bytes(bytes.owner(),
                bytes.span().subspan(piece.start - start, piece.length));
    }
  }
  return parts;
}

}  // namespace smdebug
