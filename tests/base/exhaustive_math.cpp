// Compares src/numerics/shader_math (the host form of shaders/lib/math.glsl) with fp64 on all 2^32 fp32 inputs, or on
// every STEPth, and prints the worst error of each function against TOSA's bound. Minutes, so no part of the suite.
// Usage: exhaustive_math [STEP] [FUNCTION...]
// Build: g++ -std=c++20 -O2 -ffp-contract=off -Isrc -Itests -pthread -o exhaustive_math
//        tests/base/exhaustive_math.cpp src/base/numerics/shader_math.cpp
#include "base/math_bounds.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

using namespace tosavk::math_bounds;

namespace {

struct Worst {
    double share = 0, ulps = 0;
    float share_at = 0, ulps_at = 0;
    std::uint64_t wrong = 0;
};

Worst check(const Function& function, std::uint64_t first, std::uint64_t last, std::uint64_t step) {
    Worst worst;
    for (std::uint64_t bits = first; bits < last; bits += step) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        const double r = function.reference(x);
        const Error error = compare(function.mirror(x), r, function.bound(x, r));
        if (error.share > worst.share) worst.share = error.share, worst.share_at = x;
        if (error.ulps > worst.ulps && std::fabs(r) >= nmin) worst.ulps = error.ulps, worst.ulps_at = x;
        worst.wrong += error.share > function.share || error.ulps > function.ulps;
    }
    return worst;
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t step = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    if (step == 0) return std::fputs("STEP must be a positive number\n", stderr), 2;
    const std::vector<std::string> wanted(argv + std::min(argc, 2), argv + argc);
    std::printf("%-12s %12s %14s %12s %14s %14s\n", "function", "worst ulp", "at", "of bound", "at", "over the limit");
    bool good = true;
    for (const Function& function : functions) {
        bool skip = !wanted.empty();
        for (const auto& name : wanted) skip = skip && name != function.name;
        if (skip) continue;
        constexpr std::uint64_t half = std::uint64_t{1} << 31;
        std::array<Worst, 2> parts;
        std::thread other([&] { parts[1] = check(function, half, 2 * half, step); });
        parts[0] = check(function, 0, half, step);
        other.join();
        const Worst& a = parts[0].share >= parts[1].share ? parts[0] : parts[1];
        const Worst& b = parts[0].ulps >= parts[1].ulps ? parts[0] : parts[1];
        const auto wrong = parts[0].wrong + parts[1].wrong;
        std::printf("%-12s ", function.name);
        if (std::isfinite(function.ulps)) std::printf("%12.4f %14.7g", b.ulps, static_cast<double>(b.ulps_at));
        else std::printf("%12s %14s", "-", "-");
        std::printf(" %11.2f%% %14.7g %14llu\n", 100 * a.share, static_cast<double>(a.share_at),
                    static_cast<unsigned long long>(wrong));
        std::fflush(stdout);
        good = good && wrong == 0;
    }
    return good ? 0 : 1;
}
