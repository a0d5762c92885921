#include "find_runs.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <string_view>
#include <system_error>

#include "smdebug/base/try.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 4;
// Bounds the search if it begins at the root of a file system.
constexpr std::size_t kMaxFolders = 100'000;

struct Listing {
  std::set<std::string> names;
  std::vector<std::string> folders;  // of them, without links
  std::vector<std::string> links;
};

Result<Listing> list_folder(const fs::path& folder) {
  Listing listing;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end;
       !failure && entry != end; entry.increment(failure)) {
    std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (entry->is_symlink(ignored)) {
      listing.links.push_back(name);
    } else if (entry->is_directory(ignored)) {
      listing.folders.push_back(name);
    }
    listing.names.insert(std::move(name));
  }
  if (!failure) return listing;
  const bool is_missing = failure == std::errc::no_such_file_or_directory;
  const bool is_file = failure == std::errc::not_a_directory;
  return Error{is_missing ? Error::Code::not_found : Error::Code::io,
               "cannot list the folder '" + folder.string() +
                   "': " + failure.message() +
                   (is_missing ? "; check the path"
                    : is_file  ? "; name the folder that holds the file"
                               : "")};
}

// The files that a run has from its start, at its end, and in between.
bool is_run(const fs::path& folder, const Listing& listing) {
  const auto has = [&](const char* name) {
    return listing.names.contains(name);
  };
  if (has("claim.smd") || has("training_job_end.ts")) return true;
  if (has("run.json")) {
    for (const char* name : {"index", "events", "claims", "collections"}) {
      if (has(name)) return true;
    }
  }
  std::error_code failure;
  return has("collections") &&
         fs::exists(folder / "collections" / "000000000", failure);
}

// "a" for "./a".
fs::path below(const fs::path& folder, const std::string& name) {
  return folder == "." ? fs::path(name) : folder / name;
}

class Search {
 public:
  Status visit(const fs::path& folder, int depth) {
    SMD_TRY(const Listing listing, list_folder(folder));
    if (is_run(folder, listing)) {
      found_.runs.push_back(folder.string());
      return {};
    }
    if (depth == kMaxDepth) return {};
    for (const std::string& name : listing.links)
      visit_link(below(folder, name));
    for (const std::string& name : listing.folders) {
      if (name.starts_with('.')) continue;
      if (++folders_ > kMaxFolders) return {};
      // Another process may remove the folder during the search.
      const Status visited = visit(below(folder, name), depth + 1);
      if (!visited && visited.error().code != Error::Code::not_found)
        found_.skipped.push_back(visited.error().message);
    }
    return {};
  }

  FoundRuns found() && {
    std::ranges::sort(found_.runs);
    if (folders_ > kMaxFolders) {
      found_.skipped.push_back("the search ended after " +
                               std::to_string(kMaxFolders) +
                               " folders: name a folder that holds fewer");
    }
    return std::move(found_);
  }

 private:
  void visit_link(const fs::path& link) {
    std::error_code failure;
    if (fs::is_directory(link, failure) && is_run_folder(link.string()))
      found_.runs.push_back(link.string());
  }

  FoundRuns found_;
  std::size_t folders_ = 0;
};

}  // namespace

bool is_run_folder(const std::string& folder) {
  const auto listing = list_folder(folder);
  return listing && is_run(folder, *listing);
}

Result<FoundRuns> find_runs(const std::string& folder) {
  Search search;
  const fs::path start = fs::path(folder).lexically_normal();
  SMD_CHECK_OK(search.visit(start, 0));
  return std::move(search).found();
}

}  // namespace smdebug
