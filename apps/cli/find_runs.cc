#include "find_runs.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <set>
#include <string_view>
#include <system_error>

#include "smdebug/base/parallel.h"
#include "smdebug/base/try.h"
#include "smdebug/store/open_storage.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 4;
// Bounds the search if it begins at the root of a file system.
constexpr std::size_t kMaxFolders = 100'000;

// Requests at once.
constexpr std::size_t kMostRequests = 64;

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

// The names below an address.
Result<std::vector<std::string>> list_address(const std::string& address) {
  SMD_TRY(const auto storage, open_storage(address));
  return storage->names_in("");
}

bool is_run(const std::vector<std::string>& names) {
  const auto has = [&](const char* name) {
    return std::ranges::find(names, name) != names.end();
  };
  const bool has_steps = has("index/") || has("events/");
  return has("claim.smd") || has("training_job_end.ts") ||
         (has_steps && (has("run.json") || has("collections/")));
}

// Searches one level after the other: each is one wait for the store.
Result<FoundRuns> find_runs_in_store(const std::string& address) {
  FoundRuns found;
  std::vector<std::string> level = {without_slashes(address)};
  for (int depth = 0; depth <= kMaxDepth && !level.empty(); ++depth) {
    std::vector<Result<std::vector<std::string>>> names(
        level.size(), Error{Error::Code::internal, "was not listed"});
    concurrent_for(level.size(), kMostRequests,
                   [&](std::size_t i) { names[i] = list_address(level[i]); });
    std::vector<std::string> next;
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (!names[i] && depth == 0) return std::move(names[i]).error();
      if (!names[i]) {
        found.skipped.push_back(names[i].error().message);
      } else if (is_run(*names[i])) {
        found.runs.push_back(level[i]);
      } else {
        for (const std::string& name : *names[i]) {
          if (!name.ends_with('/') || name.starts_with('.')) continue;
          next.push_back(level[i] + "/" + name.substr(0, name.size() - 1));
        }
      }
    }
    level = std::move(next);
  }
  std::ranges::sort(found.runs);
  return found;
}

}  // namespace

bool is_run_folder(const std::string& folder) {
  const auto listing = list_folder(folder);
  return listing && is_run(folder, *listing);
}

bool is_address(std::string_view location) {
  const auto colon = location.find("://");
  return colon != location.npos && location.find('/') > colon;
}

std::string without_slashes(std::string address) {
  while (address.ends_with('/')) address.pop_back();
  return address;
}

Result<FoundRuns> find_runs(const std::string& folder) {
  if (is_address(folder)) return find_runs_in_store(folder);
  Search search;
  const fs::path start = fs::path(folder).lexically_normal();
  SMD_CHECK_OK(search.visit(start, 0));
  return std::move(search).found();
}

}  // namespace smdebug
