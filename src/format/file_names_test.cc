#include "format/file_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(FileNames, AreThoseOfTheOriginal) {
  EXPECT_EQ(event_file_key(40, "worker_0"),
            "events/000000000040/000000000040_worker_0.tfevents");
  EXPECT_EQ(index_file_key(1234, "worker_0"),
            "index/000000001/000000001234_worker_0.json");
  EXPECT_EQ(collections_file_key("worker_0"),
            "collections/000000000/worker_0_collections.json");
}

TEST(FileNames, OfFactsNameTheirWorkerAndStep) {
  EXPECT_EQ(facts_file_key(1234, "algo-1"), "facts/algo-1-000000001234.json");
  const std::string device = "/job:localhost/replica:0/task:0/device:GPU:1";
  for (const std::string& worker : {std::string("algo-1"), device}) {
    const StepFileName name = {1234, worker};
    EXPECT_EQ(parse_facts_file_key(facts_file_key(1234, worker)), name);
  }
  for (const char* key :
       {"facts/", "facts/worker_0.json", "facts/-000000000001.json",
        "facts/worker_0-.json", "facts/worker_0-1x.json",
        "facts/a/worker_0-000000000001.json", "worker_0-000000000001.json",
        "facts/worker_0-99999999999999999999.json"}) {
    EXPECT_FALSE(parse_facts_file_key(key)) << key;
  }
}

TEST(FileNames, OfSeriesNameTheirWorkerAndSteps) {
  EXPECT_EQ(series_file_key({"algo-1", 7, 1234, 5}),
            "series/algo-1-000000000007-000000001234-5.json");
  const std::string device = "/job:localhost/replica:0/task:0/device:GPU:1";
  for (const std::string& worker : {std::string("algo-1"), device}) {
    const SeriesFileName name = {worker, 7, 7, 123456};
    EXPECT_EQ(parse_series_file_key(series_file_key(name)), name);
  }
  for (const char* key :
       {"series/", "series/worker_0-000000000001.json",
        "series/worker_0-000000000001-000000000002.json",
        "series/-000000000001-000000000002-0.json",
        "series/worker_0-000000000003-000000000002-0.json",
        "series/worker_0-000000000001-000000000002-.json",
        "series/worker_0-000000000001-000000000002-x.json",
        "series/a/worker_0-000000000001-000000000002-0.json",
        "series/worker_0-000000000001-99999999999999999999-0.json",
        "worker_0-000000000001-000000000002-0.json"}) {
    EXPECT_FALSE(parse_series_file_key(key)) << key;
  }
}

TEST(FileNames, EncodeDeviceNames) {
  const std::string device = "/job:localhost/replica:0/task:0/device:GPU:1";
  EXPECT_EQ(index_file_key(2000, device),
            "index/000000002/"
            "000000002000__job-localhost_replica-0_task-0_device-GPU-1.json");
  EXPECT_EQ(parse_step_file_key(index_file_key(2000, device))->worker, device);
  EXPECT_EQ(parse_collections_file_key(collections_file_key(device)), device);
}

TEST(FileNames, KeepTheHyphensOfOrdinaryWorkers) {
  EXPECT_EQ(
      parse_step_file_key("index/000000000/000000000003_algo-1.json")->worker,
      "algo-1");
  EXPECT_EQ(
      parse_step_file_key("index/000000000/000000000003_w__0-x.json")->worker,
      "w__0-x");
}

TEST(FileNames, AreNotGarbledByUnderscoresInTheirFolder) {
  const auto name = parse_step_file_key("index/a__b/000000000007_worker_0.csv");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->step, 7);
  EXPECT_EQ(name->worker, "worker_0");
}

TEST(FileNames, OfOtherFilesAreRefused) {
  for (const char* key : {"", "index/", "index/000000000/000000000001.json",
                          "index/000000000/000000000001_.json",
                          "index/000000000/-00000000001_worker_0.json",
                          "index/000000000/x_worker_0.json",
                          "index/000000000/99999999999999999999_worker_0.json",
                          "index/000000000/000000000001_worker_0.tfevents",
                          "events/000000000001/000000000001_worker_0.json",
                          "tensorboard/TRAIN/000000000001_7_host.tfevents",
                          "run.json", "index/000000000/000000000001worker.json",
                          "index/000000000/000000000001_worker_0.json.tmp"}) {
    EXPECT_FALSE(parse_step_file_key(key)) << key;
  }
  EXPECT_FALSE(parse_collections_file_key("collections/000000000/x.json"));
  EXPECT_FALSE(
      parse_collections_file_key("collections/000000000/_collections.json"));
}

TEST(FileNames, OfAMarkOfARuleThatFiredHoldsTheStep) {
  EXPECT_EQ(parse_fired_file_key("rules/fired/000000000007_AllZero.json"), 7);
  EXPECT_EQ(parse_fired_file_key("rules/fired/000000000007_A_worker_1.json"),
            7);
  for (const char* key :
       {"", "rules/fired/", "rules/fired/.json",
        "rules/fired/000000000007.json", "rules/fired/watcher.json",
        "rules/fired.json", "rules/fired/000000000007_a/b.json",
        "rules/fired/-7_AllZero.json",
        "rules/fired/99999999999999999999_AllZero.json",
        "rules/fired/000000000007_AllZero.json.tmp",
        "rules/000000000007_AllZero.json"}) {
    EXPECT_FALSE(parse_fired_file_key(key)) << key;
  }
}

TEST(FileNames, TellTheFilesOfARunFromThoseOfItsUser) {
  for (const char* key :
       {"claim.smd",
        "refused.smd",
        "run.json",
        "progress.json",
        "training_job_end.ts",
        "claims/worker_1.smd",
        "run.json.tmp",
        "claim.smd.0123456789abcdef.tmp",
        "collections/000000000/worker_0_collections.json",
        "events/000000000007/000000000007_worker_0.tfevents",
        "events/000000000007/000000000007_worker_0.tfevents.tmp",
        "index/000000000/000000000007_worker_0.json",
        "rules/AllZero.json",
        "rules/events/1700000000000_AllZero_IssuesFound.json",
        "rules/fired/000000000007_AllZero.json",
        "rule-output/CreateXgboostReport/xgboost_report.html",
        "tensorboard/TRAIN/events.out.tfevents.1700000000.node.7.1",
        "facts/worker_0-000000000007.json",
        "attempts/1/run.json",
        "series/worker_0-000000000007-000000000009-0.json",
        "attempts/1/index/000000000/000000000007_worker_0.json"}) {
    EXPECT_TRUE(is_run_file_key(key)) << key;
  }
  for (const char* key :
       {"", "notes.txt", "model.pt", "run.json.bak", "x.tmp", "rules/notes.txt",
        "events/notes.txt", "index/000000000/notes.json", "other/run.json",
        "attempts/run.json", "attempts/1/notes.txt", "attempts/1/attempts/1/x",
        "rule-output/mine.html", "collections/000000000/x.json",
        "tensorboard/TRAIN/model.ckpt", "claims/notes.txt"}) {
    EXPECT_FALSE(is_run_file_key(key)) << key;
  }
}

}  // namespace
}  // namespace smdebug
