// Attributes as text and back. One table knows the field behind each name; how a field of some type is written and read
// stands beside it.
#include "ops/print.hpp"

#include "base/text.hpp"
#include "ops/op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <type_traits>

namespace tosavk {

namespace {

/// Calls use(field) with the field of `a` that has this name; `use` takes a field of any type.
template <class A, class Use> auto with_field(A& a, std::string_view name, Use use) {
    if (name == "axis") return use(a.axis);
    if (name == "kernel") return use(a.kernel);
    if (name == "stride") return use(a.stride);
    if (name == "pad" || name == "out_pad") return use(a.pad);
    if (name == "dilation") return use(a.dilation);
    if (name == "perms") return use(a.perms);
    if (name == "acc_type") return use(a.acc_type);
    if (name == "local_bound") return use(a.local_bound);
    if (name == "nan_mode") return use(a.nan_mode);
    if (name == "min_val") return use(a.min_val);
    if (name == "max_val") return use(a.max_val);
    if (name == "round") return use(a.round);
    if (name == "mode") return use(a.mode);
    if (name == "scale32") return use(a.scale32);
    if (name == "rounding") return use(a.rounding);
    if (name == "per_channel") return use(a.per_channel);
    if (name == "input_unsigned") return use(a.input_unsigned);
    if (name == "output_unsigned") return use(a.output_unsigned);
    if (name == "inverse") return use(a.inverse);
    if (name == "name") return use(a.variable);
    if (name == "operator_name") return use(a.operator_name);
    if (name == "domain_name") return use(a.domain_name);
    if (name == "implementation_attrs") return use(a.implementation_attrs);
    if (name == "combiner") return use(a.combiner);
    if (name == "out_of_range") return use(a.out_of_range);
    if (name == "by_zero") return use(a.by_zero);
    if (name == "floored") return use(a.floored);
    if (name == "is_unsigned") return use(a.is_unsigned);
    if (name == "exclusive") return use(a.exclusive);
    if (name == "reverse") return use(a.reverse);
    if (name == "descending") return use(a.descending);
    if (name == "total_order") return use(a.total_order);
    if (name == "batch_dims") return use(a.batch_dims);
    if (name == "segments") return use(a.segments);
    if (name == "most") return use(a.most);
    if (name == "sigma") return use(a.sigma);
    throw Error(ErrorCode::internal, fmt::format("there is no attribute '{}'", name));
}

// ---- enumerations -------------------------------------------------------------------------------------------------

template <class E> struct Named {
    E value;
    std::string_view name;
};

template <class E> struct NamesOf;
template <> struct NamesOf<NanMode> {
    static constexpr Named<NanMode> list[] = {{NanMode::propagate, "PROPAGATE"}, {NanMode::ignore, "IGNORE"}};
};
template <> struct NamesOf<ResizeMode> {
    static constexpr Named<ResizeMode> list[] = {{ResizeMode::nearest, "NEAREST_NEIGHBOR"},
                                                 {ResizeMode::bilinear, "BILINEAR"}};
};
template <> struct NamesOf<Rounding> {
    static constexpr Named<Rounding> list[] = {{Rounding::single_round, "SINGLE_ROUND"},
                                               {Rounding::inexact_round, "INEXACT_ROUND"},
                                               {Rounding::double_round, "DOUBLE_ROUND"}};
};
template <> struct NamesOf<Combiner> {
    static constexpr Named<Combiner> list[] = {{Combiner::set, "SET"},
                                               {Combiner::add, "ADD"},
                                               {Combiner::multiply, "MULTIPLY"},
                                               {Combiner::minimum, "MINIMUM"},
                                               {Combiner::maximum, "MAXIMUM"}};
};
template <> struct NamesOf<OutOfRange> {
    static constexpr Named<OutOfRange> list[] = {
        {OutOfRange::clamp, "CLAMP"}, {OutOfRange::zero, "ZERO"}, {OutOfRange::skip, "SKIP"}};
};
template <> struct NamesOf<ByZero> {
    static constexpr Named<ByZero> list[] = {
        {ByZero::zero, "ZERO"}, {ByZero::ones, "ONES"}, {ByZero::dividend, "DIVIDEND"}};
};
template <> struct NamesOf<bool> {
    static constexpr Named<bool> list[] = {{false, "false"}, {true, "true"}};
};

// ---- writing ------------------------------------------------------------------------------------------------------

std::string written(std::int32_t v) { return std::to_string(v); }
std::string written(double v) { return fmt::format("{}", v); }
std::string written(DType v) { return std::string(name_of(v)); }
std::string written(const std::vector<std::int32_t>& v) { return fmt::format("[{}]", fmt::join(v, ",")); }
std::string written(const std::string& v) { return in_quotes(v); }
template <class E>
    requires(sizeof(NamesOf<E>::list) > 0)
std::string written(E v) {
    for (const Named<E>& named : NamesOf<E>::list)
        if (named.value == v) return std::string(named.name);
    throw Error(ErrorCode::internal, "an attribute has a value without a name");
}

// ---- reading ------------------------------------------------------------------------------------------------------

/// What a text must be to be read, in words; nothing: it has been read.
using Wanted = std::optional<std::string>;

Wanted read(std::string_view text, std::int32_t& v) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error == std::errc() && end == text.data() + text.size()) return std::nullopt;
    return "an integer of 32 bits";
}
Wanted read(std::string_view text, double& v) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error == std::errc() && end == text.data() + text.size()) return std::nullopt;
    return "a number";
}
Wanted read(std::string_view text, std::vector<std::int32_t>& v) {
    const Wanted wanted = "a list such as [1,2]";
    if (text.size() < 2 || text.front() != '[' || text.back() != ']') return wanted;
    text = text.substr(1, text.size() - 2);
    v.clear();
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        if (read(text.substr(0, comma), v.emplace_back()) || comma + 1 == text.size()) return wanted;
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return std::nullopt;
}
template <class E>
    requires(sizeof(NamesOf<E>::list) > 0)
Wanted read(std::string_view text, E& v) {
    std::string all;
    for (const Named<E>& named : NamesOf<E>::list) {
        if (named.name == text) {
            v = named.value;
            return std::nullopt;
        }
        all += fmt::format("{}{}", all.empty() ? "" : ", ", named.name);
    }
    return "one of " + all;
}
// Own operators have none of these.
Wanted read(std::string_view, DType&) { return "left out: types are not read from text"; }
Wanted read(std::string_view, std::string&) { return "left out: quoted text is not read"; }

// ---- values of a program ------------------------------------------------------------------------------------------

using Integers = std::vector<std::int64_t>;
using Reals = std::vector<double>;

bool is_int32(std::int64_t v) { return v == static_cast<std::int32_t>(v); }

Wanted take(const AttributeValue& given, std::vector<std::int32_t>& field) {
    const auto* numbers = std::get_if<Integers>(&given.value);
    if (!numbers || !std::all_of(numbers->begin(), numbers->end(), is_int32)) return "integers of 32 bits";
    field.assign(numbers->begin(), numbers->end());
    return std::nullopt;
}
Wanted take(const AttributeValue& given, std::int32_t& field) {
    const auto* numbers = std::get_if<Integers>(&given.value);
    if (!numbers || numbers->size() != 1 || !is_int32(numbers->front())) return "one integer of 32 bits";
    field = static_cast<std::int32_t>(numbers->front());
    return std::nullopt;
}
Wanted take(const AttributeValue& given, double& field) {
    if (const auto* numbers = std::get_if<Integers>(&given.value); numbers && numbers->size() == 1) {
        constexpr std::int64_t most = std::int64_t{1} << 53;  // what a double holds exactly
        field = static_cast<double>(numbers->front());
        if (numbers->front() >= -most && numbers->front() <= most) return std::nullopt;
    }
    if (const auto* numbers = std::get_if<Reals>(&given.value); numbers && numbers->size() == 1) {
        field = numbers->front();
        return std::nullopt;
    }
    return "one number, an integer of at most 53 bits or a real one";
}
Wanted take(const AttributeValue& given, std::string& field) {
    const auto* text = std::get_if<std::string>(&given.value);
    if (!text) return "text";
    field = *text;
    return std::nullopt;
}
Wanted take(const AttributeValue& given, DType& field) {
    const auto* text = std::get_if<std::string>(&given.value);
    const std::string name = text ? lower(*text) : std::string();
    std::string all;
    for (int k = 0; k <= static_cast<int>(DType::fp32); ++k) {
        const auto type = static_cast<DType>(k);
        if (name == name_of(type)) {
            field = type;
            return std::nullopt;
        }
        all += fmt::format("{}{}", k > 0 ? ", " : "", name_of(type));
    }
    return "the name of a type: " + all;
}
template <class E>
    requires(sizeof(NamesOf<E>::list) > 0)
Wanted take(const AttributeValue& given, E& field) {
    const auto* text = std::get_if<std::string>(&given.value);
    if constexpr (std::is_same_v<E, bool>) {
        const auto* numbers = std::get_if<Integers>(&given.value);
        if (numbers && numbers->size() == 1 && (numbers->front() == 0 || numbers->front() == 1)) {
            field = numbers->front() == 1;
            return std::nullopt;
        }
        if (!text) return "0 or 1";
    }
    return read(text ? std::string_view(*text) : "?", field);
}

/// Sets what may be left out; false for what must be given.
template <class T> bool set_default(T& field) {
    if constexpr (requires { NamesOf<T>::list; }) {
        field = NamesOf<T>::list[0].value;
        return true;
    } else {
        return false;
    }
}

/// The name that OpDef::attributes has for one of the specification's.
std::string_view own_name(std::string_view name) {
    return name == "out_pad" ? "pad" : name == "rounding_mode" ? "rounding" : name;
}

/// Text from a file as it may stand in a message.
std::string shown(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 40)) out += c >= 32 && c < 127 ? c : '?';
    return text.size() > 40 ? out + "..." : out;
}

}  // namespace

std::string in_quotes(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c == '\n') out += "\\n";
        else if (static_cast<unsigned char>(c) < 32) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else out += c;
    }
    return out + "\"";
}

std::string attributes_text(const Node& node) {
    const OpDef* def = find_op(node.op);
    std::string text;
    if (def == nullptr) return text;
    for (const char* name : def->attributes) {
        const std::string value = with_field(node.attrs, name, [](const auto& field) { return written(field); });
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
    }
    return text;
}

std::string read_attributes(const OpDef& def, std::string_view text, Attributes& attrs) {
    std::set<std::string_view> seen;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(word.size() + 1, text.size()));
        const std::size_t equals = word.find('=');
        if (word.empty() || equals == std::string_view::npos)
            return fmt::format("its attributes are no list of NAME=VALUE with one space between: '{}'", shown(word));
        const std::string_view name = word.substr(0, equals), value = word.substr(equals + 1);
        if (std::find(def.attributes.begin(), def.attributes.end(), name) == def.attributes.end())
            return fmt::format("it has no attribute '{}'", shown(name));
        if (!seen.insert(name).second) return fmt::format("its attribute {} is given twice", name);
        const Wanted wanted = with_field(attrs, name, [&](auto& field) { return read(value, field); });
        if (wanted) return fmt::format("its attribute {} is '{}', but must be {}", name, shown(value), *wanted);
    }
    for (const char* name : def.attributes)
        if (!seen.contains(name)) return fmt::format("its attribute {} is missing", name);
    return {};
}

std::string set_attributes(const OpDef& def, std::span<const AttributeValue> values, Attributes& attrs) {
    std::set<std::string_view> seen;
    for (const AttributeValue& given : values) {
        const auto name = std::find(def.attributes.begin(), def.attributes.end(), own_name(given.name));
        if (name == def.attributes.end()) return fmt::format("it has no attribute '{}'", shown(given.name));
        if (!seen.insert(*name).second) return fmt::format("its attribute {} is given twice", *name);
        const Wanted wanted = with_field(attrs, *name, [&](auto& field) { return take(given, field); });
        if (wanted) return fmt::format("its attribute {} must be {}", *name, *wanted);
    }
    for (const char* name : def.attributes) {
        if (!seen.contains(name) && !with_field(attrs, name, [](auto& field) { return set_default(field); }))
            return fmt::format("its attribute {} is missing", name);
    }
    return {};
}

}  // namespace tosavk
