// Records one number, reads it back and runs no rules, which suffices to link
// every folder of the library.

#include <iostream>
#include <memory>
#include <utility>

#include "smdebug/base/try.h"
#include "smdebug/base/version.h"
#include "smdebug/capture/session.h"
#include "smdebug/config/framework.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/builtin_rules.h"

namespace {

smdebug::Status record(const char* folder) {
  smdebug::SessionOptions options;
  options.config.out_dir = folder;
  options.framework = smdebug::plain_framework();
  SMD_TRY(auto session, smdebug::Session::create(std::move(options)));
  session->begin_step();
  session->save_scalar("accuracy", 0.75);
  session->end_step();
  return session->close();
}

smdebug::Status read(const char* folder) {
  SMD_TRY(auto trial, smdebug::Trial::open(folder));
  for (const auto& name : trial->tensor_names()) std::cout << name << "\n";
  return {};
}

}  // namespace

int main(int, char** argv) {
  const char* folder = argv[1];
  for (const auto& status : {record(folder), read(folder)}) {
    if (status) continue;
    std::cerr << status.error().message << "\n";
    return 1;
  }
  std::cout << smdebug::builtin_rules().size() << " rules, version "
            << smdebug::kVersion << "\n";
}
