// Tests the output of the commands for a malicious run: they report damage with
// the file's name, and print no control sequence that a terminal would execute.

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "cli_testing.h"
#include "tests/support/deep_folder_testing.h"

namespace smdebug {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Clears the screen, rings, sets the title, and pretends to be another line.
constexpr const char* kEvil = "\x1b[2J\x07\x1b]0;t\x07\nstate  all is well";
// The same in JSON.
constexpr const char* kEvilJson =
    "\\u001b[2J\\u0007\\u001b]0;t\\u0007\\nstate  all is well";

class HostileRun : public testing::Test {
 protected:
  HostileRun() { record_run(run_, kHealthy, /*ends=*/false); }

  void write(const std::string& key, const std::string& text) {
    std::filesystem::create_directories(
        std::filesystem::path(run_ + "/" + key).parent_path());
    std::ofstream(run_ + "/" + key) << text;
  }

  static void expect_no_control(const Spoken& spoken) {
    for (const char c : spoken.out + spoken.err) {
      const auto byte = static_cast<unsigned char>(c);
      ASSERT_TRUE(byte >= ' ' || c == '\n') << static_cast<int>(byte);
      ASSERT_NE(byte, 0x7f);
    }
  }

  static void expect_harmless(const Spoken& spoken) {
    expect_no_control(spoken);
    EXPECT_THAT(spoken.out + spoken.err, Not(HasSubstr("\nstate  all is")));
  }

  TemporaryFolder folder_;
  const std::string run_ = folder_.path("run");
};

TEST_F(HostileRun, IsShownWithoutWhatATerminalObeys) {
  write("index/000000000/000000000011_worker_0.json",
        std::string(R"({"meta": {"mode": "TRAIN", "mode_step": 11}, )") +
            R"("tensor_payload": [], "shape_payload": [{"tensorname": ")" +
            kEvilJson + R"(", "shape": [1]}]})");
  write("collections/000000000/worker_1_collections.json",
        std::string(R"({"collections": {")") + kEvilJson +
            R"(": {"tensor_names": [")" + kEvilJson + R"("]}}})");
  write("run.json", std::string(R"({"version": 1, "attempts": [{"host": ")") +
                        kEvilJson + R"(", "status": ")" + kEvilJson +
                        R"(", "command": [")" + kEvilJson +
                        R"("], "started": 1e300, "pid": 1e300, )" +
                        R"("cost": {"step_thread_seconds": 1e300, )" +
                        R"("run_seconds": 1e300, "steps": -1e300}}]})");
  write(std::string("index/000000000/") + "\x1b[2J\n\xff.json", "{");
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{
           {"show", run_},
           {"show", run_, "--json"},
           {"tensor", run_, kEvil},
           {"tensor", run_, kEvil, "--json"},
           {"tensor", run_, std::string(kEvil) + "?"},
           {"explain", run_, kEvil},
           {"explain", run_, std::string(kEvil) + "?"},
           {"explain", run_, kEvil, "--json"},
           {"check", run_},
           {"check", run_, "--json"},
           {"report", run_},
           {"ls", run_},
           {"ls", run_, "--json"}}) {
    const Spoken spoken = smdebug(args);
    SCOPED_TRACE(fmt::format("{}", fmt::join(args, " ")));
    expect_harmless(spoken);
  }
  EXPECT_THAT(smdebug({"tensor", run_, kEvil}).out, HasSubstr("\\x1b[2J"));
}

TEST_F(HostileRun, IsHandledUnderAnyNameWithoutWhatATerminalObeys) {
  const std::string evil = folder_.path(kEvil);
  const std::string missing = evil + "?";
  std::filesystem::rename(run_, evil);
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{
           {"show", evil},
           {"ls", missing},
           {"ls", folder_.path()},
           {"ls", evil, "--json"},
           {"report", evil, "--out", missing},
           {"run", "--out", evil, "--", "true"},
           {"run", "--out", missing, "--", "true"},
           {"rm", missing, "--yes"},
           {"check", evil, "--rule", "AllZero", "--set",
            std::string(kEvil) + "=1"},
           {"rm", evil},
           {"rm", evil, "--force", "--yes"}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(args, " ")));
    expect_no_control(smdebug(args));
  }
}

TEST_F(HostileRun, ListsItsDamageWithTheNamesOfTheFiles) {
  const std::string broken = "index/000000000/000000000003_worker_0.json";
  const std::string linked = "index/000000000/000000000004_worker_0.json";
  const std::string piped = "index/000000000/000000000005_worker_0.json";
  write(broken, std::string(100'000, '['));
  std::filesystem::remove(run_ + "/" + linked);
  std::filesystem::create_symlink("/etc/passwd", run_ + "/" + linked);
  std::filesystem::remove(run_ + "/" + piped);
  ASSERT_EQ(mkfifo((run_ + "/" + piped).c_str(), 0666), 0);
  write("run.json", "{\"version\": ");
  const Spoken spoken = smdebug({"show", run_, "--json"});
  EXPECT_EQ(spoken.code, 0);
  const auto page = nlohmann::json::parse(spoken.out);
  std::vector<std::string> files;
  for (const auto& damage : page["damage"]) files.push_back(damage["file"]);
  EXPECT_THAT(files,
              testing::UnorderedElementsAre(broken, linked, piped, "run.json"));
  EXPECT_EQ(page["steps"], 7);
}

TEST_F(HostileRun, IsNotJudgedWithoutAWordOnItsDamage) {
  write("index/000000000/000000000003_worker_0.json", "{");
  write("index/000000000/000000000004_worker_0.json", "{");
  EXPECT_THAT(
      smdebug({"check", run_}).out,
      testing::ContainsRegex(
          "damage in .*: index/000000000/00000000000[34]_worker_0.json: "
          ".*; and 1 more, 'smdebug check --json' lists them"));
  const auto json =
      nlohmann::json::parse(smdebug({"check", run_, "--json"}).out);
  EXPECT_EQ(json[0]["damage"].size(), 2u);
}

TEST_F(HostileRun, ShowsWhatIsReadableBesideHugeFiles) {
  const std::vector<std::string> huge = {
      "claim.smd",
      "collections/000000000/worker_1_collections.json",
      "facts/worker_0-000000000000.json",
      "index/000000000/000000000003_worker_0.json",
      "progress.json",
      "refused.smd",
      "rules/AllZero.json",
      "run.json",
      "series/worker_0-000000000000-000000000001-0.json"};
  for (const std::string& file : huge) {
    write(file, "{");
    std::filesystem::resize_file(run_ + "/" + file, std::uintmax_t{1} << 40);
  }
  const Spoken spoken = smdebug({"show", run_, "--json"});
  EXPECT_EQ(spoken.code, 0);
  const auto page = nlohmann::json::parse(spoken.out);
  std::vector<std::string> files;
  for (const auto& damage : page["damage"]) files.push_back(damage["file"]);
  EXPECT_THAT(files, testing::UnorderedElementsAreArray(huge));
  EXPECT_EQ(page["steps"], 9);
  EXPECT_EQ(smdebug({"check", run_}).err, "");
}

TEST_F(HostileRun, IsActedOnBesideHugeRecordsOfActions) {
  const std::string run = folder_.path("fired");
  record_run(run, kVanishing);
  const std::vector<std::string> watch = {
      "watch",    run,         "--rule", "VanishingGradient",
      "--action", "command=:", "--json"};
  EXPECT_EQ(smdebug(watch).code, 3);
  const std::string rule = "rules/VanishingGradient";
  folder_.write("fired/" + rule + "/watcher.json", "");
  int huge = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(run + "/" + rule)) {
    std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
    ++huge;
  }
  EXPECT_EQ(huge, 2);
  const auto again = nlohmann::json::parse(smdebug(watch).out);
  EXPECT_EQ(again[0]["actions"][0]["status"], "done");
}

// Deeper than any listing follows.
TEST_F(HostileRun, IsShownAndRemovedWithAFolderOfAnyDepth) {
  const DeepFolder deep(run_ + "/index", 600);
  const Spoken shown = smdebug({"show", run_, "--json"});
  EXPECT_EQ(nlohmann::json::parse(shown.out)["steps"], 10);
  const Spoken listed = smdebug({"ls", folder_.path(), "--json"});
  EXPECT_EQ(nlohmann::json::parse(listed.out)["runs"][0]["steps"], 10);
  const Spoken removed = smdebug({"rm", run_, "--force", "--yes"});
  EXPECT_EQ(removed.code, 0) << removed.err;
  EXPECT_FALSE(std::filesystem::exists(run_ + "/run.json"));
}

TEST_F(HostileRun, SaysThatItsIndexIsALink) {
  const std::string outside = folder_.path("outside");
  std::filesystem::rename(run_ + "/index", outside);
  std::filesystem::create_directory_symlink(outside, run_ + "/index");
  const Spoken spoken = smdebug({"show", run_});
  EXPECT_THAT(spoken.out, HasSubstr("index: a link"));
  EXPECT_EQ(smdebug({"check", run_}).code, 1);
}

}  // namespace
}  // namespace smdebug
