#include "device/compilers/listing.hpp"

#include <algorithm>
#include <map>

namespace tosavk {

namespace {

constexpr double rounds = 8;             ///< of a loop, where they are unknown
constexpr double matrix_products = 256;  ///< of a step of a matrix unit, at least

/// Blocks, by their number.
using Loop = std::vector<bool>;

std::size_t length_of(const Loop& loop) { return static_cast<std::size_t>(std::count(loop.begin(), loop.end(), true)); }

/// What can be reached over `edges` from a block, which is part of it, but not past `end`.
Loop reach(const std::vector<std::vector<std::size_t>>& edges, std::size_t from, std::size_t end) {
    Loop reached(edges.size(), false);
    std::vector<std::size_t> open{from};
    reached[from] = true;
    while (!open.empty()) {
        const std::size_t block = open.back();
        open.pop_back();
        if (block == end) continue;
        for (const std::size_t next : edges[block]) {
            if (reached[next]) continue;
            reached[next] = true;
            open.push_back(next);
        }
    }
    return reached;
}

/// A jump back makes a loop of what lies on the ways from its target to it; those to the same block make one.
std::vector<Loop> loops_of(const Listing& listing) {
    std::map<std::string_view, std::size_t> place;
    for (std::size_t b = 0; b < listing.size(); ++b) {
        if (!listing[b].name.empty()) place.emplace(listing[b].name, b);
    }
    std::vector<std::vector<std::size_t>> next(listing.size()), before(listing.size());
    const auto edge = [&](std::size_t from, std::size_t to) {
        next[from].push_back(to);
        before[to].push_back(from);
    };
    for (std::size_t b = 0; b < listing.size(); ++b) {
        for (const std::string& target : listing[b].targets) {
            if (const auto to = place.find(target); to != place.end()) edge(b, to->second);
        }
        if (listing[b].goes_on && b + 1 < listing.size()) edge(b, b + 1);
    }
    std::vector<Loop> loops;
    for (std::size_t first = 0; first < listing.size(); ++first) {
        const auto is_later = [&](std::size_t b) { return b >= first; };
        if (std::none_of(before[first].begin(), before[first].end(), is_later)) continue;
        const Loop ahead = reach(next, first, listing.size());
        Loop loop(listing.size(), false);
        bool is_loop = false;
        for (const std::size_t last : before[first]) {
            if (last < first || !ahead[last]) continue;
            is_loop = true;
            const Loop back = reach(before, last, first);
            for (std::size_t b = 0; b < loop.size(); ++b) loop[b] = loop[b] || (ahead[b] && back[b]);
        }
        if (is_loop) loops.push_back(std::move(loop));
    }
    return loops;
}

struct Products {
    std::size_t floats = 0, integers = 0, dots = 0;
};

void add(Hotspot& sum, Products& products, const Block& block) {
    for (const Instruction& one : block.instructions) {
        sum.instructions += one.times;
        switch (one.does) {
            case Does::floats: products.floats += one.times * one.multiply_adds; break;
            case Does::integers: products.integers += one.times * one.multiply_adds; break;
            case Does::dots: products.dots += one.times * one.multiply_adds; break;
            case Does::matrix: sum.matrix += one.times; break;
            case Does::shared_load: sum.shared_loads += one.times; break;
            case Does::load: sum.loads += one.times; break;
            case Does::conversion: sum.conversions += one.times; break;
            case Does::scratch: sum.scratch += one.times; break;
            case Does::wait: sum.waits += one.times; break;
            case Does::other: break;
        }
    }
    const std::size_t integers = products.dots > 0 ? products.dots : products.integers;
    sum.multiply_adds = sum.matrix > 0 ? sum.matrix : std::max(products.floats, integers);
}

Hotspot sum_of(const Block& block) {
    Hotspot sum;
    Products products;
    add(sum, products, block);
    return sum;
}

}  // namespace

Block& ListingWriter::block() {
    if (ended_) listing_.emplace_back();
    ended_ = false;
    return listing_.back();
}

void ListingWriter::label(std::string_view name) {
    ended_ = true;
    block().name = name;
}

void ListingWriter::add(Instruction one) {
    if (one.does == Does::floats && one.multiply_adds == 0) one.does = Does::other;
    block().instructions.push_back(std::move(one));
}

void ListingWriter::jump(std::string_view target, bool always) {
    if (listing_.empty()) return;
    listing_.back().targets.emplace_back(target);
    listing_.back().goes_on = !always;
    ended_ = true;
}

void ListingWriter::stop() {
    if (!listing_.empty()) listing_.back().goes_on = false;
    ended_ = true;
}

std::size_t instruction_count(const Listing& listing) {
    std::size_t count = 0;
    for (const Block& block : listing) count += sum_of(block).instructions;
    return count;
}

std::size_t count_of(const Listing& listing, Does what) {
    std::size_t count = 0;
    for (const Block& block : listing) {
        for (const Instruction& one : block.instructions) count += one.does == what ? one.times : 0;
    }
    return count;
}

Hotspot hottest(const Listing& listing) {
    const std::vector<Loop> loops = loops_of(listing);
    std::size_t hot = 0;
    double most = 0;
    for (std::size_t b = 0; b < listing.size(); ++b) {
        const Hotspot sum = sum_of(listing[b]);
        auto weight = static_cast<double>(sum.multiply_adds) * (sum.matrix > 0 ? matrix_products : 1);
        for (const Loop& loop : loops) weight *= loop[b] ? rounds : 1;
        if (weight > most) {
            most = weight;
            hot = b;
        }
    }
    if (most == 0) return {};
    const Loop* innermost = nullptr;
    for (const Loop& loop : loops) {
        if (loop[hot] && (!innermost || length_of(loop) < length_of(*innermost))) innermost = &loop;
    }
    if (!innermost) return sum_of(listing[hot]);
    Hotspot sum;
    Products products;
    for (std::size_t b = 0; b < listing.size(); ++b) {
        if ((*innermost)[b]) add(sum, products, listing[b]);
    }
    return sum;
}

}  // namespace tosavk
