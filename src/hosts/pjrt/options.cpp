#include "hosts/pjrt/options.hpp"
#include "hosts/pjrt/events.hpp"

#include <cstring>

namespace tosavk::pjrt {

namespace {

tosavk_precision precision_named(std::string_view name) {
    if (name == "exact" || name == "declared") return TOSAVK_PRECISION_DECLARED;
    if (name == "fp16") return TOSAVK_PRECISION_FP16;
    if (name == "fast") return TOSAVK_PRECISION_FAST;
    throw Failure(Code::invalid_argument,
                  "option precision is '" + std::string(name) + "', but exact, fp16 or fast is wanted");
}

[[noreturn]] void unknown(std::string_view key, const char* those) {
    throw Failure(Code::invalid_argument, "there is no option '" + std::string(key) + "'; there are " + those);
}

/// Fields of a message in the wire format of protocol buffers.
class Message {
public:
    explicit Message(std::string_view bytes) : bytes_(bytes) {}

    bool next() {
        if (bytes_.empty()) return false;
        const std::uint64_t tag = varint();
        field = static_cast<std::uint32_t>(tag >> 3);
        text = {};
        number = 0;
        switch (tag & 7) {
            case 0: number = varint(); break;
            case 1: text = take(8); break;
            case 2: text = take(varint()); break;
            case 5: text = take(4); break;
            default: cut();
        }
        return true;
    }
    std::uint64_t varint() {
        std::uint64_t result = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<std::uint8_t>(take(1)[0]);
            result |= std::uint64_t{byte & 0x7fu} << shift;
            if ((byte & 0x80) == 0) return result;
        }
        cut();
    }
    bool is_empty() const { return bytes_.empty(); }

    std::uint32_t field = 0;
    std::uint64_t number = 0;
    std::string_view text;

private:
    [[noreturn]] static void cut() {
        throw Failure(Code::invalid_argument, "the compile options are no message of type CompileOptionsProto");
    }
    std::string_view take(std::uint64_t size) {
        if (size > bytes_.size()) cut();
        const std::string_view result = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return result;
    }

    std::string_view bytes_;
};

/// The devices' ids, one list after the other.
void read_assignment(std::string_view bytes, CompileOptions& options) {
    for (Message m(bytes); m.next();) {
        if (m.field != 3) continue;
        for (Message computation(m.text); computation.next();) {
            if (computation.field != 1) continue;
            if (computation.text.empty()) options.device = static_cast<std::int64_t>(computation.number);
            else options.device = static_cast<std::int64_t>(Message(computation.text).varint());
        }
    }
}

void read_build_options(std::string_view bytes, CompileOptions& options) {
    for (Message m(bytes); m.next();) {
        if (m.field == 4) options.replicas = static_cast<std::int64_t>(m.number);
        else if (m.field == 5) options.partitions = static_cast<std::int64_t>(m.number);
        else if (m.field == 9) read_assignment(m.text, options);
    }
}

void read_override(std::string_view bytes, CompileOptions& options) {
    std::string_view key, value;
    for (Message m(bytes); m.next();) {
        if (m.field == 1) key = m.text;
        if (m.field != 2) continue;
        for (Message inner(m.text); inner.next();)
            if (inner.field == 1) value = inner.text;
    }
    // Of how XLA's compilers work; JAX's configuration has the latter two.
    if (key.starts_with("xla_") || key == "exec_time_optimization_effort" || key == "memory_fitting_effort") return;
    if (key != "precision")  // in the words that JAX's users know
        throw Failure(Code::invalid_argument, "No such compile option: '" + std::string(key) +
                                                  "'; there are precision, and XLA's own, which change nothing");
    options.precision = precision_named(value);
}

}  // namespace

Options parse_options(List<const NamedValue> given) {
    Options options;
    for (std::size_t k = 0; k < given.count; ++k) {
        const NamedValue& one = given.data[k];
        const std::string_view key(one.name.data, one.name.size);
        if (key == "f64_as_f32") {
            if (one.type != static_cast<std::int32_t>(NamedType::flag))
                throw Failure(Code::invalid_argument, "option f64_as_f32 is neither true nor false");
            options.f64_as_f32 = one.flag;
            continue;
        }
        if (key != "device" && key != "cache_dir" && key != "precision")
            unknown(key, "device, cache_dir, f64_as_f32 and precision");
        if (one.type != static_cast<std::int32_t>(NamedType::text))
            throw Failure(Code::invalid_argument, "option " + std::string(key) + " is no string");
        const std::string_view value(one.text, one.size);
        if (key == "device") options.device = value;
        else if (key == "cache_dir") options.cache_dir = value;
        else options.precision = precision_named(value);
    }
    return options;
}

CompileOptions parse_compile_options(std::string_view bytes) {
    CompileOptions options;
    for (Message m(bytes); m.next();) {
        if (m.field == 3) read_build_options(m.text, options);
        else if (m.field == 7) read_override(m.text, options);
    }
    if (options.replicas > 1 || options.partitions > 1)
        throw Failure(Code::unimplemented, "a program that is shared by " +
                                               std::to_string(options.replicas * options.partitions) +
                                               " devices is not supported; run it on one");
    return options;
}

std::string assignment_of(int device) {
    std::string id;
    auto rest = static_cast<unsigned>(device);
    for (; rest >= 0x80; rest >>= 7) id += static_cast<char>(rest | 0x80);
    id += static_cast<char>(rest);
    std::string list = std::string("\x0a") + static_cast<char>(id.size()) + id;
    return std::string("\x08\x01\x10\x01\x1a") + static_cast<char>(list.size()) + list;
}

}  // namespace tosavk::pjrt
