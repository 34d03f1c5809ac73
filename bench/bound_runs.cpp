// What a run on device buffers costs a host, and two executables one after the other against their sum. Not part
// of the build; bench/bound_runs.py does the same from Python and runs this beside it.
//
//   c++ -std=c++20 -O2 bench/bound_runs.cpp $(pkg-config --cflags --libs tosa-vk) -o bound_runs
//   ./bound_runs 'PROBLEM LINE' RUNS      one input and one output, of the same shape
#include <tosavk/tosavk.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace tv = tosavk::cpp;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begun) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
}

void say(const char* what, std::vector<double> times) {
    std::sort(times.begin(), times.end());
    std::printf("%s best %.2f median %.2f\n", what, times.front(), times[times.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 3) return std::fputs("usage: bound_runs 'PROBLEM LINE' RUNS\n", stderr), 2;
    const int runs = std::max(1, std::atoi(argv[2]));
    const tv::Device device;
    const tv::Graph graph = tv::Graph::problem(argv[1]);
    const tv::Executable executable(device, graph);
    tv::Context first(executable), second(executable);
    const std::size_t size = graph.input(0).size_bytes;
    tv::Buffer in(device, size), between(device, size), out(device, size);
    in.upload(graph.random_input(0, 1));
    first.bind_input(0, in);
    first.bind_output(0, between);
    second.bind_input(0, between);
    second.bind_output(0, out);

    std::vector<double> one, sum, chain;
    for (int k = -10; k < runs; ++k) {  // turn by turn, so that all see the same machine; the first ten warm it up
        auto begun = Clock::now();
        first.run();
        const double alone = microseconds_since(begun);
        begun = Clock::now();
        first.run();
        second.run();
        const double both = microseconds_since(begun);
        begun = Clock::now();
        first.submit();
        second.submit();
        second.wait();
        first.wait();
        const double chained = microseconds_since(begun);
        if (k < 0) continue;
        one.push_back(alone);
        sum.push_back(both);
        chain.push_back(chained);
    }
    say("run", one);
    say("sum", sum);
    say("chain", chain);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "bound_runs: %s\n", error.what());
    return 1;
}
