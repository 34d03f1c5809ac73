// Where the library's own words go.
#include "base/log.hpp"
#include "api/handles.hpp"

using namespace tosavk;
using namespace tosavk::api;

tosavk_status tosavk_set_log(const char* topics, tosavk_log_callback callback, void* user, tosavk_error** error) {
    return guard(__func__, error, [&](const Call&) {
        std::function<void(const char*, const char*)> sink;
        if (callback) sink = [=](const char* topic, const char* sentence) { callback(user, topic, sentence); };
        set_log(topics ? std::optional<std::string>(topics) : std::nullopt, std::move(sink));
    });
}
