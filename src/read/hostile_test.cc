// Tests reading malicious folders: intact data is read, all other files are
// reported by name, and memory is bounded by the size of the files.
// apps/cli/hostile_run_test.cc tests the commands.

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "smdebug/store/open_storage.h"

#include "read/trial_testing.h"
#include "tests/support/as_nobody_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

namespace fs = std::filesystem;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A run on disk whose step 0 is sound; step 1 is for the test.
class HostileTest : public TrialTest {
 protected:
  HostileTest() {
    storage_ = *open_storage(root_);
    run_ = WrittenRun(storage_);
    run_.put_collections("worker_0", 1);
    put(0);
    put(1);
  }

  // Step 1 with `payload` in place of its tensor_payload, `shapes` of its
  // shape_payload.
  void put_index(const std::string& payload, const std::string& shapes = "",
                 const std::string& event_file = event_file_key(1,
                                                                "worker_0")) {
    run_.put(index_, fmt::format(R"({{"meta": {{"mode": "TRAIN", )"
                                 R"("mode_step": 1, "event_file_name": )"
                                 R"("{}"}}, "tensor_payload": [{}], )"
                                 R"("shape_payload": [{}]}})",
                                 event_file, payload, shapes));
  }

  static std::string location(const std::string& name, const std::string& start,
                              const std::string& length) {
    return fmt::format(
        R"({{"tensorname": "{}", "start_idx": {}, "length": {}}})", name, start,
        length);
  }

  std::string path(const std::string& key) { return root_ + "/" + key; }

  // Gives each of two files the name of the other.
  void exchange(const std::string& a, const std::string& b) {
    fs::rename(path(a), path("third"));
    fs::rename(path(b), path(a));
    fs::rename(path("third"), path(b));
  }

  std::map<std::string, std::string> damage_of(Trial& trial) {
    std::map<std::string, std::string> damage;
    for (const Damage& part : trial.damage()) damage[part.key] = part.what;
    return damage;
  }

  // Step 0 can be read in any case; returns the files that damage is told of.
  std::vector<std::string> damaged_files() {
    const auto trial = open();
    EXPECT_THAT(trial->steps(), Contains(0));
    EXPECT_THAT(floats(*trial->tensor("w")->value({0})), ElementsAre(0, 0));
    std::vector<std::string> files;
    for (const Damage& damage : trial->damage()) files.push_back(damage.key);
    return files;
  }

  // Asks for the value of every tensor at step 1; returns what went wrong.
  std::vector<std::string> errors_at_1() {
    const auto trial = open();
    std::vector<std::string> errors;
    for (const std::string& name : trial->tensor_names()) {
      const auto value = trial->tensor(name)->value({1});
      if (!value) errors.push_back(value.error().message);
    }
    return errors;
  }

  TemporaryFolder folder_;
  const std::string root_ = folder_.path() + "/run";
  const std::string index_ = index_file_key(1, "worker_0");
  const std::string events_ = event_file_key(1, "worker_0");
};

TEST_F(HostileTest, LocationsBeyondAllFilesAreTold) {
  for (const char* number :
       {"9223372036854775808", "18446744073709551615", "-1", "1e300",
        "99999999999999999999999999", "null", "\"1\"", "1.5"}) {
    put_index(location("w", "0", number));
    EXPECT_THAT(damaged_files(), ElementsAre(index_)) << number;
  }
  // The start may lie anywhere, but there is nothing to be read.
  put_index(location("w", "9223372036854775808", "90"));
  EXPECT_THAT(errors_at_1(), ElementsAre(HasSubstr(events_)));
}

// The length word has a checksum of its own, which an attacker makes true.
TEST_F(HostileTest, ALengthWordOf2To63IsNoRecord) {
  for (const std::uint64_t length :
       {std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 16}) {
    std::string record(200, '\0');
    std::memcpy(record.data(), &length, sizeof(length));
    const std::uint32_t word = mask_crc32c(
        crc32c(std::as_bytes(std::span(record)).first(sizeof(length))));
    std::memcpy(record.data() + sizeof(length), &word, sizeof(word));
    run_.put(events_, record);
    EXPECT_THAT(errors_at_1(), ElementsAre(HasSubstr(events_))) << length;
  }
}

TEST_F(HostileTest, RecordsThatOverlapAreThoseTheyAreOrNone) {
  const auto size = std::to_string(fs::file_size(path(events_)));
  put_index(location("w", "0", size) + "," + location("v", "0", size) + "," +
            location("u", "1", size));
  EXPECT_EQ(errors_at_1().size(), 1u) << "that of 'u'";
  for (const char* name : {"w", "v"})
    EXPECT_THAT(floats(*open()->tensor(name)->value({1})), ElementsAre(1, 0))
        << "several names may share a record that is one of theirs";
  put_index(location("v", "0", size));
  EXPECT_THAT(errors_at_1(),
              Contains(HasSubstr("the record at byte 0 is of 'w'")));
}

TEST_F(HostileTest, ShapesThatNoTensorHasAreTold) {
  std::string thousand = "1";
  for (int i = 0; i < 999; ++i) thousand += ",1";
  for (const std::string& extents :
       {std::string("4611686018427387904,4611686018427387904"),
        std::string("-1"), std::string("1e300"), thousand}) {
    put_index(location("w", "0", "90"),
              fmt::format(R"({{"tensorname": "w", "shape": [{}]}})", extents));
    EXPECT_THAT(damaged_files(), ElementsAre(index_)) << extents;
  }
}

TEST_F(HostileTest, AShapeOfTheIndexThatTheRecordDoesNotHaveIsRefused) {
  const auto size = std::to_string(fs::file_size(path(events_)));
  put_index(location("w", "0", size),
            R"({"tensorname": "w", "shape": [1000000000]})");
  EXPECT_THAT(errors_at_1(), ElementsAre(HasSubstr("[1000000000]")));
}

TEST_F(HostileTest, NamesOfAnyKindAreNamesAndNoPaths) {
  const std::string size = std::to_string(fs::file_size(path(events_)));
  const std::string names[] = {std::string(10'000, 'n'),
                               "../../etc/passwd",
                               "a\\u0000b",
                               "\\u001b[2J",
                               "a\\nb",
                               "/",
                               ""};
  std::string payload;
  for (const std::string& name : names) {
    payload += (payload.empty() ? "" : ",") + location(name, "0", size);
  }
  put_index(payload);
  const auto trial = open();
  EXPECT_EQ(trial->tensor_names().size(), 1 + std::size(names));
  EXPECT_EQ(errors_at_1().size(), 1 + std::size(names));
  EXPECT_TRUE(trial->has_tensor(std::string_view("a\0b", 3)));
  // The distance of long names would take the square of their length.
  EXPECT_FALSE(trial->tensor(std::string(10'000, 'm')).ok());
}

TEST_F(HostileTest, AnEventFileElsewhereIsNotRead) {
  std::ofstream(folder_.path() + "/secret") << "secret";
  for (const char* key : {"../secret", "/etc/passwd", "events/../../secret",
                          "events/./x", "", "events/\\u0000"}) {
    put_index(location("w", "0", "6"), "", key);
    const auto errors = errors_at_1();
    const bool is_told = !damaged_files().empty();
    EXPECT_TRUE(!errors.empty() || is_told) << key;
  }
}

TEST_F(HostileTest, LinksOutOfTheRunAreRefusedWhereverTheyStand) {
  const std::string outside = folder_.path() + "/outside";
  fs::create_directories(outside);
  fs::rename(path(events_), outside + "/file");
  fs::create_symlink(outside + "/file", path(events_));
  EXPECT_THAT(errors_at_1(), ElementsAre(HasSubstr("link")));
  // The folder of the event file, instead of the file.
  const fs::path events_folder = fs::path(path(events_)).parent_path();
  fs::remove_all(events_folder);
  fs::rename(outside + "/file",
             outside + "/" + fs::path(events_).filename().string());
  fs::create_directory_symlink(outside, events_folder);
  EXPECT_THAT(errors_at_1(), ElementsAre(HasSubstr("link")));
  // And the index file.
  fs::rename(path(index_), outside + "/index");
  fs::create_symlink(outside + "/index", path(index_));
  EXPECT_THAT(damaged_files(), ElementsAre(index_));
  EXPECT_THAT(open()->steps(), ElementsAre(0));
}

TEST_F(HostileTest, APipeInPlaceOfAFileIsNotWaitedFor) {
  fs::remove(path(index_));
  ASSERT_EQ(mkfifo(path(index_).c_str(), 0666), 0);
  const std::string collections = collections_file_key("worker_1");
  ASSERT_EQ(mkfifo(path(collections).c_str(), 0666), 0);
  EXPECT_THAT(damaged_files(), ElementsAre(index_, collections));
  fs::remove(path(event_file_key(0, "worker_0")));
  ASSERT_EQ(mkfifo(path(event_file_key(0, "worker_0")).c_str(), 0666), 0);
  EXPECT_FALSE(open()->tensor("w")->value({0}).ok());
}

TEST_F(HostileTest, AFolderInPlaceOfAFileIsNoFile) {
  fs::remove(path(events_));
  fs::create_directories(path(events_));
  EXPECT_THAT(errors_at_1(), ElementsAre(HasSubstr(events_)));
  fs::remove(path(index_));
  fs::create_directories(path(index_) + "/inside");
  std::ofstream(path(index_) + "/inside/file") << "{}";
  EXPECT_THAT(damaged_files(), ElementsAre(index_ + "/inside/file"));
}

TEST_F(HostileTest, TextThatIsHardToParseIsTold) {
  const std::string deep(100'000, '[');
  for (const std::string& text :
       {std::string(), std::string("{"), deep, R"({"meta": )" + deep,
        std::string(100'000, '9'), std::string("\"\xff\xfe\""),
        std::string(1000, '\0'),
        std::string(R"({"meta": {"mode": "TRAIN", "mode_step": 1e999}})")}) {
    run_.put(index_, text);
    EXPECT_THAT(damaged_files(), ElementsAre(index_)) << text.substr(0, 40);
    run_.put(collections_file_key("worker_1"), text);
    EXPECT_THAT(damaged_files(),
                ElementsAre(index_, collections_file_key("worker_1")))
        << text.substr(0, 40);
    fs::remove(path(collections_file_key("worker_1")));
  }
}

TEST_F(HostileTest, FileNamesOfAnyKindAreTold) {
  for (const char* name :
       {"9999999999999_worker_0.json", "000000000002.json",
        "000000000002_\xff\xfe.json", "a\x1b[2J.json", "a\nb.json",
        "99999999999999999999999_worker_0.json"}) {
    const std::string key = std::string("index/000000000/") + name;
    std::ofstream(path(key)) << "{}";
    EXPECT_THAT(damaged_files(), ElementsAre(key));
    fs::remove(path(key));
  }
}

// 64 GiB that take no room on disk, but would as a copy in memory.
TEST_F(HostileTest, AHugeFileOfZerosCostsNoMemory) {
  constexpr std::uintmax_t kHuge = std::uintmax_t{64} << 30;
  fs::resize_file(path(index_), kHuge);
  fs::resize_file(path(collections_file_key("worker_0")), kHuge);
  fs::resize_file(path(event_file_key(0, "worker_0")), kHuge);
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  EXPECT_THAT(damaged_files(),
              ElementsAre(index_, collections_file_key("worker_0")));
  getrusage(RUSAGE_SELF, &after);
  constexpr long kMegabyte = 1024;  // ru_maxrss is in KiB
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * kMegabyte);
}

TEST_F(HostileTest, ExchangedIndexFilesOfTwoStepsAreDamage) {
  put(2);
  exchange(index_file_key(1, "worker_0"), index_file_key(2, "worker_0"));
  const auto trial = open();
  EXPECT_THAT(trial->steps(), ElementsAre(0));
  const auto damage = damage_of(*trial);
  EXPECT_THAT(damage,
              UnorderedElementsAre(
                  Pair(index_file_key(1, "worker_0"), HasSubstr("step 2")),
                  Pair(index_file_key(2, "worker_0"), HasSubstr("step 1"))));
}

TEST_F(HostileTest, AnIndexFileRenamedToAnotherWorkerMakesNoWorker) {
  fs::copy(path(index_), path(index_file_key(1, "worker_7")));
  const auto trial = open();
  EXPECT_THAT(*trial->tensor("w")->workers(1, Mode::global),
              ElementsAre("worker_0"));
  EXPECT_THAT(damage_of(*trial),
              ElementsAre(Pair(index_file_key(1, "worker_7"),
                               HasSubstr("worker 'worker_0'"))));
}

TEST_F(HostileTest, ExchangedIndexFilesThatHoldOnlyStatisticsAreDamage) {
  for (const Step step : {1, 2}) {
    WrittenStep written{{step, Mode::train, step},
                        "worker_0",
                        {{.name = "s", .with_statistics = true}}};
    run_.put_step(written);
  }
  EXPECT_THAT(open()->steps(), ElementsAre(0, 1, 2));
  EXPECT_THAT(open()->damage(), IsEmpty());
  exchange(index_file_key(1, "worker_0"), index_file_key(2, "worker_0"));
  EXPECT_THAT(open()->steps(), ElementsAre(0));
  EXPECT_EQ(damage_of(*open()).size(), 2u);
}

TEST_F(HostileTest, StatisticsOfAnIndexFileThatIsExchangedLaterAreLeftOut) {
  for (const Step step : {1, 2}) {
    run_.put_step(
        {{step, Mode::train, step},
         "worker_0",
         {{.name = "w", .elements = {1, 2}, .with_statistics = true}}});
  }
  const auto trial = open();
  exchange(index_file_key(1, "worker_0"), index_file_key(2, "worker_0"));
  EXPECT_EQ(trial->tensor("w")->statistics({1})->mean, 1.5)
      << "computed from the value";
  EXPECT_EQ(damage_of(*trial).size(), 2u);
}

TEST_F(HostileTest, ExchangedEventFilesOfTwoStepsGiveNoValues) {
  put(2);
  exchange(event_file_key(1, "worker_0"), event_file_key(2, "worker_0"));
  const auto trial = open();
  for (const Step step : {1, 2}) {
    const auto value = trial->tensor("w")->value({step});
    ASSERT_FALSE(value.ok());
    EXPECT_EQ(value.error().code, Error::Code::corrupt);
    EXPECT_THAT(value.error().message, HasSubstr("renamed or exchanged"));
    EXPECT_THAT(value.error().message,
                HasSubstr(event_file_key(step, "worker_0")));
  }
  EXPECT_FALSE(trial->tensor("w")->values().ok());
  EXPECT_TRUE(trial->tensor("w")->value({0}).ok());
  EXPECT_THAT(damage_of(*trial),
              ElementsAre(Pair(event_file_key(1, "worker_0"), _),
                          Pair(event_file_key(2, "worker_0"), _)));
}

// The records of both have the same names and the same step.
TEST_F(HostileTest, ExchangedEventFilesOfTwoWorkersGiveNoValues) {
  const std::vector<std::string> workers = {"worker_0", "worker_1"};
  for (const std::string& worker : workers) {
    const float other = worker == workers[0] ? 5 : 6;
    run_.put_step(
        {{1, Mode::train, 1},
         worker,
         {{.name = "w", .elements = {other, 2}, .with_statistics = true}}});
  }
  exchange(event_file_key(1, workers[0]), event_file_key(1, workers[1]));
  const auto trial = open();
  for (const std::string& worker : workers) {
    const auto value = trial->tensor("w")->value({1, Mode::global, worker});
    ASSERT_FALSE(value.ok()) << worker;
    EXPECT_EQ(value.error().code, Error::Code::corrupt);
    EXPECT_THAT(value.error().message, HasSubstr(event_file_key(1, worker)));
  }
  EXPECT_THAT(damage_of(*trial),
              ElementsAre(Pair(event_file_key(1, workers[0]), _),
                          Pair(event_file_key(1, workers[1]), _)));
}

TEST_F(HostileTest, FoldersThatAreLinksOrFilesAreDamage) {
  const std::string outside = folder_.path() + "/outside";
  for (const char* name : {"attempts", "facts", "series"})
    fs::create_directory(path(name));
  for (const char* name :
       {"attempts", "collections", "events", "facts", "index", "series"}) {
    fs::rename(path(name), outside);
    const std::function<void()> traps[] = {
        [&] { fs::create_directory_symlink(outside, path(name)); },
        [&] { fs::create_directory_symlink(name, path(name)); },
        [&] { std::ofstream(path(name)) << "text"; },
        [&] { ASSERT_EQ(mkfifo(path(name).c_str(), 0666), 0); }};
    for (const auto& set_trap : traps) {
      set_trap();
      const auto trial = open();
      EXPECT_THAT(damage_of(*trial), ElementsAre(Pair(name, _)));
      EXPECT_EQ(trial->steps().empty(), name == std::string("index"));
      EXPECT_TRUE(trial->exists());
      fs::remove(path(name));
    }
    fs::rename(outside, path(name));
  }
  EXPECT_THAT(open()->damage(), IsEmpty());
}

TEST_F(HostileTest, ARunWhoseFoldersAreAllLinksIsARun) {
  for (const char* name : {"index", "events", "collections"}) {
    const std::string outside = folder_.path() + "/" + name;
    fs::rename(path(name), outside);
    fs::create_directory_symlink(outside, path(name));
  }
  EXPECT_THAT(damage_of(*open()),
              ElementsAre(Pair("collections", HasSubstr("a link")),
                          Pair("events", HasSubstr("a link")),
                          Pair("index", HasSubstr("a link"))));
}

TEST_F(HostileTest, FoldersWithoutPermissionAreDamage) {
  fs::permissions(folder_.path(), fs::perms::all);
  put(1000);  // in another folder of the index
  for (const char* name :
       {"index", "collections", "collections/000000000", "index/000000001"}) {
    fs::permissions(path(name), fs::perms::none);
    {
      const AsNobody nobody;  // permissions do not bind root
      EXPECT_THAT(damage_of(*open()),
                  ElementsAre(Pair(name, HasSubstr("Permission denied"))));
    }
    fs::permissions(path(name), fs::perms(0755));
  }
}

TEST_F(HostileTest, AFileThatDescribesTheRunAndIsNoFileIsDamage) {
  for (const std::string_view key : {kRunFileKey, kClaimKey, kEndMarkerKey}) {
    const std::string file = path(std::string(key));
    ASSERT_EQ(mkfifo(file.c_str(), 0666), 0);
    EXPECT_THAT(damaged_files(), ElementsAre(key));
    fs::remove(file);
    fs::create_symlink("/etc/passwd", file);
    EXPECT_THAT(damaged_files(), ElementsAre(key));
    fs::remove(file);
    if (key == kEndMarkerKey) continue;
    std::ofstream(file) << "{\"version\": ";
    EXPECT_THAT(damaged_files(), ElementsAre(key));
    fs::resize_file(file, std::uintmax_t{1} << 40);
    EXPECT_THAT(damaged_files(), ElementsAre(key));
    fs::remove(file);
  }
  std::ofstream(path(std::string(kClaimKey)))
      << "";  // as the original writes it
  EXPECT_THAT(damaged_files(), IsEmpty());
}

TEST_F(HostileTest, NamesOnlyTheFirstOfManyForeignFiles) {
  for (int i = 0; i < 1200; ++i) {
    std::ofstream(path("index/000000000/x" + std::to_string(i)));
  }
  const auto trial = open();
  for (int i = 0; i < 2; ++i) {
    const auto damage = trial->damage();
    ASSERT_EQ(damage.size(), 1001u);
    EXPECT_EQ(damage.back().key, "index/");
  }
}

// As by `rsync --inplace`, or by a training that is copied over.
TEST_F(HostileTest, AHeldValueOutlivesTheBytesOfItsFile) {
  const std::vector<float> elements(100'000, 3.5f);
  for (const auto& overwrite : std::vector<std::function<void()>>{
           [&] { fs::resize_file(path(events_), 1); },
           [&] {
             std::ofstream(path(events_)) << std::string(500'000, 'x');
           }}) {
    run_.put_step({{1, Mode::train, 1}, "worker_0", {{"w", elements}}});
    const auto trial = open();
    const auto value = trial->tensor("w")->value({1});
    ASSERT_TRUE(value.ok());
    overwrite();
    EXPECT_EQ(floats(*value), elements);
    EXPECT_FALSE(trial->tensor("w")->value({1}).ok());
  }
}

TEST_F(HostileTest, ALengthInTheIndexThatTheRecordLacksTakesNoMemory) {
  put_index(location("w", "0", "4000000000"));
  fs::resize_file(path(events_), std::uintmax_t{1} << 40);
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  EXPECT_THAT(errors_at_1(), ElementsAre(HasSubstr("4000000000")));
  EXPECT_FALSE(open()->tensor("w")->values().ok());
  getrusage(RUSAGE_SELF, &after);
  constexpr long kMegabyte = 1024;  // ru_maxrss is in KiB
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * kMegabyte);
}

// The whole run, not one file: any bit of it may be the other. As in every run
// of ours, dtype and shape stand in the index too.
TEST_F(HostileTest, NoFlippedBitsOfARunGiveAWrongValue) {
  for (const Step step : {0, 1, 2}) {
    const auto first = static_cast<float>(step);
    run_.put_step(
        {{step, Mode::train, step},
         "worker_0",
         {{.name = "w", .elements = {first, 0}, .with_statistics = true},
          {.name = "v", .elements = {5, 6, 7}, .with_statistics = true}}});
  }
  const std::string sound_run = folder_.path() + "/sound";
  fs::copy(root_, sound_run, fs::copy_options::recursive);
  std::vector<std::string> keys;
  const auto listed = storage_->list("");
  for (const ObjectEntry& file : *listed) keys.push_back(file.key);

  const auto seed = static_cast<unsigned>(std::random_device{}());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int read = 0, refused = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::string& key = keys[random() % keys.size()];
    std::ifstream file(sound_run + "/" + key, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (round % 4 == 0) {
      bytes.resize(random() % (bytes.size() + 1));
    } else {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    }
    run_.put(key, bytes);
    const auto trial = open();
    for (const std::string& name : trial->tensor_names()) {
      Tensor tensor = *trial->tensor(name);
      for (const Step step : tensor.steps()) {
        (void)tensor.statistics({step});
        const auto value = tensor.value({step});
        ++(value ? read : refused);
        if (!value) continue;
        ASSERT_EQ(value->dtype(), DType::float32) << key;
        const std::vector<float> found = floats(*value);
        if (found.size() == 3) {
          EXPECT_THAT(found, ElementsAre(5, 6, 7)) << key;
          EXPECT_THAT(value->shape(), ElementsAre(3)) << key;
        } else {
          // A flip in the index may say another step, never other elements.
          ASSERT_THAT(value->shape(), ElementsAre(2)) << key;
          EXPECT_LE(found[0], 2) << key;
          EXPECT_EQ(found[1], 0) << key;
        }
      }
    }
    fs::copy_file(sound_run + "/" + key, path(key),
                  fs::copy_options::overwrite_existing);
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace smdebug
