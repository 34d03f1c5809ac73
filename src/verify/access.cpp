#include "verify/access.hpp"

#include "base/error.hpp"
#include "verify/checker.hpp"
#include "vk/run/context.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace tosavk {

namespace {

constexpr std::uint32_t segment_words = 16, banks = 32;
constexpr std::array<std::uint32_t, 3> subgroup_sizes{16, 32, 64};

struct Touch {
    std::uint32_t word, count;
};

/// What one access of a subgroup touches.
AccessFigures figures_of(std::span<const Touch> touches, bool shared) {
    std::set<std::uint32_t> words, segments;
    for (const Touch& touch : touches) {
        for (std::uint32_t w = touch.word; w < touch.word + touch.count; ++w) words.insert(w);
    }
    AccessFigures figures;
    figures.accesses = 1;
    const std::uint64_t width = shared ? banks : segment_words;
    figures.fewest = (words.size() + width - 1) / width;
    if (shared) {
        std::array<std::uint64_t, banks> of_bank{};
        for (const std::uint32_t w : words) ++of_bank[w % banks];
        figures.segments = *std::max_element(of_bank.begin(), of_bank.end());
    } else {
        for (const std::uint32_t w : words) segments.insert(w / segment_words);
        figures.segments = segments.size();
    }
    figures.lanes = touches.size();
    return figures;
}

/// The records of some invocations in a row.
std::map<TouchedPlace, AccessFigures> replay_subgroup(const AccessList& list, std::span<const std::uint32_t> words,
                                                      std::uint32_t lanes, std::uint64_t& lost) {
    const std::size_t stride = 1 + 2 * std::size_t{list.records};
    std::map<TouchedPlace, std::vector<std::vector<Touch>>> in_turn;  // by place: the k-th accesses
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const auto own = words.subspan(lane * stride, stride);
        std::map<TouchedPlace, std::size_t> next;
        const std::uint32_t kept = std::min(own[0], list.records);
        lost += own[0] - kept;
        for (std::uint32_t r = 0; r < kept; ++r) {
            const std::uint32_t what = own[1 + 2 * r], word = own[2 + 2 * r];
            const TouchedPlace place{(what >> 17 & 1u) != 0, what & 255u, (what >> 16 & 1u) != 0};
            std::vector<std::vector<Touch>>& turns = in_turn[place];
            const std::size_t k = next[place]++;
            if (k == turns.size()) turns.emplace_back();
            turns[k].push_back({word, what >> 8 & 255u});
        }
    }
    std::map<TouchedPlace, AccessFigures> all;
    for (const auto& [place, turns] : in_turn) {
        for (const std::vector<Touch>& touches : turns) {
            AccessFigures one = figures_of(touches, place.shared);
            one.idle = lanes - one.lanes;
            all[place] += one;
        }
    }
    return all;
}

}  // namespace

AccessFigures& AccessFigures::operator+=(const AccessFigures& other) {
    accesses += other.accesses;
    segments += other.segments;
    fewest += other.fewest;
    lanes += other.lanes;
    idle += other.idle;
    return *this;
}

std::map<TouchedPlace, AccessFigures> replay_accesses(const AccessList& list, std::span<const std::uint32_t> words,
                                                      std::uint32_t size, std::uint64_t* lost) {
    const std::size_t stride = 1 + 2 * std::size_t{list.records};
    if (size == 0 || words.size() < stride * list.workgroups * list.invocations)
        throw Error(ErrorCode::internal, "the records of a dispatch are shorter than they should be");
    std::map<TouchedPlace, AccessFigures> all;
    std::uint64_t without_room = 0;
    for (std::uint32_t group = 0; group < list.workgroups; ++group) {
        for (std::uint32_t first = 0; first < list.invocations; first += size) {
            const std::uint32_t lanes = std::min(size, list.invocations - first);
            const auto own = words.subspan((std::size_t{group} * list.invocations + first) * stride, lanes * stride);
            for (const auto& [place, figures] : replay_subgroup(list, own, lanes, without_room)) all[place] += figures;
        }
    }
    if (lost) *lost = without_room;
    return all;
}

std::vector<DispatchAccesses> measure_accesses(const Executable& executable, const AccessOptions& options) {
    const std::shared_ptr<Device> device = executable.shared_device();
    Plan plan = executable.plan();
    const std::vector<AccessList> lists = watch_accesses(plan, device->plan(), options);
    const std::shared_ptr<const Graph> graph = executable.shared_graph();
    const auto watched = Executable::create(device, graph, std::move(plan));
    Context context(watched, false);
    for (std::size_t k = 0; k < graph->inputs.size(); ++k) context.set_input(k, random_input(*graph, k, 1).bytes);
    context.submit();
    context.wait();
    std::vector<DispatchAccesses> result;
    for (const AccessList& list : lists) {
        const std::uint32_t own = watched->plan().dispatches[list.dispatch].subgroup_size;
        DispatchAccesses one{list, 0, own != 0, {}};
        std::vector<std::uint32_t> words(list.place.size / 4);
        context.get_memory(list.place, std::as_writable_bytes(std::span(words)));
        if (one.own_subgroups) {
            one.sizes[own] = replay_accesses(list, words, own, &one.lost);
        } else {
            for (const std::uint32_t size : subgroup_sizes)
                one.sizes[size] = replay_accesses(list, words, size, &one.lost);
        }
        result.push_back(std::move(one));
    }
    return result;
}

}  // namespace tosavk
