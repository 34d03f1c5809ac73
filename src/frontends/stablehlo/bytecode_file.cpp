// Sections in any order, each once; then their tables in the order in which they name each other.
#include "frontends/stablehlo/bytecode_file.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <array>

namespace tosavk::stablehlo {

namespace {

constexpr std::array<std::byte, 4> bytecode_magic = {std::byte{0x4d}, std::byte{0x4c}, std::byte{0xef},
                                                     std::byte{0x52}};
constexpr std::uint64_t newest_bytecode = 6;
constexpr std::uint8_t padding_byte = 0xcb;

enum SectionId : int {
    string_section,
    dialect_section,
    entry_section,
    offset_section,
    ir_section,
    resource_section,
    resource_offset_section,
    dialect_version_section,
    property_section,
    section_count
};
constexpr std::array<std::string_view, section_count> section_names = {"the section of strings",
                                                                       "the section of dialects",
                                                                       "the section of attributes and types",
                                                                       "the section of their offsets",
                                                                       "the section of operations",
                                                                       "the section of resources",
                                                                       "the section of the resources' offsets",
                                                                       "a section of a dialect's version",
                                                                       "the section of properties"};

}  // namespace

BytecodeSection read_section(ByteReader& in) {
    const std::size_t at = in.offset();
    const std::uint8_t head = in.byte();
    BytecodeSection section;
    section.id = head & 0x7f;
    if (section.id >= section_count) fail_at_byte(at, fmt::format("there is no section of kind {}", section.id));
    const std::uint64_t size = in.varint();
    if ((head & 0x80) != 0) {
        const std::uint64_t alignment = in.varint();
        if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
            fail_at_byte(at, fmt::format("{} is aligned to {} bytes, which is no power of two",
                                         section_names[static_cast<std::size_t>(section.id)], alignment));
        }
        while (in.offset() % alignment != 0)
            if (in.byte() != padding_byte) fail_at_byte(in.offset() - 1, "padding has another byte than 0xCB");
    }
    const std::size_t begin = in.offset();
    in.part(size, section_names[static_cast<std::size_t>(section.id)]);
    section.part = {begin, in.offset()};
    return section;
}

BytecodeFile::BytecodeFile(const SharedBytes& file) : file_(file) {
    ByteReader in(bytes(), 0, bytes().size(), "the file");
    for (const std::byte expected : bytecode_magic)
        if (in.byte() != std::to_integer<std::uint8_t>(expected))
            fail_at_byte(0, "the file does not begin with ML\\xEFR");
    const std::size_t version_at = in.offset();
    version = in.varint();
    producer = printable(in.text_until_zero());
    if (version > newest_bytecode) {
        fail_at_byte(
            version_at,
            fmt::format("the file, made by {}, has version {} of the bytecode, but {} is the newest that is read",
                        producer, version, newest_bytecode),
            ErrorCode::unsupported);
    }
    Sections sections;
    while (!in.at_end()) {
        const std::size_t at = in.offset();
        const BytecodeSection section = read_section(in);
        if (!sections.emplace(section.id, section.part).second) {
            fail_at_byte(at, fmt::format("{} stands there twice", section_names[static_cast<std::size_t>(section.id)]));
        }
    }
    const auto required = [&](SectionId id) {
        const auto found = sections.find(id);
        if (found == sections.end()) in.fail(fmt::format("{} is missing", section_names[id]));
        return found->second;
    };
    const auto open = [&](SectionId id) { return reader(required(id), section_names[id]); };
    read_strings(open(string_section));
    read_dialects(open(dialect_section));
    read_offsets(open(offset_section), required(entry_section));
    if (sections.contains(resource_offset_section) && sections.contains(resource_section))
        read_resources(open(resource_offset_section), open(resource_section));
    if (version >= 5 && sections.contains(property_section)) read_properties(open(property_section));
    ir = required(ir_section);
}

void BytecodeFile::read_strings(ByteReader in) {
    const std::size_t count = in.count(2);
    std::vector<std::uint64_t> sizes(count);
    for (std::size_t k = count; k-- > 0;) sizes[k] = in.varint();  // the last one's comes first
    strings.reserve(count);
    for (const std::uint64_t size : sizes) {
        const std::size_t at = in.offset();
        const auto text = in.bytes(size);
        if (text.empty() || text.back() != std::byte{0}) fail_at_byte(at, "a string does not end with a zero");
        strings.emplace_back(reinterpret_cast<const char*>(text.data()), text.size() - 1);
    }
    in.finish();
}

void BytecodeFile::read_dialects(ByteReader in) {
    const std::size_t count = in.count();
    dialects.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {
        if (version == 0) {
            dialects.push_back(strings[in.index(strings.size(), "string")]);
            continue;
        }
        const auto [name, has_version] = in.flagged_index(strings.size(), "string");
        dialects.push_back(strings[name]);
        if (has_version && read_section(in).id != dialect_version_section) in.fail("a dialect's version is missing");
    }
    const std::size_t expected = version >= 4 ? in.count() : 0;
    operations.reserve(expected);
    while (!in.at_end()) {
        const std::uint32_t dialect = in.index(dialects.size(), "dialect");
        const std::size_t names = in.count();
        for (std::size_t k = 0; k < names; ++k) {
            const std::uint64_t name =
                version >= 5 ? in.flagged_index(strings.size(), "string").value : in.index(strings.size(), "string");
            operations.push_back({dialect, strings[name]});
        }
    }
    if (version >= 4 && operations.size() != expected) {
        in.fail(fmt::format("{} names of operations were announced, but there are {}", expected, operations.size()));
    }
}

void BytecodeFile::read_offsets(ByteReader in, const BytecodePart& entries) {
    const std::size_t counts[2] = {in.count(), in.count()};
    std::size_t at = entries.begin;
    for (const bool is_type : {false, true}) {
        std::vector<BytecodeEntry>& list = is_type ? types : attributes;
        const std::size_t wanted = counts[is_type];
        list.reserve(wanted);
        while (list.size() < wanted) {
            const std::uint32_t dialect = in.index(dialects.size(), "dialect");
            const std::size_t group = in.count();
            if (group > wanted - list.size()) in.fail("a group has more attributes or types than there are");
            for (std::size_t k = 0; k < group; ++k) {
                const auto [size, is_custom] = in.flagged();
                if (size > entries.end - at) in.fail("an attribute or type lies outside of its section");
                list.push_back({dialect, at, at + static_cast<std::size_t>(size), is_custom});
                at += static_cast<std::size_t>(size);
            }
        }
    }
    in.finish();
    if (at != entries.end) fail_at_byte(at, "the section of attributes and types has bytes that belong to none");
}

void BytecodeFile::read_properties(ByteReader in) {
    if (in.at_end()) return;
    const std::size_t count = in.count();
    properties.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t size = in.varint();
        const std::size_t begin = in.offset();
        in.bytes(size);
        properties.push_back({begin, in.offset()});
    }
    in.finish();
}

void BytecodeFile::read_resources(ByteReader in, ByteReader data) {
    for (std::size_t k = in.count(); k > 0; --k) {
        in.index(strings.size(), "string");
        const std::size_t before = resources.size();
        read_resource_list(in, data);
        resources.resize(before);  // those of no dialect have no numbers
    }
    while (!in.at_end()) {
        in.index(dialects.size(), "dialect");
        read_resource_list(in, data);
    }
    data.finish();
}

void BytecodeFile::read_resource_list(ByteReader& in, ByteReader& data) {
    for (std::size_t k = in.count(3); k > 0; --k) {
        in.index(strings.size(), "string");
        const std::uint64_t size = in.varint();
        const bool is_blob = in.byte() == 0;
        ByteReader resource = data.part(size, "a resource");
        if (!is_blob || size == 0) {
            resources.emplace_back();
            continue;
        }
        const std::uint64_t alignment = resource.varint();
        const std::uint64_t bytes_there = resource.varint();
        if (alignment == 0 || (alignment & (alignment - 1)) != 0)
            resource.fail("a resource's alignment is no power of two");
        while (resource.offset() % alignment != 0)
            if (resource.byte() != padding_byte) resource.fail("padding has another byte than 0xCB");
        resources.push_back(resource.bytes(bytes_there));
        resource.finish();
    }
}

}  // namespace tosavk::stablehlo
