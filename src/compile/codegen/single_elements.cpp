#include "compile/codegen/single_elements.hpp"

#include "kernels/common/shader_text.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <regex>
#include <set>
#include <vector>

namespace tosavk {

namespace {

struct LibraryFunction {
    std::string result, name, parameters, text;
};

std::string of_one_element(std::string text) {
    static const std::vector<std::pair<std::regex, const char*>> rules = {
        {std::regex(R"(\bvec4\b)"), "float"},
        {std::regex(R"(\bivec4\b)"), "int"},
        {std::regex(R"(\buvec4\b)"), "uint"},
        {std::regex(R"(\bbvec4\b)"), "bool"},
        {std::regex(R"(\blessThan\()"), "LESS_1("},
        {std::regex(R"(\blessThanEqual\()"), "LESS_EQUAL_1("},
        {std::regex(R"(\bgreaterThan\()"), "GREATER_1("},
        {std::regex(R"(\bgreaterThanEqual\()"), "GREATER_EQUAL_1("},
        {std::regex(R"(\bequal\()"), "EQUAL_1("},
        {std::regex(R"(\bnotEqual\()"), "NOT_EQUAL_1("},
        {std::regex(R"(\bany\()"), "ANY_1("},
        {std::regex(R"(\bnot\()"), "NOT_1("},
    };
    for (const auto& [pattern, to] : rules) text = std::regex_replace(text, pattern, to);
    return text;
}

/// A long function's elements take turns in a loop: of a row of them a compiler would begin with all.
constexpr std::size_t long_function = 500;

/// Calls the function of one element for each of four.
std::string of_four_elements(const LibraryFunction& f, std::size_t at_once) {
    static const std::regex parameter(R"(\s*((?:inout |out |in )?)(\w+) (\w+)\s*,?)");
    const bool in_turn =
        f.text.size() > long_function && f.result != "void" && f.parameters.find("out ") == std::string::npos;
    const std::string_view next = at_once == 1 ? "yzwx" : "zwxy";
    std::string calls, turns;
    const std::string_view elements = std::string_view("xyzw").substr(0, in_turn ? at_once : 4);
    for (const char element : elements) {
        std::string arguments;
        for (std::sregex_iterator p(f.parameters.begin(), f.parameters.end(), parameter), end; p != end; ++p) {
            const bool is_vector = (*p)[2].str().ends_with("vec4");
            const std::string name = (*p)[3].str();
            arguments +=
                fmt::format("{}{}{}", arguments.empty() ? "" : ", ", name, is_vector ? std::string{'.', element} : "");
            if (is_vector && element == 'x') turns += fmt::format("        {0} = {0}.{1};\n", name, next);
        }
        const std::string call = fmt::format("{}({})", f.name, arguments);
        if (in_turn) calls += fmt::format(", {}", call);
        else if (f.result == "void") calls += fmt::format("    {};\n", call);
        else calls += fmt::format("    all_four.{} = {};\n", element, call);
    }
    if (in_turn)
        calls = fmt::format(
            "    [[dont_unroll]] for (int turn = 0; turn < {}; ++turn) {{\n"
            "        all_four = {}(all_four.{}{});\n{}    }}\n",
            4 / at_once, f.result, next.substr(0, 4 - at_once), calls, turns);
    return f.result == "void" ? fmt::format("void {}({}) {{\n{}}}\n", f.name, f.parameters, calls)
                              : fmt::format("{0} {1}({2}) {{\n    {0} all_four;\n{3}    return all_four;\n}}\n",
                                            f.result, f.name, f.parameters, calls);
}

/// Whether a function has a form for one element: `whole` are those of four alone.
bool has_single_form(const LibraryFunction& f, const std::set<std::string>& whole) {
    static const std::regex of_vectors(R"(\bfor \(|\w\[|\ball\(|\.[xyzw]+\b|\b(?:[iub]?vec[23]|f16vec4|wide4)\b)");
    static const std::regex called(R"(\b(\w+)\()");
    if (f.parameters.find("vec4") == std::string::npos || std::regex_search(f.text, of_vectors)) return false;
    for (std::sregex_iterator call(f.text.begin(), f.text.end(), called), end; call != end; ++call) {
        if (whole.contains((*call)[1].str())) return false;
    }
    return true;
}

std::string single_elements(std::string_view library, std::size_t at_once) {
    static const std::regex head(R"(^([iub]?vec4|void) (\w+)\(([^()]*)\) \{(.*))");
    static const std::regex macro(R"(^[A-Z][A-Z0-9_]*\((\w+),.*)"), other(R"(^\w+ (\w+)\(.*(?:vec|wide).*)");
    std::set<std::string> whole;
    std::string text;
    while (!library.empty()) {
        const auto take_line = [&] {
            const std::size_t end = std::min(library.find('\n'), library.size() - 1) + 1;
            std::string line(library.substr(0, end));
            library.remove_prefix(end);
            return line;
        };
        const std::string line = take_line(), bare = line.substr(0, line.find('\n'));
        std::smatch match;
        if (std::regex_match(bare, match, macro)) whole.insert(match[1].str());
        if (!std::regex_match(bare, match, head)) {
            if (std::regex_match(bare, match, other)) whole.insert(match[1].str());
            text += line;
            continue;
        }
        LibraryFunction function{match[1].str(), match[2].str(), match[3].str(), line};
        if (!bare.ends_with("}")) {
            while (!library.empty() && !library.starts_with("}")) function.text += take_line();
            if (!library.empty()) function.text += take_line();
        }
        if (!has_single_form(function, whole)) {
            whole.insert(function.name);
            text += function.text;
            continue;
        }
        text += of_one_element(function.text) + of_four_elements(function, at_once);
    }
    return text;
}

}  // namespace

const std::string& in_single_elements(std::string_view library, std::size_t at_once) {
    static std::mutex mutex;
    static std::map<std::pair<const char*, std::size_t>, std::string> all;
    const std::lock_guard lock(mutex);
    const auto [found, is_new] = all.try_emplace(std::pair(library.data(), at_once));
    if (is_new) found->second = single_elements(library, at_once);
    return found->second;
}

}  // namespace tosavk
