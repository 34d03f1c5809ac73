#include "base/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace tosavk {

namespace {

struct Log {
    std::mutex mutex;
    std::optional<std::string> topics;
    std::function<void(const char*, const char*)> sink;
};

/// Never destroyed: other threads may speak until the very end.
Log& log() {
    static Log* const the = new Log;
    return *the;
}

bool names(const std::string& topics, std::string_view topic) {
    std::string list = ",";
    for (const char c : topics)
        if (c != ' ') list += c;
    list += ',';
    const auto has = [&](std::string_view name) {
        return list.find("," + std::string(name) + ",") != std::string::npos;
    };
    return has("all") || has(topic);
}

}  // namespace

void say(std::string_view topic, const std::string& sentence) {
    Log& to = log();
    const std::lock_guard lock(to.mutex);
    const char* const environment = std::getenv("TOSAVK_VERBOSE");
    if (!names(to.topics ? *to.topics : environment ? environment : "", topic)) return;
    const std::string name(topic);
    if (to.sink) to.sink(name.c_str(), sentence.c_str());
    else std::fprintf(stderr, "tosa-vk: %s: %s\n", name.c_str(), sentence.c_str());
}

void set_log(std::optional<std::string> topics, std::function<void(const char*, const char*)> sink) {
    Log& to = log();
    const std::lock_guard lock(to.mutex);
    to.topics = std::move(topics);
    to.sink = std::move(sink);
}

}  // namespace tosavk
