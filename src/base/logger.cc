#include "smdebug/base/logger.h"

#include <memory>
#include <optional>
#include <string>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "smdebug/base/printable.h"

#include "base/environment.h"

namespace smdebug {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

std::optional<LogLevel> find_level(std::string name) {
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "warning") return LogLevel::warning;
  if (name == "error") return LogLevel::error;
  if (name == "off") return LogLevel::off;
  return {};
}

class StderrLogger : public Logger {
 public:
  StderrLogger()
      : logger_("smdebug",
                std::make_shared<spdlog::sinks::stderr_color_sink_mt>()) {
    logger_.set_pattern("smdebug: %^%l%$: %v");
    logger_.set_error_handler([](const std::string&) {});
    const auto wanted = environment_variable("SMDEBUG_LOG_LEVEL");
    const auto level = find_level(wanted.value_or("info"));
    logger_.set_level(spdlog_level(level.value_or(LogLevel::info)));
    if (!level) {
      warning("SMDEBUG_LOG_LEVEL is '" + *wanted +
              "' and should be debug, info, warning, error or off; taking "
              "info");
    }
  }

  void log(LogLevel level, std::string_view message) override {
    if (level == LogLevel::off) return;
    logger_.log(spdlog_level(level), printable_lines(message));
  }

 private:
  spdlog::logger logger_;
};

}  // namespace

Logger& default_logger() {
  // Never destroyed: the write thread may outlive static destruction.
  static Logger& logger = *new StderrLogger;
  return logger;
}

}  // namespace smdebug
