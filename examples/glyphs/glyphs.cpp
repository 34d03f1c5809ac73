// Reads pictures of letters and digits with the sample network, in int8 and in fp32: the library in one page.
// Usage: glyphs FOLDER [--device NAME] [SAMPLE...]   (FOLDER is examples/glyphs)
#include <tosavk/tosavk.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace tv = tosavk::cpp;
namespace fs = std::filesystem;

namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// A network compiled for a device, with one context to run it in.
struct Network {
    tv::Graph graph;
    tv::Executable executable;
    tv::Context context;
    double setup_ms = 0;

    Network(const tv::Device& device, const fs::path& file,
            std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now())
        : graph(tv::Graph::load(file.string())), executable(device, graph), context(executable) {
        // Drivers finish compiling at the first run, so it belongs to the setup.
        context.set_input(0, graph.random_input(0, 0));
        context.run();
        setup_ms = milliseconds_since(start);
    }

    /// The scores as real numbers, and how long the run took.
    std::pair<std::vector<double>, double> run(const tv::Array& picture) {
        const tv::TensorInfo info = graph.output(0);
        std::vector<std::byte> bytes(info.size_bytes);
        const auto start = std::chrono::steady_clock::now();
        context.set_input(0, picture.bytes());
        context.run();
        context.get_output(0, bytes);
        const double ms = milliseconds_since(start);

        std::vector<double> scores(info.size_bytes / tosavk_type_size(info.type));
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (info.type == TOSAVK_FP32) scores[i] = reinterpret_cast<const float*>(bytes.data())[i];
            else
                scores[i] = info.scale * (reinterpret_cast<const signed char*>(bytes.data())[i] -
                                          static_cast<double>(info.zero_point));
        }
        return {scores, ms};
    }
};

void print_picture(const tv::Array& picture) {
    const char ramp[] = " .:-=+*#%@";
    if (picture.info().type != TOSAVK_FP32 || picture.info().rank != 4) {
        throw tv::Error(TOSAVK_ERROR_BAD_INPUT, "a picture must be float32 [1,height,width,1]");
    }
    const auto* pixels = reinterpret_cast<const float*>(picture.bytes().data());
    const auto height = picture.info().dims[1], width = picture.info().dims[2];
    for (std::int64_t y = 0; y < height; y += 2) {  // characters are about twice as high as wide
        std::string line = "    ";
        for (std::int64_t x = 0; x < width; ++x) {
            const float mean = (pixels[y * width + x] + pixels[std::min(y + 1, height - 1) * width + x]) / 2;
            line += ramp[std::clamp(static_cast<int>(mean * 10), 0, 9)];
        }
        std::printf("%s\n", line.c_str());
    }
}

void print_answers(const char* kind, Network& network, const tv::Array& picture,
                   const std::vector<std::string>& labels) {
    const auto [scores, ms] = network.run(picture);
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&s = scores](auto a, auto b) { return s[a] != s[b] ? s[a] > s[b] : a < b; });
    std::printf("  %s:", kind);
    for (std::size_t i = 0; i < 3 && i < order.size(); ++i) {
        std::printf("  %s %.3f", order[i] < labels.size() ? labels[order[i]].c_str() : "?", scores[order[i]]);
    }
    std::printf("   (%.2f ms)\n", ms);
}

int demo(const fs::path& folder, const std::string& device_name, std::vector<std::string> samples) {
    std::vector<std::string> labels;
    std::ifstream file(folder / "labels.txt");
    for (std::string line; std::getline(file, line);) labels.push_back(line);
    if (samples.empty() && fs::is_directory(folder / "samples")) {
        for (const auto& entry : fs::directory_iterator(folder / "samples")) {
            if (entry.path().extension() == ".png") samples.push_back(entry.path().stem().string());
        }
        std::sort(samples.begin(), samples.end());
    }
    if (labels.empty() || samples.empty()) {
        std::fprintf(stderr, "glyphs: '%s' holds no labels.txt and samples/\n", folder.c_str());
        return 3;
    }

    const tv::Device device(device_name);
    Network int8(device, folder / "glyphs_int8.tflite"), fp32(device, folder / "glyphs_fp32.tflite");
    for (const std::string& sample : samples) {
        const std::string base = (folder / "samples" / sample).string();
        const tv::Array picture = tv::Array::load(base + ".fp32.npy"), quantized = tv::Array::load(base + ".int8.npy");
        std::printf("%s\n", sample.c_str());
        print_picture(picture);
        print_answers("int8", int8, quantized, labels);
        print_answers("fp32", fp32, picture, labels);
    }
    std::printf("device: %s (%s)\n", device.name().c_str(), device.driver().c_str());
    std::printf("load, compile and first run: int8 %.0f ms, fp32 %.0f ms; dispatches per run: %u and %u\n",
                int8.setup_ms, fp32.setup_ms, int8.context.dispatch_count(), fp32.context.dispatch_count());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    std::string folder, device;
    std::vector<std::string> samples;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--device" && i + 1 < argc) device = argv[++i];
        else if (folder.empty()) folder = argument;
        else samples.push_back(argument);
    }
    if (folder.empty() || folder[0] == '-') {
        std::fprintf(stderr, "usage: glyphs FOLDER [--device NAME] [SAMPLE...]\n");
        return 2;
    }
    try {
        return demo(folder, device, samples);
    } catch (const tv::Error& error) {
        std::fprintf(stderr, "glyphs: %s\n", error.what());
        return error.status() >= TOSAVK_ERROR_NO_DEVICE ? 4 : 3;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "glyphs: %s\n", error.what());
        return 3;
    }
}
