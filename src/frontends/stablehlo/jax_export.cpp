// The few fields that are needed, found by hand: a table begins with the distance back to its list of fields, which
// says where each lies.
#include "frontends/stablehlo/jax_export.hpp"

#include "base/text.hpp"
#include "frontends/stablehlo/bytecode.hpp"

#include <cstring>

namespace tosavk::stablehlo {

namespace {

/// Numbers of the root table's fields.
enum ExportField : std::size_t {
    field_serialization_version = 0,
    field_function_name = 1,
    field_old_devices = 6,
    field_platforms = 9,
    field_module = 13,
    field_calling_convention = 14,
    field_kept_arguments = 15,
    field_devices = 18
};

class FlatTable {
public:
    explicit FlatTable(std::span<const std::byte> file) : file_(file) {
        const auto root = number<std::uint32_t>(0);
        const auto back = root ? number<std::int32_t>(*root) : std::nullopt;
        if (!back) return;
        const std::int64_t fields = static_cast<std::int64_t>(*root) - *back;
        if (fields < 0 || static_cast<std::uint64_t>(fields) >= file.size()) return;
        const auto bytes = number<std::uint16_t>(static_cast<std::size_t>(fields));
        if (!bytes || *bytes < 4) return;
        table_ = *root;
        fields_ = static_cast<std::size_t>(fields);
        field_count_ = (*bytes - 4u) / 2;
    }

    template <class T> std::optional<T> scalar(std::size_t field) const {
        const auto at = place(field);
        return at ? number<T>(*at) : std::nullopt;
    }

    /// What a vector of elements of `size` bytes holds.
    std::optional<std::span<const std::byte>> vector(std::size_t field, std::size_t size) const {
        const auto at = place(field);
        return at ? vector_at(*at, size) : std::nullopt;
    }

    /// The vector to which the offset at `at` leads.
    std::optional<std::span<const std::byte>> vector_at(std::size_t at, std::size_t size) const {
        const auto offset = number<std::uint32_t>(at);
        const auto count = offset ? number<std::uint32_t>(at + *offset) : std::nullopt;
        if (!count) return std::nullopt;
        const std::size_t begin = at + *offset + 4;
        if (begin > file_.size() || *count > (file_.size() - begin) / size) return std::nullopt;
        return file_.subspan(begin, *count * size);
    }

    std::size_t place_of(std::span<const std::byte> part) const {
        return static_cast<std::size_t>(part.data() - file_.data());
    }

private:
    template <class T> std::optional<T> number(std::size_t at) const {
        if (at > file_.size() || file_.size() - at < sizeof(T)) return std::nullopt;
        T value;
        std::memcpy(&value, file_.data() + at, sizeof(T));
        return value;
    }

    std::optional<std::size_t> place(std::size_t field) const {
        if (field >= field_count_) return std::nullopt;
        const auto offset = number<std::uint16_t>(fields_ + 4 + 2 * field);
        if (!offset || *offset == 0) return std::nullopt;
        return table_ + *offset;
    }

    std::span<const std::byte> file_;
    std::size_t table_ = 0, fields_ = 0, field_count_ = 0;
};

std::string shown_text(std::span<const std::byte> bytes) {
    return printable({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::optional<JaxExport> read_jax_export(std::span<const std::byte> file) {
    const FlatTable table(file);
    const auto module = table.vector(field_module, 1);
    if (!module || !is_bytecode(*module)) return std::nullopt;
    JaxExport made;
    made.module = *module;
    made.serialization_version = table.scalar<std::uint16_t>(field_serialization_version).value_or(0);
    made.calling_convention_version = table.scalar<std::uint16_t>(field_calling_convention).value_or(0);
    if (const auto name = table.vector(field_function_name, 1)) made.function_name = shown_text(*name);
    made.devices = table.scalar<std::uint32_t>(field_devices).value_or(0);
    if (made.devices == 0) made.devices = table.scalar<std::uint16_t>(field_old_devices).value_or(1);
    if (const auto platforms = table.vector(field_platforms, 4)) {
        for (std::size_t k = 0; k < platforms->size(); k += 4)
            if (const auto name = table.vector_at(table.place_of(*platforms) + k, 1))
                made.platforms.push_back(shown_text(*name));
    }
    if (const auto kept = table.vector(field_kept_arguments, 2)) {
        made.kept_arguments.resize(kept->size() / 2);
        if (!kept->empty()) std::memcpy(made.kept_arguments.data(), kept->data(), kept->size());
    }
    return made;
}

}  // namespace tosavk::stablehlo
