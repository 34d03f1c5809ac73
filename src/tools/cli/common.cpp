#include "tools/cli/common.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

namespace tosavk::cli {

namespace {

int exit_code_of(tosavk_status status) {
    switch (status) {
        case TOSAVK_OK: return exit_done;
        case TOSAVK_ERROR_USAGE: return exit_usage;
        case TOSAVK_ERROR_BAD_MODEL:
        case TOSAVK_ERROR_UNSUPPORTED:
        case TOSAVK_ERROR_BAD_INPUT:
        case TOSAVK_ERROR_IO: return exit_file;
        case TOSAVK_ERROR_NO_DEVICE:
        case TOSAVK_ERROR_DEVICE:
        case TOSAVK_ERROR_DEVICE_LOST:
        case TOSAVK_ERROR_OUT_OF_MEMORY:
        case TOSAVK_ERROR_INTERNAL:
        case TOSAVK_ERROR_CANCELLED: break;
    }
    return exit_device;
}

/// One line, whatever a message holds (names in files may contain anything).
std::string one_line(std::string text) {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 32 || c == 127) c = ' ';
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

int fail(const CLI::App& app, int code, const std::string& message) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), one_line(message).c_str());
    return code;
}

double half_to_double(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const int mantissa = bits & 1023;
    double value = 0;
    if (exponent == 31) value = mantissa ? std::nan("") : HUGE_VAL;
    else if (exponent == 0) value = std::ldexp(mantissa, -24);
    else value = std::ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000 ? -value : value;
}

double fp8_to_double(std::uint8_t bits, bool e4m3) {
    const int mantissa_bits = e4m3 ? 3 : 2;
    const int bias = e4m3 ? 7 : 15;
    const int exponent = (bits & 127) >> mantissa_bits;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    double value = 0;
    if (e4m3 && (bits & 127) == 127) value = std::nan("");
    else if (!e4m3 && exponent == 31) value = mantissa ? std::nan("") : HUGE_VAL;
    else if (exponent == 0) value = std::ldexp(mantissa, 1 - bias - mantissa_bits);
    else value = std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
    return bits & 0x80 ? -value : value;
}

template <class T> T read(const std::byte* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

}  // namespace

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return app.exit(e);  // --help and --version
        std::string command = app.get_name();
        for (const CLI::App* chosen : app.get_subcommands()) command += " " + chosen->get_name();
        return fail(app, exit_usage, std::string(e.what()) + "; see " + command + " --help");
    }
    try {
        const int code = body();
        print("");  // what is still buffered must reach its file too
        return code;
    } catch (const Failure& e) {
        return fail(app, e.code(), e.what());
    } catch (const cpp::Error& e) {
        return fail(app, exit_code_of(e.status()), e.what());
    } catch (const std::bad_alloc&) {
        return fail(app, exit_device, "out of host memory");
    } catch (const std::exception& e) {
        return fail(app, exit_device, e.what());
    }
}

std::string shape_text(const cpp::Shape& shape) {
    return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}
std::string type_text(const cpp::TensorInfo& info) {
    if (has_words(info)) return info.declared_type == TOSAVK_HOST_I64_WORDS ? "i64" : "u64";
    return tosavk_type_name(info.declared_type);
}
std::string tensor_text(const cpp::TensorInfo& info) { return type_text(info) + " " + shape_text(element_shape(info)); }

bool has_words(const cpp::TensorInfo& info) {
    return info.declared_type == TOSAVK_HOST_U64_WORDS || info.declared_type == TOSAVK_HOST_I64_WORDS;
}

cpp::Shape element_shape(const cpp::TensorInfo& info) {
    cpp::Shape shape = cpp::shape_of(info);
    if (has_words(info)) shape.pop_back();
    return shape;
}

std::int32_t stored_type(const cpp::TensorInfo& info) {
    if (has_words(info)) return info.declared_type;
    const bool same_bits = info.declared_type >= TOSAVK_HOST_U8 && info.declared_type <= TOSAVK_HOST_U32;
    return same_bits ? info.declared_type : info.type;
}

bool is_float(std::int32_t type) {
    return type == TOSAVK_FP32 || type == TOSAVK_FP16 || type == TOSAVK_BF16 || type == TOSAVK_FP8E4M3 ||
           type == TOSAVK_FP8E5M2;
}

std::vector<double> elements(std::int32_t type, std::span<const std::byte> bytes) {
    const std::size_t size = tosavk_type_size(type);
    std::vector<double> values(size ? bytes.size() / size : 0);
    for (std::size_t k = 0; k < values.size(); ++k) {
        const std::byte* at = bytes.data() + k * size;
        switch (type) {
            case TOSAVK_BOOL:
            case TOSAVK_I4:
            case TOSAVK_I8: values[k] = read<std::int8_t>(at); break;
            case TOSAVK_I16: values[k] = read<std::int16_t>(at); break;
            case TOSAVK_I32: values[k] = read<std::int32_t>(at); break;
            case TOSAVK_I48: values[k] = static_cast<double>(read<std::int64_t>(at)); break;
            case TOSAVK_FP8E4M3: values[k] = fp8_to_double(read<std::uint8_t>(at), true); break;
            case TOSAVK_FP8E5M2: values[k] = fp8_to_double(read<std::uint8_t>(at), false); break;
            case TOSAVK_FP16: values[k] = half_to_double(read<std::uint16_t>(at)); break;
            case TOSAVK_BF16:
                values[k] = std::bit_cast<float>(static_cast<std::uint32_t>(read<std::uint16_t>(at)) << 16);
                break;
            case TOSAVK_FP32: values[k] = read<float>(at); break;
            case TOSAVK_HOST_U8: values[k] = read<std::uint8_t>(at); break;
            case TOSAVK_HOST_U16: values[k] = read<std::uint16_t>(at); break;
            case TOSAVK_HOST_U32: values[k] = read<std::uint32_t>(at); break;
            case TOSAVK_HOST_I64_WORDS: values[k] = static_cast<double>(read<std::int64_t>(at)); break;
            case TOSAVK_HOST_U64_WORDS: values[k] = static_cast<double>(read<std::uint64_t>(at)); break;
        }
    }
    return values;
}

std::string number_text(double value) { return fmt::format("{:.6g}", value); }
Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string json_text(const Json& value) { return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string table_text(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
    std::vector<std::size_t> widths(right.size(), 0);
    for (const auto& row : rows) {
        for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t k = 0; k < row.size(); ++k) {
            if (k > 0) line += "  ";
            line += right[k] ? fmt::format("{:>{}}", row[k], widths[k]) : fmt::format("{:<{}}", row[k], widths[k]);
        }
        while (!line.empty() && line.back() == ' ') line.pop_back();
        text += line + "\n";
    }
    return text;
}

void print(const std::string& text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0)
        throw Failure(exit_file, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

CLI::Validator output_path() {
    return {[](const std::string& text) { return text.empty() ? std::string("it names no file") : std::string(); }, "",
            "output path"};
}

CLI::Validator whole_number() {
    return CLI::Validator(
        [](const std::string& text) {
            const bool digits =
                !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string::npos;
            return digits ? std::string() : fmt::format("'{}' is not a whole number", text);
        },
        "N");
}

void check_writable(const std::string& path) {
    if (is_stdout(path)) return;
    namespace fs = std::filesystem;
    const auto fail = [&](int code) {
        throw Failure(exit_file, fmt::format("cannot write {}: {}", path, std::strerror(code)));
    };
    std::error_code unknown;
    fs::path target = fs::weakly_canonical(path, unknown);
    if (unknown) target = path;
    if (fs::is_directory(target, unknown)) fail(EISDIR);
    if (fs::exists(target, unknown) && !fs::is_regular_file(target, unknown)) {
        if (::access(target.c_str(), W_OK) != 0) fail(errno);
        return;
    }
    const std::string probe = fmt::format("{}.tmp-{}", target.string(), ::getpid());
    const int file = ::open(probe.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST) return;  // a crashed process of the same number could write there
    if (file < 0) fail(errno);
    ::close(file);
    std::remove(probe.c_str());
}

void write_file(const std::string& path, const std::string& text) {
    if (is_stdout(path)) return print(text);
    // A device or pipe is written to; a link is followed. Only a regular file is replaced as a whole.
    std::error_code unresolved;
    std::filesystem::path target = std::filesystem::weakly_canonical(path, unresolved);
    if (unresolved) target = path;
    const bool special =
        std::filesystem::exists(target, unresolved) && !std::filesystem::is_regular_file(target, unresolved);
    std::string temporary = target.string();
    std::FILE* file = special ? std::fopen(temporary.c_str(), "wb") : nullptr;
    // A process of the same number, in another container or crashed, may have left the name.
    for (int tries = 0; !special && !file && tries < 100; ++tries) {
        temporary = fmt::format("{}.tmp-{}-{}", target.string(), ::getpid(), tries);
        file = std::fopen(temporary.c_str(), "wbx");
        if (!file && errno != EEXIST) break;
    }
    if (!file) throw Failure(exit_file, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed || (!special && std::rename(temporary.c_str(), target.c_str()) != 0)) {
        const int code = errno;
        if (!special) std::remove(temporary.c_str());
        throw Failure(exit_file, fmt::format("cannot write {}: {}", path, std::strerror(code)));
    }
}

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)), total_(total), terminal_(::isatty(STDERR_FILENO) != 0) {}
Progress::~Progress() { clear(); }

void Progress::step() {
    ++done_;
    if (!terminal_ || watch_.ms() < 1000) return;
    constexpr std::size_t width = 30;
    const std::size_t filled = std::min(width, total_ ? done_ * width / total_ : width);
    std::fprintf(stderr, "\r%s [%s%s] %zu/%zu", what_.c_str(), std::string(filled, '#').c_str(),
                 std::string(width - filled, ' ').c_str(), done_, total_);
    std::fflush(stderr);
    shown_ = true;
}

void Progress::clear() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
}

}  // namespace tosavk::cli
