// The operations of a bytecode file: a module of functions, each with its own numbers for values.
#include "frontends/stablehlo/bytecode.hpp"

#include "base/text.hpp"
#include "frontends/stablehlo/bytecode_entries.hpp"
#include "frontends/stablehlo/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace tosavk::stablehlo {

namespace {

/// Which fields an operation has.
enum OperationField : unsigned {
    has_attributes = 0x01,
    has_results = 0x02,
    has_operands = 0x04,
    has_successors = 0x08,
    has_regions = 0x10,
    has_use_orders = 0x20,
    has_properties = 0x40,
    all_fields = 0x7f
};

class BytecodeReader {
public:
    explicit BytecodeReader(const SharedBytes& file) : file_(file), entries_(file_, program_) {}

    Program run() {
        refuse_other_bytecode();
        ByteReader in = file_.reader(file_.ir, "the section of operations");
        program_.producer = file_.producer;
        const auto [count, has_arguments] = in.flagged();
        if (count != 1 || has_arguments) in.fail("the file does not hold one module");
        Head module = read_head(in);
        if (module.dialect != "builtin" || module.name != "module" || module.regions != 1) {
            fail_at_byte(module.at, "the file does not hold one module, but " + module.title());
        }
        read_module_names(module);
        read_regions(in, module, [&](ByteReader& region) { read_functions(region); });
        in.finish();
        if (const std::string problem = problem_of(program_); !problem.empty()) fail_at_byte(0, problem);
        return std::move(program_);
    }

private:
    /// MLIR writes any program's bytecode; only that of VHLO stays readable from version to version.
    void refuse_other_bytecode() const {
        bool has_own = false;
        for (const std::string_view name : file_.dialects) {
            if (name == "vhlo") return;
            has_own = has_own || name == "stablehlo" || name == "func" || name == "chlo";
        }
        if (!has_own) return;
        fail_at_byte(file_.ir.begin,
                     fmt::format("the file, made by {}, is MLIR bytecode, but no portable artifact: write one with "
                                 "stablehlo.serialize_portable_artifact, or what jax.export serializes, or text",
                                 file_.producer),
                     ErrorCode::unsupported);
    }

    /// An operation but for its regions.
    struct Head {
        std::size_t at = 0;  ///< in the file
        std::string_view dialect, name;
        LocationId location = 0;
        Dictionary attributes;
        std::optional<BytecodePart> properties;
        std::vector<TypePointer> results;
        std::vector<std::uint64_t> operands;
        std::uint64_t regions = 0;
        bool is_isolated = false;
        std::string title() const { return fmt::format("{}.{}", printable(dialect), printable(name)); }
    };

    /// The values that an operation may name by number.
    struct Scope {
        static constexpr ValueId undefined = ~ValueId{0};
        std::vector<ValueId> slots;
    };

    Head read_head(ByteReader& in) {
        Head head;
        head.at = in.offset();
        const BytecodeOperationName& name = file_.operations[in.index(file_.operations.size(), "name of an operation")];
        head.dialect = file_.dialects[name.dialect];
        head.name = name.name;
        const unsigned mask = in.byte();
        if ((mask & ~unsigned{all_fields}) != 0) fail_at_byte(head.at, head.title() + " has fields that are not known");
        head.location = entries_.read_location(in);
        if (mask & has_attributes) {
            const AttributePointer attributes = entries_.read_attribute(in);
            if (!attributes->as<Dictionary>())
                fail_at_byte(head.at, "the attributes of " + head.title() + " are no dictionary");
            spend(head, cost_of(*attributes->as<Dictionary>()));
            head.attributes = *attributes->as<Dictionary>();
        }
        if (mask & has_properties) head.properties = file_.properties[in.index(file_.properties.size(), "properties")];
        if (mask & has_results) {
            head.results.resize(in.count());
            for (TypePointer& type : head.results) type = entries_.read_type(in);
        }
        if (mask & has_operands) {
            head.operands.resize(in.count());
            for (std::uint64_t& operand : head.operands) operand = in.varint();
        }
        if ((mask & has_successors) && in.count() > 0) {
            fail_at_byte(head.at, head.title() + " jumps to another block", ErrorCode::unsupported);
        }
        if (mask & has_use_orders) skip_use_orders(in, head.results.size());
        if (mask & has_regions) {
            const auto [regions, is_isolated] = in.flagged();
            head.regions = regions;
            head.is_isolated = is_isolated;
            if (regions > in.left()) fail_at_byte(head.at, fmt::format("{} has {} regions", head.title(), regions));
        }
        return head;
    }

    static void skip_use_orders(ByteReader& in, std::size_t values) {
        for (std::size_t k = values > 1 ? in.count() : 1; k > 0; --k) {
            if (values > 1) in.varint();
            const std::uint64_t uses = in.flagged().value;
            for (std::uint64_t use = 0; use < uses; ++use) in.varint();
        }
    }

    /// Each of the operation's regions by `read`, from where they lie.
    template <class Read> void read_regions(ByteReader& in, const Head& head, const Read& read) {
        if (!head.is_isolated || file_.version < 2) {
            for (std::uint64_t k = 0; k < head.regions; ++k) read(in);
            return;
        }
        const BytecodeSection section = read_section(in);
        if (section.id != 4) fail_at_byte(head.at, "the regions of " + head.title() + " have no section");
        ByteReader regions = file_.reader(section.part, "a section of operations");
        for (std::uint64_t k = 0; k < head.regions; ++k) read(regions);
        regions.finish();
    }

    /// What an operation of VHLO has, brought together from where its version keeps it.
    void read_attributes(const Head& head, std::span<const std::string_view> names, Dictionary& attributes) {
        if (!head.properties) return;
        ByteReader in = file_.reader(*head.properties, "the properties of an operation");
        for (const std::string_view name : names) attributes.emplace_back(name, entries_.read_attribute(in));
        in.finish();
    }

    void read_module_names(const Head& module) {
        program_.extra = kept(module.attributes);
        const auto take_name = [&](const Attribute& name) {
            if (name.as<std::string>()) program_.name = *name.as<std::string>();
        };
        if (const Attribute* name = find(module.attributes, "sym_name")) take_name(*name);
        if (!module.properties) return;
        ByteReader in = file_.reader(*module.properties, "the properties of the module");
        for (const bool is_name : {true, false}) {
            const auto [index, is_there] = in.flagged();
            if (!is_there) continue;
            if (index >= file_.attributes.size()) in.fail("the module's name is no attribute");
            const AttributePointer value = entries_.attribute(index);
            if (is_name) take_name(*value);
        }
        in.finish();
    }

    /// Without what is of dialects that are not read.
    static Dictionary kept(Dictionary attributes) {
        std::erase_if(attributes, [](const auto& entry) {
            return entry.second->template as<Opaque>() || entry.first.starts_with("sdy.") ||
                   entry.first == "sym_name" || entry.first == "sym_visibility";
        });
        return attributes;
    }

    std::uint64_t begin_region(ByteReader& in, const std::string& owner) {
        const std::size_t at = in.offset();
        const std::uint64_t blocks = in.varint();
        if (blocks > 1) {
            fail_at_byte(at, fmt::format("a region of {} has {} blocks", owner, blocks), ErrorCode::unsupported);
        }
        return blocks;
    }

    void read_functions(ByteReader& in) {
        if (begin_region(in, "the module") == 0) return;
        in.count(0);  // of values; there are none
        const auto [count, has_arguments] = in.flagged();
        if (has_arguments) in.fail("the module has arguments");
        for (std::uint64_t k = 0; k < count; ++k) {
            const Head head = read_head(in);
            if (head.dialect == "sdy" && head.name == "mesh" && head.regions == 0) continue;
            if (head.dialect != "vhlo" || head.name != "func_v1" || head.regions != 1) {
                fail_at_byte(head.at, head.title() + " does not stand in a function", ErrorCode::unsupported);
            }
            read_function(in, head);
        }
    }

    void read_function(ByteReader& in, const Head& head) {
        static constexpr std::string_view names[] = {"arg_attrs", "function_type", "res_attrs", "sym_name",
                                                     "sym_visibility"};
        Dictionary attributes = head.attributes;
        read_attributes(head, names, attributes);
        if (!sort_by_name(attributes)) fail_at_byte(head.at, "a function has an attribute twice");
        spend(head, cost_of(attributes));
        Function& function = program_.functions.emplace_back();
        function_ = &function;
        function.location = head.location;
        const auto text = [&](std::string_view name) {
            const Attribute* value = find(attributes, name);
            if (!value || !value->as<std::string>()) fail_at_byte(head.at, fmt::format("a function has no {}", name));
            return *value->as<std::string>();
        };
        function.name = text("sym_name");
        function.visibility = text("sym_visibility");
        const Attribute* type = find(attributes, "function_type");
        if (!type || !type->as<TypePointer>() || (*type->as<TypePointer>())->kind != Type::Kind::function) {
            fail_at_byte(head.at, "function '" + printable(function.name) + "' has no type of a function");
        }
        spend(head, 4 * (*type->as<TypePointer>())->weight);
        function.argument_types = (*type->as<TypePointer>())->parts;
        function.result_types = (*type->as<TypePointer>())->results;
        function.argument_attributes = per_value(head, attributes, "arg_attrs", function.argument_types.size());
        function.result_attributes = per_value(head, attributes, "res_attrs", function.result_types.size());
        std::erase_if(attributes, [](const auto& entry) {
            return std::find(std::begin(names), std::end(names), entry.first) != std::end(names);
        });
        function.extra = kept(std::move(attributes));
        Scope scope;
        read_regions(in, head, [&](ByteReader& region) {
            function.is_external = !read_region(region, scope, function.body, head.title(), 0);
        });
        if (function.is_external) return;
        if (const std::string problem = problem_of(function); !problem.empty()) fail_at_byte(head.at, problem);
    }

    std::vector<Dictionary> per_value(const Head& head, const Dictionary& attributes, std::string_view name,
                                      std::size_t count) {
        const Attribute* list = find(attributes, name);
        const Array* all = list ? list->as<Array>() : nullptr;
        if (!all || (!all->empty() && all->size() != count)) {
            fail_at_byte(head.at, fmt::format("{} of a function are not one for each of {} values", name, count));
        }
        std::vector<Dictionary> made(count);
        for (std::size_t k = 0; k < all->size(); ++k) {
            if (!(*all)[k]->as<Dictionary>())
                fail_at_byte(head.at, fmt::format("{} of a function are no dictionary", name));
            spend(head, cost_of(*(*all)[k]->as<Dictionary>()));
            made[k] = kept(*(*all)[k]->as<Dictionary>());
        }
        return made;
    }

    /// False for one without a block.
    bool read_region(ByteReader& in, Scope& scope, Region& region, const std::string& owner, std::size_t depth) {
        if (depth > max_depth) in.fail("regions lie too deep within each other", ErrorCode::unsupported);
        if (begin_region(in, owner) == 0) return false;
        const std::size_t values = in.count();
        std::size_t next = scope.slots.size();
        const std::size_t begin = next, end = next + values;
        scope.slots.resize(end, Scope::undefined);
        const auto [count, has_arguments] = in.flagged();
        if (has_arguments) read_arguments(in, scope, region, next, end);
        for (std::uint64_t k = 0; k < count; ++k) read_operation(in, scope, region, next, end, depth);
        if (region.operations.empty() || region.operations.back().name != "return") {
            in.fail("a region of " + owner + " does not end with a return");
        }
        if (next != end) in.fail(fmt::format("a region of {} has {} values fewer than announced", owner, end - next));
        scope.slots.resize(begin);
        return true;
    }

    ValueId new_value(const TypePointer& type) {
        function_->values.push_back(type);
        return static_cast<ValueId>(function_->values.size() - 1);
    }

    void read_arguments(ByteReader& in, Scope& scope, Region& region, std::size_t& next, std::size_t end) {
        for (std::size_t k = in.count(); k > 0; --k) {
            if (next == end) in.fail("a region has more values than announced");
            TypePointer type;
            bool has_location = true;
            if (file_.version >= 4) {
                const auto read = in.flagged_index(file_.types.size(), "type");
                type = entries_.type(read.value);
                has_location = read.flag;
            } else {
                type = entries_.read_type(in);
            }
            region.argument_locations.push_back(has_location ? entries_.read_location(in) : 0);
            region.arguments.push_back(new_value(type));
            scope.slots[next++] = region.arguments.back();
        }
        if (file_.version >= 3 && in.byte() != 0) skip_use_orders(in, region.arguments.size());
    }

    ValueId value_of(const Head& head, const Scope& scope, std::uint64_t slot) const {
        if (slot >= scope.slots.size()) {
            fail_at_byte(head.at,
                         fmt::format("{} names value {}, but there are {}", head.title(), slot, scope.slots.size()));
        }
        const ValueId id = scope.slots[static_cast<std::size_t>(slot)];
        if (id == Scope::undefined) {
            fail_at_byte(head.at, fmt::format("{} uses value {} before it is defined", head.title(), slot));
        }
        return id;
    }

    void read_operation(ByteReader& in, Scope& scope, Region& region, std::size_t& next, std::size_t end,
                        std::size_t depth) {
        const Head head = read_head(in);
        if (head.results.size() > end - next) fail_at_byte(head.at, "a region has more values than announced");
        std::vector<ValueId> operands;
        for (const std::uint64_t slot : head.operands) operands.push_back(value_of(head, scope, slot));
        const bool passes_on = (head.dialect == "builtin" && head.name == "unrealized_conversion_cast") ||
                               (head.dialect == "sdy" && head.name == "sharding_constraint");
        if (head.dialect == "sdy" && head.name == "sharding_group" && head.results.empty() && head.regions == 0) return;
        if (passes_on) {
            if (head.results.size() != operands.size() || head.regions != 0) {
                fail_at_byte(head.at, head.title() + " does not pass its operands on");
            }
            for (const ValueId id : operands) scope.slots[next++] = id;
            return;
        }
        const OperationRule* rule = rule_of(head);
        const std::size_t results = next;
        Operation operation;
        operation.name = std::string(rule->name);
        operation.location = head.location;
        operation.operands = std::move(operands);
        operation.extra = head.attributes;
        for (const TypePointer& type : head.results) operation.results.push_back(new_value(type));
        next += head.results.size();
        read_attributes(head, attribute_names(*rule, version_of(head)), operation.attributes);
        spend(head, cost_of(operation.attributes) + cost_of(operation.extra));
        if (const std::string problem = complete(operation, *function_); !problem.empty()) {
            fail_at_byte(head.at, head.title() + " " + problem);
        }
        // What a region of an isolated operation names is its own.
        Scope own;
        read_regions(in, head, [&](ByteReader& part) {
            read_region(part, head.is_isolated ? own : scope, operation.regions.emplace_back(), head.title(),
                        depth + 1);
        });
        for (std::size_t k = 0; k < operation.results.size(); ++k) scope.slots[results + k] = operation.results[k];
        region.operations.push_back(std::move(operation));
    }

    void spend(const Head& head, std::uint64_t cost) {
        spent_ += cost;
        if (spent_ > most_cost(file_.bytes().size())) {
            fail_at_byte(head.at, "the file names large attributes too often", ErrorCode::unsupported);
        }
    }

    static int version_of(const Head& head) {
        const std::size_t at = head.name.rfind("_v");
        int version = 0;
        if (at == std::string_view::npos) return 0;
        const auto read = std::from_chars(head.name.data() + at + 2, head.name.data() + head.name.size(), version);
        return read.ptr == head.name.data() + head.name.size() ? version : 0;
    }

    const OperationRule* rule_of(const Head& head) const {
        const int version = version_of(head);
        const OperationRule* rule = head.dialect == "vhlo" && version > 0
                                      ? operation_rule(head.name.substr(0, head.name.rfind("_v")))
                                      : nullptr;
        if (!rule || version > rule->newest) {
            fail_at_byte(head.at,
                         fmt::format("operation {} is none that this reader knows (the file is made by {})",
                                     head.title(), file_.producer),
                         ErrorCode::unsupported);
        }
        return rule;
    }

    BytecodeFile file_;
    Program program_;
    BytecodeEntries entries_;
    Function* function_ = nullptr;
    std::uint64_t spent_ = 0;  ///< of most_cost()
};

}  // namespace

bool is_bytecode(std::span<const std::byte> file) {
    constexpr unsigned char magic[] = {0x4d, 0x4c, 0xef, 0x52};
    return file.size() >= sizeof(magic) && std::memcmp(file.data(), magic, sizeof(magic)) == 0;
}

Program read_bytecode(const SharedBytes& file) { return BytecodeReader(file).run(); }

}  // namespace tosavk::stablehlo
