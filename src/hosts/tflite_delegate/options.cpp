#include "hosts/tflite_delegate/options.hpp"

#include <charconv>
#include <cstring>
#include <map>
#include <stdexcept>

namespace tosavk::delegate {

namespace {

[[noreturn]] void wrong(const std::string& key, const std::string& value, const std::string& instead) {
    throw std::invalid_argument("option " + key + " is '" + value + "', but " + instead);
}

std::size_t count_of(const std::string& key, const std::string& value) {
    std::size_t result = 0;
    const char* end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, result);
    if (error != std::errc() || stopped != end) wrong(key, value, "a number of 0 or more is wanted");
    return result;
}

/// Python hands on what str() makes of its values.
bool flag_of(const std::string& key, const std::string& value) {
    if (value == "1" || value == "true" || value == "True") return true;
    if (value == "0" || value == "false" || value == "False" || value.empty()) return false;
    wrong(key, value, "0 or 1 is wanted");
}

template <class T> T choice_of(const std::string& key, const std::string& value, const std::map<std::string, T>& all) {
    const auto found = all.find(value);
    if (found != all.end()) return found->second;
    std::string names;
    for (const auto& entry : all) names += (names.empty() ? "" : " or ") + entry.first;
    wrong(key, value, names + " is wanted");
}

void take(DelegateOptions& options, const std::string& key, const std::string& value) {
    if (key == "device") options.device = value;
    else if (key == "cache_dir") options.cache_dir = value;
    else if (key == "profile") options.profile = value;
    else if (key == "verbose") options.verbose = flag_of(key, value);
    else if (key == "min_nodes") options.min_nodes = count_of(key, value);
    else if (key == "max_partitions") options.max_partitions = count_of(key, value);
    else if (key == "rounding") {
        options.load.rounding = choice_of<tosavk_rounding>(key, value,
                                                           {{"tflite", TOSAVK_ROUNDING_TFLITE},
                                                            {"double", TOSAVK_ROUNDING_DOUBLE},
                                                            {"single", TOSAVK_ROUNDING_SINGLE}});
    } else if (key == "precision") {
        options.load.precision = choice_of<tosavk_precision>(key, value,
                                                             {{"declared", TOSAVK_PRECISION_DECLARED},
                                                              {"exact", TOSAVK_PRECISION_DECLARED},
                                                              {"fp16", TOSAVK_PRECISION_FP16},
                                                              {"fast", TOSAVK_PRECISION_FAST}});
    } else {
        throw std::invalid_argument(
            "there is no option '" + key +
            "'; there are device, rounding, precision, cache_dir, profile, verbose, min_nodes and max_partitions");
    }
}

}  // namespace

DelegateOptions parse_options(const char* const* keys, const char* const* values, std::size_t count) {
    DelegateOptions options;
    options.load.level = TOSAVK_LEVEL_NONE;  // TFLite knows no levels
    try {
        if (count > 0 && (keys == nullptr || values == nullptr))
            throw std::invalid_argument("options without keys or values");
        for (std::size_t k = 0; k < count; ++k) {
            if (keys[k] == nullptr || values[k] == nullptr)
                throw std::invalid_argument("an option without a key or a value");
            take(options, keys[k], values[k]);
        }
    } catch (const std::exception& e) {
        options.error = e.what();
    }
    return options;
}

}  // namespace tosavk::delegate
