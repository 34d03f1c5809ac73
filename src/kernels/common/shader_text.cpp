#include "kernels/common/shader_text.hpp"

#include "kernels/common/shader_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <regex>

namespace tosavk {
namespace {

[[noreturn]] void fail(const std::string& sentence) { throw Error(ErrorCode::internal, sentence); }

/// Reads one condition from left to right, operators by their rank.
class Condition {
public:
    Condition(std::string_view text, const std::vector<std::pair<std::string, std::string>>& defines)
        : text_(text), defines_(defines) {}

    bool holds() {
        const long value = binary(0);
        if (!next().empty()) fail(fmt::format("the condition '{}' is not understood", text_));
        return value != 0;
    }

private:
    /// The next token, which stays; empty at the end.
    std::string_view next() {
        while (at_ < text_.size() && text_[at_] == ' ') ++at_;
        const std::string_view rest = text_.substr(at_);
        if (rest.empty()) return rest;
        const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
        std::size_t length = 1;
        if (is_word(rest.front())) {
            while (length < rest.size() && is_word(rest[length])) ++length;
        } else if (rest.size() > 1 && (rest[1] == '=' || rest.substr(0, 2) == "&&" || rest.substr(0, 2) == "||")) {
            length = 2;
        }
        return rest.substr(0, length);
    }
    bool take(std::string_view token) {
        if (next() != token) return false;
        at_ += token.size();
        return true;
    }

    long binary(std::size_t rank) {
        static constexpr std::string_view by_rank[][4] = {{"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}};
        if (rank == std::size(by_rank)) return unary();
        long left = binary(rank + 1);
        for (bool found = true; found;) {
            found = false;
            for (const std::string_view op : by_rank[rank]) {
                if (op.empty() || !take(op)) continue;
                left = apply(op, left, binary(rank + 1));
                found = true;
            }
        }
        return left;
    }
    static long apply(std::string_view op, long a, long b) {
        if (op == "||") return a != 0 || b != 0;
        if (op == "&&") return a != 0 && b != 0;
        if (op == "==") return a == b;
        if (op == "!=") return a != b;
        if (op == "<=") return a <= b;
        if (op == ">=") return a >= b;
        return op == "<" ? a < b : a > b;
    }
    long unary() {
        if (take("!")) return unary() == 0;
        if (take("(")) {
            const long value = binary(0);
            if (!take(")")) fail(fmt::format("the condition '{}' is not understood", text_));
            return value;
        }
        const std::string_view token = next();
        at_ += token.size();
        const auto define =
            std::find_if(defines_.begin(), defines_.end(), [&](const auto& known) { return known.first == token; });
        const bool is_name = !token.empty() && std::isdigit(static_cast<unsigned char>(token.front())) == 0;
        if (is_name && define == defines_.end() && (std::isalpha(static_cast<unsigned char>(token.front())) != 0))
            return 0;
        const std::string_view number = is_name && define != defines_.end() ? std::string_view(define->second) : token;
        long value = 0;
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
        if (error != std::errc() || end != number.data() + number.size())
            fail(fmt::format("the condition '{}' is not understood", text_));
        return value;
    }

    std::string_view text_;
    const std::vector<std::pair<std::string, std::string>>& defines_;
    std::size_t at_ = 0;
};

/// What a kernel declares, read once.
const std::vector<DeclaredConstant>& constants_of(const std::string& kernel) {
    static std::mutex mutex;
    static std::map<std::string, std::vector<DeclaredConstant>> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(kernel);
    if (found != known.end()) return found->second;
    return known.emplace(kernel, declared_constants(kernel_source(kernel))).first->second;
}

/// Whether the pass's variant of its kernel declares a constant.
bool is_declared(const DeclaredConstant& constant, const KernelPass& pass) {
    return std::all_of(constant.conditions.begin(), constant.conditions.end(),
                       [&](const auto& text) { return condition_holds(text, pass.defines); });
}

}  // namespace

std::string_view shader_file(const std::string& name) {
    for (const auto& file : embedded_shaders()) {
        if (file.name == name) return file.text;
    }
    fail(fmt::format("there is no shader file '{}'", name));
}

std::string standalone_source(const std::string& kernel, const std::string& defines) {
    const std::string_view text = shader_file(kernel + ".comp");
    const std::size_t line = text.find('\n') + 1;
    return std::string(text.substr(0, line)) + defines + std::string(text.substr(line));
}

std::string kernel_source(const std::string& kernel) {
    constexpr std::string_view include = "#include \"";
    std::string_view rest = shader_file(kernel + ".comp");
    std::string text;
    for (std::size_t at = rest.find(include); at != std::string_view::npos; at = rest.find(include)) {
        const std::size_t name = at + include.size(), end = rest.find('"', name);
        text += rest.substr(0, at);
        text += shader_file(std::string(rest.substr(name, end - name)));
        rest.remove_prefix(std::min(rest.size(), rest.find('\n', end) + 1));
    }
    return text += rest;
}

std::vector<DeclaredConstant> declared_constants(std::string_view source) {
    static const std::regex declaration(
        R"re(^\s*layout\s*\(\s*constant_id\s*=\s*(\d+)\s*\)\s*const\s+(int|uint|float)\s+(\w+)\s*=[^;]*;\s*(?://\s*(late|pushed)\b)?)re");
    static const std::regex directive(R"re(^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b\s*(.*?)\s*(//.*)?$)re");
    std::vector<DeclaredConstant> all;
    std::vector<std::vector<std::string>> open;  // of each #if: its earlier branches' negations, then its own condition
    while (!source.empty()) {
        const std::size_t end = std::min(source.find('\n'), source.size());
        const std::string line(source.substr(0, end));
        source.remove_prefix(std::min(source.size(), end + 1));
        std::smatch match;
        if (std::regex_search(line, match, directive)) {
            const std::string word = match[1], condition = match[2];
            if (word != "if" && !word.starts_with("ifd") && !word.starts_with("ifn") && open.empty())
                fail(fmt::format("'{}' has no #if before it", line));
            if (word == "if") open.push_back({condition});
            // Whether something is defined is no matter of its value: constants are not declared so.
            else if (word == "ifdef" || word == "ifndef") open.push_back({"#" + line});
            else if (word == "endif") open.pop_back();
            else {
                open.back().back() = "!(" + open.back().back() + ")";
                if (word == "elif") open.back().push_back(condition);
            }
            continue;
        }
        if (!std::regex_search(line, match, declaration)) continue;
        DeclaredConstant constant{match[3],           std::stoul(match[1]), match[2] == "float",
                                  match[4] == "late", match[4] == "pushed", {}};
        for (const auto& branches : open)
            constant.conditions.insert(constant.conditions.end(), branches.begin(), branches.end());
        for (const DeclaredConstant& other : all) {
            if (other.name == constant.name || other.id == constant.id)
                fail(fmt::format("the constants {} and {} have one name or number", other.name, constant.name));
        }
        all.push_back(std::move(constant));
    }
    return all;
}

bool condition_holds(std::string_view condition, const std::vector<std::pair<std::string, std::string>>& defines) {
    return Condition(condition, defines).holds();
}

std::set<std::size_t> pushed_constants(const KernelPass& pass, bool late_sizes) {
    std::set<std::size_t> ids;
    for (const DeclaredConstant& constant : constants_of(pass.kernel)) {
        if ((constant.is_pushed || (late_sizes && constant.is_late)) && is_declared(constant, pass))
            ids.insert(constant.id);
    }
    return ids;
}

std::vector<std::int32_t> specialization(const KernelPass& pass) {
    const std::vector<DeclaredConstant>& declared = constants_of(pass.kernel);
    std::vector<std::int32_t> values;
    for (const auto& [name, constant] : pass.constants) {
        const auto found = std::find_if(declared.begin(), declared.end(),
                                        [&](const DeclaredConstant& known) { return known.name == name; });
        if (found == declared.end()) fail(fmt::format("the kernel '{}' has no constant '{}'", pass.kernel, name));
        if (found->is_float != constant.is_float)
            fail(fmt::format("the constant '{}' of the kernel '{}' is {}", name, pass.kernel,
                             found->is_float ? "a float" : "an integer"));
        if (values.size() <= found->id) values.resize(found->id + 1, 0);
        // What its variant does not declare makes no other pipeline.
        if (is_declared(*found, pass)) values[found->id] = constant.bits;
    }
    for (const DeclaredConstant& constant : declared) {
        if (is_declared(constant, pass) && !pass.constants.contains(constant.name))
            fail(fmt::format("nothing gives the constant '{}' of the kernel '{}'", constant.name, pass.kernel));
    }
    return values;
}

}  // namespace tosavk
