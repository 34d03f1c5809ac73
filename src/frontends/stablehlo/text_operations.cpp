// The generic form of an operation, and what both forms share.
#include "frontends/stablehlo/text_reader.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::stablehlo {

namespace {

/// Operations whose results are their operands, and of a group of values that are to be sharded alike, which has none.
constexpr std::string_view sharding_group = "sdy.sharding_group";
constexpr std::string_view passing_on[] = {"sdy.sharding_constraint", "builtin.unrealized_conversion_cast",
                                           sharding_group};

}  // namespace

void TextReader::read_results_of(Draft& draft) {
    std::size_t total = 0;
    if (in_.peek() == '%') {
        do {
            Group group;
            group.name = value_name();
            if (in_.accept(":")) {
                const std::int64_t count = in_.integer();
                // Each has a type of one letter at least.
                if (count < 0 || static_cast<std::uint64_t>(count) > in_.text().size()) {
                    in_.fail(fmt::format("an operation has {} results", count));
                }
                group.count = static_cast<std::size_t>(count);
            }
            total += group.count;
            draft.groups.push_back(group);
        } while (in_.accept(","));
        in_.expect("=");
    }
    if (function_->values.size() + total > in_.text().size()) in_.fail("an operation has too many results");
    // Numbered before what its regions define, as bytecode does.
    for (std::size_t k = 0; k < total; ++k) draft.operation.results.push_back(new_value(nullptr));
}

void TextReader::read_operation(Region& region) {
    Draft draft;
    read_results_of(draft);
    in_.peek();
    draft.at = in_.at();
    if (in_.peek() == '"') {
        for (const std::string_view name : passing_on) {
            if (!in_.accept(fmt::format("\"{}\"", name))) continue;
            return pass_on(draft, name, read_generic_pass_on());
        }
        read_generic(draft);
    } else {
        const std::string_view name = in_.word();
        if (std::find(std::begin(passing_on), std::end(passing_on), name) != std::end(passing_on))
            return pass_on(draft, name, read_pass_on(name));
        read_own_form(draft, name);
    }
    finish(draft, region);
}

std::vector<ValueId> TextReader::read_generic_pass_on() {
    in_.expect("(");
    std::vector<ValueId> ids = operands(")");
    if (in_.accept("<")) {
        values_.dictionary();
        in_.expect(">");
    }
    if (in_.peek() == '{') values_.dictionary();
    in_.expect(":");
    values_.function_type();
    values_.optional_location();
    return ids;
}

std::vector<ValueId> TextReader::read_pass_on(std::string_view name) {
    std::vector<ValueId> ids;
    do ids.push_back(operand());
    while (in_.accept(","));
    if (name == "sdy.sharding_constraint") {
        in_.peek();
        in_.skip_brackets();
        in_.expect(":");
        values_.type();
    } else if (name == sharding_group) {
        in_.expect_word("group_id");
        in_.expect("=");
        in_.integer();
        in_.expect(":");
        values_.type();
    } else {
        in_.expect(":");
        do values_.type();
        while (in_.accept(","));
        in_.expect_word("to");
        do values_.type();
        while (in_.accept(","));
    }
    values_.optional_location();
    return ids;
}

void TextReader::pass_on(const Draft& draft, std::string_view name, const std::vector<ValueId>& ids) {
    if (name == sharding_group && draft.groups.empty()) return;
    if (ids.size() != draft.operation.results.size())
        in_.fail_at(draft.at, fmt::format("{} does not pass its operands on", name));
    function_->values.resize(function_->values.size() - ids.size());
    std::size_t next = 0;
    for (const Group& group : draft.groups) {
        const auto first = ids.begin() + static_cast<std::ptrdiff_t>(next);
        define(group.name, std::vector<ValueId>(first, first + static_cast<std::ptrdiff_t>(group.count)));
        next += group.count;
    }
}

namespace {

/// "stablehlo.add", "chlo.erf", "func.call": sets dialect and name; false for those of others.
bool set_name(Operation& operation, std::string_view name) {
    if (name == "return" || name == "call") {
        operation.name = std::string(name);
        return true;
    }
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) return false;
    const std::string_view dialect = name.substr(0, dot);
    operation.name = std::string(name.substr(dot + 1));
    if (dialect == "func") return operation.name == "return" || operation.name == "call";
    if (dialect == "chlo") operation.dialect = Dialect::chlo;
    return dialect == "chlo" || (dialect == "stablehlo" && operation_rule(operation.name));
}

}  // namespace

void TextReader::read_generic(Draft& draft) {
    const std::string name = in_.string();
    if (!set_name(draft.operation, name)) {
        in_.fail_at(draft.at, fmt::format("operation {} is none that this reader knows", printable(name)),
                    ErrorCode::unsupported);
    }
    in_.expect("(");
    draft.operation.operands = operands(")");
    if (in_.peek() == '[') in_.fail("an operation jumps to another block", ErrorCode::unsupported);
    if (in_.accept("<")) {
        draft.operation.attributes = values_.dictionary();
        in_.expect(">");
    }
    if (in_.accept("(")) {
        do read_region(draft.operation.regions.emplace_back());
        while (in_.accept(","));
        in_.expect(")");
    }
    if (in_.peek() == '{') draft.operation.extra = values_.dictionary();
    in_.expect(":");
    const TypePointer type = values_.function_type();
    draft.operand_types = type->parts;
    draft.result_types = type->results;
    if (draft.operand_types.size() != draft.operation.operands.size()) {
        in_.fail_at(draft.at, fmt::format("{} has {} operands, but types for {}", printable(name),
                                          draft.operation.operands.size(), draft.operand_types.size()));
    }
    draft.operation.location = values_.optional_location();
}

void TextReader::read_own_form(Draft& draft, std::string_view name) {
    if (!set_name(draft.operation, name)) {
        in_.fail_at(draft.at, fmt::format("operation {} is none that this reader knows", printable(name)),
                    ErrorCode::unsupported);
    }
    const std::string& own = draft.operation.name;
    if (draft.operation.dialect == Dialect::stablehlo) {
        if (own == "reduce") return read_reduce(draft);
        if (own == "while") return read_while(draft);
        if (own == "convolution") return read_convolution(draft);
        if (own == "slice") return read_slice(draft);
    }
    if (own == "constant") return read_constant(draft);
    if (in_.peek() == '@')
        set(draft, own == "call" ? "callee" : "call_target_name", stablehlo::attribute(values_.symbol()));
    if (own == "composite" && in_.peek() == '"') set(draft, "name", stablehlo::attribute(in_.string()));
    if (in_.accept("(")) {
        read_items(draft, ")");
        in_.expect(")");
    } else {
        read_items(draft, ":");
    }
    if (own == "get_tuple_element" && in_.accept("[")) {
        set(draft, "index", stablehlo::attribute(Integer{Element::i64, in_.integer()}));
        in_.expect("]");
    }
    add_attributes(draft);
    if (in_.accept(":")) read_types(draft);
    draft.operation.location = values_.optional_location();
}

void TextReader::add_attributes(Draft& draft) {
    if (in_.peek() != '{') return;
    Dictionary entries = values_.dictionary();
    draft.operation.extra.insert(draft.operation.extra.end(), std::make_move_iterator(entries.begin()),
                                 std::make_move_iterator(entries.end()));
}

void TextReader::finish(Draft& draft, Region& region) {
    Operation& operation = draft.operation;
    const std::string title = (operation.dialect == Dialect::chlo ? "chlo." : "stablehlo.") + printable(operation.name);
    for (std::size_t k = 0; k < draft.operand_types.size(); ++k) {
        const Type &said = *draft.operand_types[k], &known = *function_->values[operation.operands[k]];
        if (!same(said, known)) {
            in_.fail_at(draft.at, fmt::format("operand {} of {} has type {}, not {}", k, title, to_string(known),
                                              to_string(said)));
        }
    }
    if (draft.groups.empty())
        for (std::size_t k = 0; k < draft.result_types.size(); ++k) operation.results.push_back(new_value(nullptr));
    if (operation.results.size() != draft.result_types.size()) {
        in_.fail_at(draft.at, fmt::format("{} has {} results, but names for {}", title, draft.result_types.size(),
                                          operation.results.size()));
    }
    std::size_t next = 0;
    for (const ValueId id : operation.results) function_->values[id] = draft.result_types[next++];
    spent_ += cost_of(operation.attributes) + cost_of(operation.extra);
    if (spent_ > most_cost(in_.text().size())) {
        in_.fail_at(draft.at, "the text names large attributes too often", ErrorCode::unsupported);
    }
    if (operation.dialect == Dialect::chlo) {
        for (auto& entry : operation.extra) operation.attributes.push_back(std::move(entry));
        operation.extra.clear();
        if (!sort_by_name(operation.attributes)) in_.fail_at(draft.at, title + " has an attribute twice");
    } else {
        const Dictionary properties = std::move(operation.attributes);
        operation.attributes.clear();
        operation.extra.insert(operation.extra.end(), properties.begin(), properties.end());
        const std::string problem = complete(operation, *function_);
        if (!problem.empty()) in_.fail_at(draft.at, title + " " + problem);
        // Attributes may be hung on by anybody; properties are the operation's own.
        for (const auto& entry : properties) {
            if (!find(operation.extra, entry.first)) continue;
            in_.fail_at(draft.at,
                        fmt::format("attribute '{}' of {} is newer than this reader", printable(entry.first), title),
                        ErrorCode::unsupported);
        }
    }
    next = 0;
    for (const Group& group : draft.groups) {
        const auto first = operation.results.begin() + static_cast<std::ptrdiff_t>(next);
        define(group.name, std::vector<ValueId>(first, first + static_cast<std::ptrdiff_t>(group.count)));
        next += group.count;
    }
    region.operations.push_back(std::move(operation));
}

}  // namespace tosavk::stablehlo
