// Modules, functions, and the names of values.
#include "frontends/stablehlo/text.hpp"

#include "base/text.hpp"
#include "frontends/stablehlo/text_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tosavk::stablehlo {

namespace {

constexpr std::string_view function_attributes[] = {"arg_attrs", "function_type", "res_attrs", "sym_name",
                                                    "sym_visibility"};

/// Without what is of dialects that are not read.
Dictionary without_opaque(Dictionary attributes) {
    std::erase_if(attributes, [](const auto& entry) {
        return entry.second->template as<Opaque>() || entry.first.starts_with("sdy.");
    });
    return attributes;
}

}  // namespace

Program TextReader::run() {
    while (!in_.at_end()) {
        if (values_.skip_definition()) continue;
        if (in_.accept_word("module")) {
            read_module();
        } else if (in_.next_is("\"builtin.module\"")) {
            read_generic_module();
        } else {
            read_module_body();  // functions may stand without a module
            if (!in_.at_end()) in_.fail("a module or a function is expected");
        }
    }
    if (program_.functions.empty()) in_.fail("there is no function");
    if (const std::string problem = problem_of(program_); !problem.empty()) in_.fail_at(0, problem);
    return std::move(program_);
}

void TextReader::read_module() {
    if (in_.peek() == '@') program_.name = values_.symbol();
    if (in_.accept_word("attributes")) program_.extra = without_opaque(values_.dictionary());
    in_.expect("{");
    read_module_body();
    in_.expect("}");
    values_.optional_location();
}

/// "() <{...}>": no operands, and properties if there are any.
Dictionary TextReader::read_properties() {
    in_.expect("(");
    in_.expect(")");
    if (!in_.accept("<")) return {};
    Dictionary properties = values_.dictionary();
    in_.expect(">");
    return properties;
}

void TextReader::read_generic_module() {
    in_.string();
    Dictionary properties = read_properties();
    in_.expect("(");
    in_.expect("{");
    read_module_body();
    in_.expect("}");
    in_.expect(")");
    if (in_.peek() == '{') {
        const Dictionary discardable = values_.dictionary();
        properties.insert(properties.end(), discardable.begin(), discardable.end());
    }
    in_.expect(":");
    values_.function_type();
    values_.optional_location();
    if (!sort_by_name(properties)) in_.fail("the module has an attribute twice");
    if (const Attribute* name = find(properties, "sym_name"); name && name->as<std::string>())
        program_.name = *name->as<std::string>();
    std::erase_if(properties, [](const auto& entry) { return entry.first.starts_with("sym_"); });
    program_.extra = without_opaque(std::move(properties));
}

void TextReader::read_module_body() {
    for (;;) {
        const std::size_t at = in_.at();
        if (values_.skip_definition()) continue;
        if (in_.accept_word("func.func")) {
            read_function();
        } else if (in_.accept("\"func.func\"")) {
            read_generic_function(at);
        } else if (in_.accept_word("sdy.mesh")) {
            values_.symbol();
            in_.expect("=");
            in_.skip_brackets();
            if (in_.peek() == '{') in_.skip_brackets();
            values_.optional_location();
        } else if (in_.accept("\"sdy.mesh\"")) {
            read_properties();
            if (in_.peek() == '{') in_.skip_brackets();
            in_.expect(":");
            values_.function_type();
            values_.optional_location();
        } else {
            return;
        }
    }
}

Function& TextReader::begin_function() {
    Function& function = program_.functions.emplace_back();
    function_ = &function;
    names_.clear();
    undo_.clear();
    return function;
}

void TextReader::read_function() {
    const std::size_t at = in_.at();
    Function& function = begin_function();
    for (const std::string_view visibility : {"public", "private", "nested"})
        if (in_.accept_word(visibility)) function.visibility = visibility;
    function.name = values_.symbol();
    in_.expect("(");
    Region& body = function.body;
    if (!in_.accept(")")) {
        do {
            const bool has_name = in_.peek() == '%';
            std::string_view name;
            if (has_name) {
                name = value_name();
                in_.expect(":");
            }
            function.argument_types.push_back(values_.type());
            function.argument_attributes.push_back(in_.peek() == '{' ? without_opaque(values_.dictionary())
                                                                     : Dictionary());
            if (!has_name) continue;
            body.arguments.push_back(new_value(function.argument_types.back()));
            body.argument_locations.push_back(values_.optional_location());
            define(name, {body.arguments.back()});
        } while (in_.accept(","));
        in_.expect(")");
    }
    if (in_.accept("->")) read_results(function);
    if (in_.accept_word("attributes")) function.extra = without_opaque(values_.dictionary());
    function.is_external = !in_.accept("{");
    if (!function.is_external) {
        read_operations(body);
        in_.expect("}");
    }
    function.location = values_.optional_location();
    check_function(function, at);
}

void TextReader::read_results(Function& function) {
    const auto result = [&] { function.result_types.push_back(values_.type()); };
    if (!in_.accept("(")) {
        result();
    } else if (!in_.accept(")")) {
        do {
            result();
            function.result_attributes.push_back(in_.peek() == '{' ? without_opaque(values_.dictionary())
                                                                   : Dictionary());
        } while (in_.accept(","));
        in_.expect(")");
    }
    function.result_attributes.resize(function.result_types.size());
}

void TextReader::check_function(const Function& function, std::size_t at) {
    if (!function.is_external) {
        if (const std::string problem = problem_of(function); !problem.empty()) in_.fail_at(at, problem);
        return;
    }
    if (!function.body.operations.empty())
        in_.fail_at(at, "function '" + printable(function.name) + "' is only declared, and has a body");
    // Names of arguments that nothing uses say nothing.
    program_.functions.back().body = {};
    program_.functions.back().values.clear();
}

std::vector<Dictionary> TextReader::per_value(const Dictionary& attributes, std::string_view name, std::size_t count) {
    std::vector<Dictionary> made(count);
    const Attribute* list = find(attributes, name);
    const Array* all = list ? list->as<Array>() : nullptr;
    if (!all) return made;
    if (all->size() != count) in_.fail(fmt::format("{} of a function are not one for each of {} values", name, count));
    for (std::size_t k = 0; k < count; ++k) {
        const Dictionary* entries = (*all)[k]->as<Dictionary>();
        if (!entries) in_.fail(fmt::format("{} of a function are no dictionary", name));
        made[k] = without_opaque(*entries);
    }
    return made;
}

void TextReader::read_generic_function(std::size_t at) {
    Function& function = begin_function();
    Dictionary attributes = read_properties();
    in_.expect("(");
    read_region(function.body);
    in_.expect(")");
    if (in_.peek() == '{') {
        const Dictionary discardable = values_.dictionary();
        attributes.insert(attributes.end(), discardable.begin(), discardable.end());
    }
    in_.expect(":");
    values_.function_type();
    function.location = values_.optional_location();
    if (!sort_by_name(attributes)) in_.fail_at(at, "a function has an attribute twice");
    const auto text = [&](std::string_view name) {
        const Attribute* value = find(attributes, name);
        return value && value->as<std::string>() ? *value->as<std::string>() : std::string();
    };
    function.name = text("sym_name");
    function.visibility = text("sym_visibility");
    const Attribute* type = find(attributes, "function_type");
    if (!type || !type->as<TypePointer>() || (*type->as<TypePointer>())->kind != Type::Kind::function) {
        in_.fail_at(at, "function '" + printable(function.name) + "' has no type of a function");
    }
    function.argument_types = (*type->as<TypePointer>())->parts;
    function.result_types = (*type->as<TypePointer>())->results;
    function.argument_attributes = per_value(attributes, "arg_attrs", function.argument_types.size());
    function.result_attributes = per_value(attributes, "res_attrs", function.result_types.size());
    std::erase_if(attributes, [](const auto& entry) {
        return std::find(std::begin(function_attributes), std::end(function_attributes), entry.first) !=
               std::end(function_attributes);
    });
    function.extra = without_opaque(std::move(attributes));
    function.is_external = function.body.operations.empty();
    check_function(function, at);
}

std::string_view TextReader::value_name() {
    in_.expect("%");
    return in_.suffix();
}

ValueId TextReader::operand() {
    const char next = in_.peek();
    const std::size_t at = in_.at();
    if (next != '%') in_.fail("a value is expected");
    const std::string_view name = value_name();
    const auto found = names_.find(name);
    if (found == names_.end()) in_.fail_at(at, fmt::format("value %{} is not defined", printable(name)));
    std::int64_t part = 0;
    // Directly behind the name: a blank ends it.
    if (in_.text().substr(in_.at()).starts_with("#")) {
        in_.expect("#");
        part = in_.digits();
    } else if (found->second.size() != 1) {
        in_.fail_at(at, fmt::format("%{} are {} values", printable(name), found->second.size()));
    }
    if (part >= static_cast<std::int64_t>(found->second.size())) {
        in_.fail_at(at, fmt::format("%{} has no value {}", printable(name), part));
    }
    return found->second[static_cast<std::size_t>(part)];
}

std::vector<ValueId> TextReader::operands(std::string_view close) {
    std::vector<ValueId> ids;
    if (in_.accept(close)) return ids;
    do ids.push_back(operand());
    while (in_.accept(","));
    in_.expect(close);
    return ids;
}

ValueId TextReader::new_value(TypePointer type) {
    function_->values.push_back(std::move(type));
    return static_cast<ValueId>(function_->values.size() - 1);
}

void TextReader::define(std::string_view name, std::vector<ValueId> ids) {
    const auto found = names_.find(name);
    if (found == names_.end()) undo_.emplace_back(name, std::nullopt);
    else undo_.emplace_back(name, std::move(found->second));
    names_[name] = std::move(ids);
}

void TextReader::undo_to(std::size_t mark) {
    for (; undo_.size() > mark; undo_.pop_back()) {
        auto& [name, before] = undo_.back();
        if (before) names_[name] = std::move(*before);
        else names_.erase(name);
    }
}

void TextReader::read_argument(Region& region) {
    const std::string_view name = value_name();
    in_.expect(":");
    region.arguments.push_back(new_value(values_.type()));
    region.argument_locations.push_back(values_.optional_location());
    define(name, {region.arguments.back()});
}

void TextReader::read_region(Region& region) {
    in_.expect("{");
    const std::size_t mark = undo_.size();
    if (in_.accept("^")) {
        in_.suffix();
        if (in_.accept("(")) {
            do read_argument(region);
            while (in_.accept(","));
            in_.expect(")");
        }
        in_.expect(":");
    }
    if (in_.peek() != '}') read_operations(region);
    in_.expect("}");
    undo_to(mark);
}

void TextReader::read_operations(Region& region) {
    if (++depth_ > max_depth) in_.fail("regions lie too deep within each other", ErrorCode::unsupported);
    while (in_.peek() != '}') {
        if (in_.peek() == '^') in_.fail("a region has several blocks", ErrorCode::unsupported);
        if (in_.at_end()) in_.fail("a region is not closed");
        read_operation(region);
    }
    if (region.operations.empty() || region.operations.back().name != "return") {
        in_.fail("a region does not end with a return");
    }
    --depth_;
}

Program read_text(std::string_view text) { return TextReader(text).run(); }

}  // namespace tosavk::stablehlo
