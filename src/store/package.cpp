#include "store/package.hpp"

#include "base/text.hpp"
#include "compile/group/fuse.hpp"
#include "kernels/common/shader_files.hpp"
#include "spirv/glslang.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <type_traits>

namespace tosavk {
namespace {

constexpr char magic[8] = {'T', 'O', 'S', 'A', 'V', 'K', 'P', 'K'};
/// Goes up with every change of the fields, of what a plan means, or of how the planner numbers things.
constexpr std::uint32_t format_version = 29;

struct FileHeader {
    char magic_bytes[8];
    std::uint32_t version, zero;
    std::uint64_t file_bytes;
    std::uint64_t sum;  ///< of all that follows
};
static_assert(sizeof(FileHeader) == 32);

[[noreturn]] void damaged(const std::string& what) {
    throw Error(ErrorCode::bad_model, "the package is damaged: " + what);
}

/// Appends fields. Both archives take the same lists of fields, below.
class Writer {
public:
    explicit Writer(std::vector<PackagedShader>* shaders = nullptr) {
        for (std::size_t k = 0; shaders && k < shaders->size(); ++k)
            sources_[(*shaders)[k].glsl] = static_cast<std::uint32_t>(k);
    }

    template <class... T> void operator()(T&... values) { (one(values), ...); }
    /// Shader sources are written as their number; `no_id` for a copy, which has none.
    void source(std::string& glsl, bool custom) {
        std::uint32_t none = no_id;
        if (glsl.empty() && !custom) return one(none);
        const auto found = sources_.find(glsl);
        if (found == sources_.end())
            throw Error(ErrorCode::unsupported, "a package cannot hold kernels of CUSTOM operators");
        one(found->second);
    }
    template <class... T> void texts(T&... values) { (one(values), ...); }
    template <class E> void choice(E& value, E) { one(value); }
    /// Plans hold plans of regions.
    struct Level {
        template <class A> explicit Level(A&) {}
    };

    Bytes bytes;

private:
    void append(const void* from, std::size_t size) {
        const std::size_t end = bytes.size();
        bytes.resize(end + size);
        if (size > 0) std::memcpy(bytes.data() + end, from, size);
    }
    template <class T> void one(T& value) {
        if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
            append(&value, sizeof value);
        } else {
            fields(*this, value);
        }
    }
    void one(std::string& text) { list(text); }
    template <class T, std::size_t n> void one(std::array<T, n>& array) {
        for (T& value : array) one(value);
    }
    template <class T> void one(std::vector<T>& values) { list(values); }
    template <class List> void list(List& values) {
        auto count = static_cast<std::uint64_t>(values.size());
        one(count);
        using T = typename List::value_type;
        if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>) {
            append(values.data(), values.size() * sizeof(T));
        } else {
            for (T& value : values) one(value);
        }
    }

    std::map<std::string, std::uint32_t> sources_;
};

/// Takes fields back; nothing is trusted.
class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

    template <class... T> void operator()(T&... values) { (one(values), ...); }
    void source(std::string& glsl, bool) {
        std::uint32_t index = 0;
        one(index);
        if (index == no_id) return;
        if (!shaders || index >= shaders->size()) damaged(fmt::format("it has no shader {}", index));
        glsl = (*shaders)[index].glsl;
        // Each dispatch has a copy: a small file may name a long source often.
        constexpr std::size_t most = std::size_t{1} << 30;
        if (glsl.size() > most - source_bytes_) damaged("its dispatches have more than 1 GiB of sources");
        source_bytes_ += glsl.size();
    }
    /// Names, which stand in messages, tables and JSON.
    template <class... T> void texts(T&... values) {
        (one(values), ...);
        ((values = printable(values)), ...);
    }
    /// An enumeration with `last` as its greatest value.
    template <class E> void choice(E& value, E last) {
        std::underlying_type_t<E> number{};
        one(number);
        if (number > static_cast<std::underlying_type_t<E>>(last)) damaged(fmt::format("{} is no choice", number));
        value = static_cast<E>(number);
    }
    /// No file may exhaust the stack.
    class Level {
    public:
        explicit Level(Reader& in) : in_(in) {
            if (++in_.depth_ > max_depth) damaged("its regions are nested too deeply");
        }
        ~Level() { --in_.depth_; }
        Level(const Level&) = delete;

    private:
        Reader& in_;
    };
    bool at_end() const { return rest_.empty(); }

    const std::vector<PackagedShader>* shaders = nullptr;  ///< for source()

private:
    void take(void* to, std::size_t size) {
        if (size > rest_.size()) damaged("it ends too early");
        if (size > 0) std::memcpy(to, rest_.data(), size);
        rest_ = rest_.subspan(size);
    }
    template <class T> void one(T& value) {
        if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>) take(&value, sizeof value);
        else fields(*this, value);
    }
    void one(bool& value) {
        std::uint8_t number = 0;
        take(&number, 1);
        if (number > 1) damaged(fmt::format("{} is neither true nor false", number));
        value = number != 0;
    }
    void one(std::string& text) { list(text); }
    template <class T, std::size_t n> void one(std::array<T, n>& array) {
        for (T& value : array) one(value);
    }
    template <class T> void one(std::vector<T>& values) { list(values); }
    template <class List> void list(List& values) {
        using T = typename List::value_type;
        constexpr bool plain = std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>;
        std::uint64_t count = 0;
        one(count);
        // No element takes less than a byte, so that a wrong count cannot ask for much more than the file's size.
        if (count > rest_.size() / (plain ? sizeof(T) : 1)) damaged("a list is longer than the file");
        if constexpr (plain) {
            values.resize(count);
            take(values.data(), count * sizeof(T));
        } else {
            for (std::uint64_t k = 0; k < count; ++k) one(values.emplace_back());
        }
    }

    static constexpr int max_depth = 300;  // level 8K allows 256

    std::span<const std::byte> rest_;
    std::size_t source_bytes_ = 0;
    int depth_ = 0;
};

// ---- the fields. A new member of one of these structs does not compile until it has its place here. -----------------

template <class A> void fields(A& a, Placement& value) {
    auto& [space, offset, size] = value;
    a.choice(space, Space::external);
    a(offset, size);
}
template <class A> void fields(A& a, Binding& value) {
    auto& [place, type, written, label, path] = value;
    a(place);
    a.choice(type, DType::shape);
    a(written);
    a.texts(label);
    a.choice(path, ReadPath::half_texels);
}
template <class A> void fields(A& a, Dispatch& value) {
    auto& [label, kernel, glsl, spirv, constants, pushed, bindings, groups, invocations, subgroup_size, nodes, written,
           work, bytes, barrier_before, submit_before, note, arguments] = value;
    a.texts(label, kernel);
    a.source(glsl, spirv != nullptr);
    a(constants, pushed, bindings, groups, invocations, subgroup_size, nodes, written, work, bytes, barrier_before,
      submit_before, arguments);
    a.texts(note);
}
void fields(Writer& out, ConstantPool& value) {
    Bytes bytes = value.all();
    out(bytes);
}
void fields(Reader& in, ConstantPool& value) {
    Bytes bytes;
    in(bytes);
    value = std::move(bytes);
}
template <class A> void fields(A& a, PlanOptions& value) {
    auto& [fuse, keep_all, fold_movement, fold_constants, merge_equal, drop_unread, join_followers, merge_groups,
           fuse_rows, store_in_place, fuse_attention, fuse_prologues, fuse_moved, alias_slices, alias_lists,
           count_turns, gate_turns, swap_turns, tuned, late_sizes] = value;
    a(fuse, keep_all, fold_movement, fold_constants, merge_equal, drop_unread, join_followers, merge_groups, fuse_rows,
      store_in_place, fuse_attention, fuse_prologues, fuse_moved, alias_slices, alias_lists, count_turns, gate_turns,
      swap_turns, tuned, late_sizes);
}
template <class A> void fields(A& a, Plan& value) {
    const typename A::Level level(a);
    auto& [dispatches, controls, placements, constants, arena_bytes, state_bytes, externals, external_bytes, variables,
           decisions, peak_lower_bound, options, tuning] = value;
    a(dispatches, controls, placements, constants, arena_bytes, state_bytes, externals, external_bytes, variables,
      decisions, peak_lower_bound, options, tuning);
}
template <class A> void fields(A& a, Copy& value) {
    auto& [from, to] = value;
    a(from, to);
}
template <class A> void fields(A& a, RegionPlan& value) {
    auto& [enter, leave, plan] = value;
    a(enter, leave, plan);
}
template <class A> void fields(A& a, ControlStep& value) {
    auto& [node, is_loop, turns, most, before, condition, prepare, answer, regions] = value;
    a(node, is_loop, turns, most, before, condition, prepare, answer, regions);
}
template <class A> void fields(A& a, PackagedShader& value) { a(value.glsl, value.spirv); }
template <class A> void fields(A& a, PackagedScale& value) {
    a(value.scale, value.zero_point);
    a.choice(value.declared, HostKind::i64_words);
}
template <class A> void fields(A& a, MatrixShape& value) { a(value.m, value.n, value.k); }
template <class A> void fields(A& a, DevicePlan& value) {
    auto& [workgroup_size, buffer_alignment, max_binding_bytes, max_buffers, max_groups_x, busy_invocations, far_rows,
           row_quads, walk_bytes, gathered_rows, lanes_together, max_loop_passes, texel_elements, subgroup_lanes,
           shared_rows, registers, function_elements, own_rows, slow_storage, shared_tiles, product_tiles, tile_quads,
           least_tiles, tile_parts, product_tile_bytes, fma_chains, bottom_tests, dot4, dot4_mixed, cooperative_i8,
           cooperative_fp16, cooperative_fp32_sums, matrix_sums, paired_products, subgroup_size, fold_lanes, int64,
           nan_preserve, rte, exact_reciprocals, native_fp16, half_roundings, has_fp16, storage16, half_texels,
           half_products, fast_fp16, map_in_place, staging_bytes, timeline_semaphores, submit_work, submit_bytes,
           reasons, sizes] = value;
    a(workgroup_size, buffer_alignment, max_binding_bytes, max_buffers, max_groups_x, busy_invocations, far_rows,
      row_quads, walk_bytes, gathered_rows, lanes_together, max_loop_passes, texel_elements, subgroup_lanes,
      shared_rows, registers, function_elements, own_rows, slow_storage, shared_tiles, product_tiles, tile_quads,
      least_tiles, tile_parts, product_tile_bytes, fma_chains, bottom_tests, dot4, dot4_mixed, cooperative_i8,
      cooperative_fp16, cooperative_fp32_sums, matrix_sums, paired_products, subgroup_size, fold_lanes, int64,
      nan_preserve, rte, exact_reciprocals, native_fp16, half_roundings, storage16, half_texels, half_products,
      fast_fp16, map_in_place, submit_work, submit_bytes);
    // No plan depends on these.
    static_cast<void>(staging_bytes), static_cast<void>(timeline_semaphores), static_cast<void>(reasons),
        static_cast<void>(sizes), static_cast<void>(has_fp16);
}

void write_numbering(Writer& out, const Graph& graph) {
    for (const Value& value : graph.values) {
        std::string name = value.name;
        Shape shape = value.shape;
        DType type = value.type;
        bool constant = value.is_constant();
        out(name, shape, type, constant);
    }
    for (const Variable& variable : graph.variables) {
        std::string name = variable.name;
        Shape shape = variable.shape;
        DType type = variable.type;
        out(name, shape, type);
    }
    for (const Node& node : graph.nodes) {
        std::vector<ValueId> inputs = node.inputs, outputs = node.outputs;
        Op op = node.op;
        out(op, inputs, outputs);
        for (const auto& region : node.regions) write_numbering(out, *region);
    }
    std::vector<ValueId> inputs = graph.inputs, outputs = graph.outputs;
    out(inputs, outputs);
}

}  // namespace

bool is_package(std::span<const std::byte> file) {
    return file.size() >= sizeof magic && std::memcmp(file.data(), magic, sizeof magic) == 0;
}

Bytes write_package(Package package) {
    Writer out(&package.shaders);
    FileHeader header{};
    std::memcpy(header.magic_bytes, magic, sizeof magic);
    header.version = format_version;
    out.bytes.resize(sizeof header);
    out(package.tosa, package.fast_fp16, package.inputs, package.outputs, package.target, package.numbering,
        package.shaders, package.plan);
    header.file_bytes = out.bytes.size();
    header.sum = checksum(std::span(out.bytes).subspan(sizeof header));
    std::memcpy(out.bytes.data(), &header, sizeof header);
    return std::move(out.bytes);
}

Package read_package(std::span<const std::byte> file) {
    FileHeader header{};
    if (!is_package(file) || file.size() < sizeof header) damaged("its header is cut off");
    std::memcpy(&header, file.data(), sizeof header);
    if (header.version != format_version) {
        throw Error(ErrorCode::bad_model,
                    fmt::format("the package has format {}, and this library reads format {}; make it anew "
                                "with tosa-vk compile",
                                header.version, format_version));
    }
    if (header.zero != 0 || header.file_bytes != file.size()) {
        damaged(fmt::format("it has {} bytes and should have {}", file.size(), header.file_bytes));
    }
    const auto rest = file.subspan(sizeof header);
    if (checksum(rest) != header.sum) damaged("its checksum is wrong");
    Package package;
    Reader in(rest);
    in.shaders = &package.shaders;
    in(package.tosa, package.fast_fp16, package.inputs, package.outputs, package.target, package.numbering,
       package.shaders, package.plan);
    if (!in.at_end()) damaged("it goes on after its end");
    return package;
}

Digest package_target(const DevicePlan& device, const PlanOptions& options) {
    DevicePlan device_copy = device;
    PlanOptions options_copy = options;
    std::string library = glslang_identity();
    for (const ShaderFile& file : embedded_shaders()) library.append(file.name).append(file.text);
    Writer out;
    out(device_copy, options_copy, library);
    return sha256(out.bytes);
}

Digest graph_numbering(const Graph& graph) {
    Writer out;
    write_numbering(out, graph);
    return sha256(out.bytes);
}

}  // namespace tosavk
