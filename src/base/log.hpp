// What the library says about what it does on its own, by topics: TOSAVK_VERBOSE=TOPIC[,TOPIC...] or "all" on stderr,
// or as a program asks for it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tosavk {

/// One line, where the topic is asked for; any thread.
void say(std::string_view topic, const std::string& sentence);

/// For all of the process. `topics` nullopt: TOSAVK_VERBOSE; `sink` empty: stderr. On return the sink before is in use
/// no more.
void set_log(std::optional<std::string> topics, std::function<void(const char* topic, const char* sentence)> sink);

}  // namespace tosavk
