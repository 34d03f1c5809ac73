#include "compile/plan/access.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk {

namespace {

/// The kernel's own main() runs after the count of its records was set to zero.
std::string watched(const std::string& glsl, std::size_t binding, const AccessOptions& options) {
    const std::size_t version_end = glsl.find('\n') + 1;
    return glsl.substr(0, version_end) +
           fmt::format(
               "#define TOSAVK_ACCESS {}\n#define TOSAVK_ACCESS_GROUPS {}u\n#define TOSAVK_ACCESS_RECORDS {}u\n"
               "#define main watched_main\n",
               binding, options.workgroups, options.records) +
           glsl.substr(version_end) +
           "\n#undef main\nvoid main() {\n    uint base = access_base();\n"
           "    if (base != 0xffffffffu) access_w[base] = 0u;\n    watched_main();\n}\n";
}

}  // namespace

std::vector<AccessList> watch_accesses(Plan& plan, const DevicePlan& device, const AccessOptions& options) {
    std::vector<AccessList> lists;
    for (std::size_t d = 0; d < plan.dispatches.size(); ++d) {
        Dispatch& dispatch = plan.dispatches[d];
        if (dispatch.glsl.empty()) continue;
        AccessList list{d, {}, 0, 0, options.records};
        const std::uint64_t groups = std::uint64_t{dispatch.groups[0]} * dispatch.groups[1] * dispatch.groups[2];
        list.workgroups = static_cast<std::uint32_t>(std::min<std::uint64_t>(groups, options.workgroups));
        list.invocations = dispatch.invocations ? dispatch.invocations : device.workgroup_size;
        const std::uint64_t words = std::uint64_t{list.workgroups} * list.invocations * (1 + 2 * options.records);
        const std::uint64_t alignment = device.buffer_alignment;
        const std::uint64_t offset = (plan.arena_bytes + alignment - 1) / alignment * alignment;
        list.place = {Space::arena, offset, (4 * words + 15) / 16 * 16};
        plan.arena_bytes = offset + list.place.size;
        dispatch.glsl = watched(dispatch.glsl, dispatch.bindings.size(), options);
        dispatch.bindings.push_back({list.place, DType::i32, true, "accesses", ReadPath::buffer});
        lists.push_back(list);
    }
    return lists;
}

}  // namespace tosavk
