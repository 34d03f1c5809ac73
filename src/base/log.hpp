// TOSAVK_VERBOSE=TOPIC[,TOPIC...] or "all": what the library says on stderr about what it does on its own.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace tosavk {

inline bool is_verbose(std::string_view topic) {
    const char* value = std::getenv("TOSAVK_VERBOSE");
    if (value == nullptr) return false;
    const std::string list = "," + std::string(value) + ",";
    return list == ",all," || list.find("," + std::string(topic) + ",") != std::string::npos;
}

/// One line, when the topic is asked for.
inline void say(std::string_view topic, const std::string& sentence) {
    if (!is_verbose(topic)) return;
    std::fprintf(stderr, "tosa-vk: %s: %s\n", std::string(topic).c_str(), sentence.c_str());
}

}  // namespace tosavk
