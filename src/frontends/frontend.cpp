// The registry of front ends.
#include "frontends/frontend.hpp"

#include "base/files.hpp"
#include "frontends/tosa/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tosavk {

namespace {

bool has_identifier(std::span<const std::byte> file, const char* four) {
    return file.size() >= 8 && std::memcmp(file.data() + 4, four, 4) == 0;
}

bool looks_like_text(std::span<const std::byte> file) {
    const auto start = file.first(std::min<std::size_t>(file.size(), 512));
    return std::all_of(start.begin(), start.end(), [](std::byte b) {
        const auto c = std::to_integer<unsigned char>(b);
        return c == '\t' || c == '\n' || c == '\r' || (c >= 32 && c != 127);
    });
}

bool is_tflite(std::span<const std::byte> file) { return has_identifier(file, "TFL3"); }

bool is_tosa(std::span<const std::byte> file) {
    // Early TOSA files carry no identifier.
    return has_identifier(file, "TOSA") || (file.size() >= 8 && !looks_like_text(file) && looks_like_tosa(file));
}

/// No dimension of a .tosa file is open.
Signature tosa_signature(std::span<const std::byte> file, const ImportOptions& options) {
    return signature_of(import_tosa(file, options));
}

FileFacts tosa_facts(std::span<const std::byte>) {
    FileFacts facts;
    facts.format = "tosa";
    return facts;
}

// StableHLO last: of a wrapped artifact it looks at the structure.
constexpr Frontend all[] = {
    {"tflite", is_tflite, import_tflite, probe_tflite, tflite_signature, tflite_facts},
    {"tosa", is_tosa, import_tosa, probe_tosa, tosa_signature, tosa_facts},
    {"stablehlo", recognise_stablehlo, import_stablehlo, probe_stablehlo, stablehlo_signature, stablehlo_facts},
};

const Frontend& frontend_of(std::span<const std::byte> file) {
    for (const Frontend& frontend : all) {
        if (frontend.recognises(file)) return frontend;
    }
    if (file.empty()) throw Error(ErrorCode::bad_model, "the file is empty");
    if (looks_like_text(file)) throw Error(ErrorCode::bad_model, "this is text, not a model");
    if (file.size() < 8)
        throw Error(ErrorCode::bad_model, fmt::format("{} bytes are too short for a model", file.size()));
    throw Error(ErrorCode::bad_model, "this is neither a TFLite, a TOSA nor a StableHLO model");
}

/// With the origin in front of what is thrown.
template <class Step> auto at_origin(const std::string& origin, const Step& step) {
    try {
        return step();
    } catch (const Error& e) {
        throw Error(e.code(), origin.empty() ? e.what() : fmt::format("{}: {}", origin, e.what()), e.node(),
                    e.operand());
    }
}

}  // namespace

std::span<const Frontend> frontends() { return all; }

Graph import_model(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options) {
    return at_origin(origin, [&] { return frontend_of(file).load(file, options); });
}

Graph import_file(const std::filesystem::path& path, const ImportOptions& options) {
    const Bytes bytes = read_file(path);
    ImportOptions there = options;
    there.folder = folder_of(path);
    return import_model(bytes, path.string(), there);
}

Signature model_signature(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options) {
    return at_origin(origin, [&] { return frontend_of(file).signature(file, options); });
}

FileFacts model_facts(std::span<const std::byte> file, const std::string& origin) {
    return at_origin(origin, [&] { return frontend_of(file).facts(file); });
}

ProbeReport probe_model(std::span<const std::byte> file, const std::string& origin, const ImportOptions& options) {
    return at_origin(origin, [&] { return frontend_of(file).probe(file, options); });
}

}  // namespace tosavk
