#include "device/compilers/listing.hpp"

#include <algorithm>
#include <map>

namespace tosavk {

namespace {

Hotspot sum_of(const Listing& listing, std::size_t first, std::size_t last) {
    Hotspot sum;
    for (std::size_t b = first; b <= last; ++b) {
        for (const Instruction& one : listing[b].instructions) {
            sum.instructions += one.times;
            sum.multiply_adds += one.times * one.multiply_adds;
        }
    }
    return sum;
}

}  // namespace

std::size_t instruction_count(const Listing& listing) {
    return listing.empty() ? 0 : sum_of(listing, 0, listing.size() - 1).instructions;
}

Hotspot hottest(const Listing& listing) {
    std::size_t hot = 0, most = 0;
    std::map<std::string, std::size_t> place;
    for (std::size_t b = 0; b < listing.size(); ++b) {
        place.emplace(listing[b].name, b);
        const std::size_t products = sum_of(listing, b, b).multiply_adds;
        if (products > most) {
            most = products;
            hot = b;
        }
    }
    if (most == 0) return {};
    std::size_t first = hot, last = hot, length = listing.size() + 1;
    for (std::size_t b = hot; b < listing.size(); ++b) {
        for (const std::string& target : listing[b].targets) {
            const auto to = place.find(target);
            if (to == place.end() || to->second > hot || b - to->second >= length) continue;
            first = to->second;
            last = b;
            length = b - to->second;
        }
    }
    return sum_of(listing, first, last);
}

}  // namespace tosavk
