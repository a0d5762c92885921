#include "smdebug/base/logger.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "smdebug/base/escape.h"

#include "base/environment.h"
#include "base/strings.h"

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

std::optional<LogLevel> find_level(std::string_view name) {
  if (name == "debug") return LogLevel::debug;
  if (name == "info") return LogLevel::info;
  if (name == "warning") return LogLevel::warning;
  if (name == "error") return LogLevel::error;
  // smdebug logs no message above the level of an error.
  if (name == "critical" || name == "off") return LogLevel::off;
  return {};
}

// Escapes "%", which begins a field of a pattern.
std::string literal(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c;
    if (c == '%') escaped += c;
  }
  return escaped;
}

class SpdLogger : public Logger {
 public:
  explicit SpdLogger(const LogSettings& settings) : logger_("smdebug") {
    logger_.set_error_handler([](const std::string&) {});
    logger_.set_level(spdlog_level(settings.level));
    add_terminal(settings);
    for (const std::string& mistake : settings.mistakes) warning(mistake);
    if (settings.path) add_file(*settings.path, settings.context);
  }

  void log(LogLevel level, std::string_view message) override {
    if (level == LogLevel::off) return;
    spdlog::logger& logger =
        errors_ && level == LogLevel::error ? *errors_ : logger_;
    logger.log(spdlog_level(level), printable_lines(message));
  }

 private:
  void add_terminal(const LogSettings& settings) {
    const std::string pattern =
        settings.context
            ? "smdebug: [" + literal(*settings.context) + "] %^%l%$: %v"
            : "smdebug: %^%l%$: %v";
    if (!settings.all_to_stdout) {
      add_to(logger_, standard_error(), pattern);
      return;
    }
    add_to(logger_, std::make_shared<spdlog::sinks::stdout_color_sink_mt>(),
           pattern);
    if (*settings.all_to_stdout) return;
    errors_ = std::make_unique<spdlog::logger>("smdebug");
    errors_->set_error_handler([](const std::string&) {});
    errors_->set_level(spdlog_level(settings.level));
    add_to(*errors_, standard_error(), pattern);
  }

  static spdlog::sink_ptr standard_error() {
    return std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  }

  void add_file(const std::string& path,
                const std::optional<std::string>& context) {
    const std::string who =
        context.value_or(host_name() + ":" + std::to_string(process_id()));
    try {
      const spdlog::sink_ptr file =
          std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
      const std::string pattern =
          "[%Y-%m-%d %H:%M:%S.%e " + literal(who) + " %l] %v";
      for (spdlog::logger* logger : {&logger_, errors_.get()}) {
        if (logger == nullptr) continue;
        add_to(*logger, file, pattern);
        // Write each line at once: the last one may explain a crash.
        logger->flush_on(spdlog::level::trace);
      }
    } catch (const spdlog::spdlog_ex& error) {
      warning("SMDEBUG_LOG_PATH '" + path +
              "' cannot be written: " + error.what());
    }
  }

  static void add_to(spdlog::logger& logger, spdlog::sink_ptr sink,
                     const std::string& pattern) {
    sink->set_pattern(pattern);
    logger.sinks().push_back(std::move(sink));
  }

  spdlog::logger logger_;
  std::unique_ptr<spdlog::logger> errors_;  // if they have another output
};

}  // namespace

LogSettings LogSettings::from_environment() {
  LogSettings settings;
  if (const auto wanted = environment_variable("SMDEBUG_LOG_LEVEL")) {
    const auto level = find_level(lower_case(*wanted));
    settings.level = level.value_or(LogLevel::info);
    if (!level) {
      settings.mistakes.push_back(
          "SMDEBUG_LOG_LEVEL is '" + *wanted +
          "'; use debug, info, warning, error, critical or off; assuming info");
    }
  }
  if (const auto wanted = environment_variable("SMDEBUG_LOG_ALL_TO_STDOUT")) {
    settings.all_to_stdout = find_boolean(*wanted);
    if (!settings.all_to_stdout) {
      settings.mistakes.push_back(
          "SMDEBUG_LOG_ALL_TO_STDOUT is '" + *wanted +
          "'; use true or false; logging to standard error");
    }
  }
  if (is_launched()) settings.mistakes.clear();
  settings.context = environment_variable("SMDEBUG_LOG_CONTEXT");
  settings.path = environment_variable("SMDEBUG_LOG_PATH");
  return settings;
}

std::unique_ptr<Logger> make_logger(const LogSettings& settings) {
  return std::make_unique<SpdLogger>(settings);
}

Logger& default_logger() {
  // Never destroyed: the write thread may outlive static destruction.
  static Logger& logger =
      *make_logger(LogSettings::from_environment()).release();
  return logger;
}

}  // namespace smdebug
