// Two replicas in one process, each a worker of the run with its own files. A
// process per worker needs only `Session::set_worker(rank, world_size)`.
//
//     workers RUN

#include <cstdio>
#include <thread>
#include <vector>

#include "smdebug/smdebug.h"

using namespace smdebug;

// A thread is the owner of the session whose steps it begins.
void train_replica(Session& session, float scale) {
  const TensorSlot loss = session.tensor("loss");
  for (int step = 0; step < 20; ++step) {
    session.begin_step();
    loss.put(view(scale / static_cast<float>(step + 1)));
  }
  session.end_step();
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int main(int, char** argv) {
  HookConfig config;
  config.out_dir = argv[1];
  config.save_config = SaveConfig({.save_interval = 5});
  config.include_workers = IncludeWorkers::all;
  auto first = Session::create({.config = config});
  if (!first) return fail(first.error());
  auto second = Session::create({.config = config});
  if (!second) return fail(second.error());

  SessionGroup group(**first);
  Session* const further[] = {second->get()};
  const std::vector<std::string> names = {"replica_0", "replica_1"};
  if (const Status spread = group.spread(further, names); !spread)
    return fail(spread.error());

  {
    std::jthread one([&] { train_replica(**first, 1); });
    std::jthread other([&] { train_replica(**second, 2); });
  }
  const Status closed = group.close();
  return closed ? 0 : fail(closed.error());
}
