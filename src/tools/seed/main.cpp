// tosa-vk-seed: compiles the shaders of common graphs while the library is built, for devices that need not be there.
// One file comes out of it, which the library reads at run time (src/store/seed.hpp).
#include "api/seed.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

using namespace tosavk;

int main(int argc, char** argv) {
    std::string list, output;
    std::vector<std::string> profiles;
    CLI::App app("Compiles the shaders of common graphs ahead of time", "tosa-vk-seed");
    app.add_option("LINES", list, "file of problem lines and paths of .tflite files, # begins a comment")->required();
    app.add_option("PROFILES", profiles, "capabilities of devices, as TOSAVK_CAPS takes them")->required();
    app.add_option("-o,--output", output, "the seed to write; what it has already is taken over")->required();
    CLI11_PARSE(app, argc, argv);
    try {
        make_seed(list, profiles, output);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "tosa-vk-seed: {}\n", error.what());
        return 1;
    }
}
