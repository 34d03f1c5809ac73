// The delegate's options, pairs of strings.
#pragma once

#include <tosavk/model.hpp>

#include <cstddef>
#include <string>

namespace tosavk::delegate {

struct DelegateOptions {
    std::string device;  ///< as of tosavk_device_open; empty: the best, and none at all is no error
    std::string cache_dir;
    std::string profile;  ///< a file that takes the counters as JSON; "-": stderr
    std::string error;    ///< what is wrong with the options; empty: nothing
    bool verbose = false;
    std::size_t min_nodes = 0;       ///< 0: small partitions are judged by their work
    std::size_t max_partitions = 0;  ///< 0: any number
    cpp::LoadOptions load;
};

/// Never throws for what is wrong in them.
DelegateOptions parse_options(const char* const* keys, const char* const* values, std::size_t count);

}  // namespace tosavk::delegate
