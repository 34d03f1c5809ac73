// What std::stable_sort takes on one core for the keys of bench/suites/own.txt, to hold SORT against. No part of the
// build: c++ -O3 bench/stable_sort.cpp -o stable_sort && ./stable_sort
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

int main() {
    for (const std::size_t count : {std::size_t{1} << 20, std::size_t{1} << 22}) {
        std::mt19937_64 random(1);
        std::normal_distribution<float> normal;
        std::vector<float> keys(count);
        for (float& key : keys) key = normal(random);
        double best = 1e9;
        for (int run = 0; run < 5; ++run) {
            std::vector<float> sorted = keys;
            const auto begun = std::chrono::steady_clock::now();
            std::stable_sort(sorted.begin(), sorted.end());
            const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
            best = std::min(best, took.count());
        }
        std::printf("%zu fp32 keys: %.1f ms\n", count, best);
    }
}
