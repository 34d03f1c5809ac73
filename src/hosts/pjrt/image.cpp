#include "hosts/pjrt/image.hpp"

#include "hosts/pjrt/events.hpp"

#include <tosavk/run.hpp>

#include <sha2.h>
#include <nlohmann/json.hpp>

#include <cstring>

namespace tosavk::pjrt {

namespace {

constexpr std::string_view mark = "tosavk-pjrt-executable-2\n";
constexpr std::size_t digits = 2 * SHA256_DIGEST_LENGTH;

}  // namespace

std::string digest_of(std::string_view bytes) {
    SHA2_CTX state;
    SHA256Init(&state);
    SHA256Update(&state, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    std::uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA256Final(digest, &state);
    constexpr const char* hexadecimal = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : digest) text += hexadecimal[byte >> 4], text += hexadecimal[byte & 15];
    return text;
}

std::string write_image(const Image& image) {
    const nlohmann::json head = {{"version", cpp::version()},
                                 {"facts", image.facts},
                                 {"fingerprint", image.fingerprint},
                                 {"device", image.device},
                                 {"precision", static_cast<int>(image.precision)},
                                 {"form", static_cast<int>(image.form)}};
    const std::string text = head.dump();
    const std::uint64_t size = text.size();
    std::string rest(reinterpret_cast<const char*>(&size), sizeof size);
    rest += text;
    rest += image.content;
    return std::string(mark) + digest_of(rest) + rest;
}

Image read_image(std::string_view bytes) {
    const auto refused = [](const std::string& why) { return Failure(Code::invalid_argument, why); };
    const std::string damaged = "the executable is damaged";
    if (!bytes.starts_with(mark)) throw refused("these bytes are no executable of this version of tosa-vk");
    bytes.remove_prefix(mark.size());
    std::uint64_t size = 0;
    if (bytes.size() < digits + sizeof size) throw refused("the executable is cut off");
    const std::string_view digest = bytes.substr(0, digits);
    bytes.remove_prefix(digits);
    if (digest_of(bytes) != digest) throw refused(damaged);
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes.remove_prefix(sizeof size);
    if (size > bytes.size()) throw refused(damaged);
    const auto head = nlohmann::json::parse(bytes.substr(0, size), nullptr, false);
    Image image;
    try {
        const std::string version = head.at("version");
        if (version != cpp::version())
            throw refused("the executable was made by tosa-vk " + version + ", and this is " + cpp::version());
        image.facts = head.at("facts");
        image.fingerprint = head.at("fingerprint");
        image.device = head.at("device");
        image.precision = static_cast<tosavk_precision>(head.at("precision").get<int>());
        const int form = head.at("form");
        if (form < 0 || form > static_cast<int>(Image::Form::program)) throw refused(damaged);
        image.form = static_cast<Image::Form>(form);
    } catch (const nlohmann::json::exception&) {
        throw refused(damaged);
    }
    image.content = bytes.substr(size);
    return image;
}

}  // namespace tosavk::pjrt
