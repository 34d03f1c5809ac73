// The order of the rooms: which folder of src/ may include from which. The table is the whole rule;
// docs/architecture.md explains it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

struct Room {
    std::string name;
    std::vector<std::string> not_above = {};  ///< of the rooms before it, those that it must not know
    std::vector<std::string> only = {};       ///< where set: the only other rooms that it may know
};

/// Each may include from itself and from those before it.
const std::vector<Room>& rooms() {
    static const std::vector<Room> all = {
        {"base"},
        {"graph"},
        {"device", {"graph"}},
        {"spirv", {"graph", "device"}},
        {"ops", {"device", "spirv"}},
        {"reference", {"device", "spirv"}},
        {"frontends/common", {"device", "spirv"}},
        {"frontends/tflite", {"device", "spirv"}},
        {"frontends/stablehlo", {"device", "spirv", "frontends/tflite"}},
        {"frontends/tosa", {"device", "spirv", "frontends/tflite", "frontends/stablehlo"}},
        {"frontends/problems", {"device", "spirv", "frontends/tflite", "frontends/stablehlo", "frontends/tosa"}},
        {"frontends", {"device", "spirv"}},
        {"kernels", {"reference", "frontends"}},
        {"compile", {"frontends"}},
        {"compile/rewrite", {"frontends"}},
        {"compile/group", {"frontends", "compile/rewrite"}},
        {"compile/codegen", {"frontends", "compile/rewrite"}},
        {"compile/memory", {"frontends", "compile/rewrite", "compile/group", "compile/codegen"}},
        {"compile/plan", {"frontends"}},
        {"store", {"frontends"}},
        {"vk/core", {"frontends"}},
        {"vk/record", {"frontends"}},
        {"vk/run", {"frontends"}},
        {"vk/measure", {"frontends"}},
        {"verify"},
        {"api"},
        {"hosts", {}, {"hosts"}},  // on the installed headers alone
        {"tools", {}, {"api"}},
    };
    return all;
}

/// What of the room `inner` the name `outer` says: itself, or a folder that it lies in.
bool is_in(const std::string& inner, const std::string& outer) {
    return inner == outer || inner.starts_with(outer + "/");
}

/// The innermost room of a path below src/.
std::optional<std::size_t> room_of(const std::string& path) {
    std::optional<std::size_t> found;
    for (std::size_t k = 0; k < rooms().size(); ++k) {
        const std::string& name = rooms()[k].name;
        if (path.starts_with(name + "/") && (!found || rooms()[*found].name.size() < name.size())) found = k;
    }
    return found;
}

bool may_include(std::size_t from, std::size_t to) {
    if (from == to) return true;
    const Room &room = rooms()[from], &other = rooms()[to];
    if (!room.only.empty())
        return std::any_of(room.only.begin(), room.only.end(),
                           [&](const auto& name) { return is_in(other.name, name); });
    return to < from &&
           std::none_of(
               room.not_above.begin(), room.not_above.end(), [&](const auto& name) { return is_in(other.name, name); });
}

struct Include {
    std::string file, included;  ///< below src/
};

std::vector<Include> includes_of(const fs::path& source) {
    static const std::regex line(R"re(^\s*#\s*include\s*"([^"]+)")re");
    std::vector<Include> all;
    for (const auto& entry : fs::recursive_directory_iterator(source)) {
        const std::string extension = entry.path().extension();
        if (!entry.is_regular_file() || (extension != ".cpp" && extension != ".hpp" && extension != ".h")) continue;
        std::ifstream file(entry.path());
        for (std::string text; std::getline(file, text);) {
            std::smatch match;
            if (std::regex_search(text, match, line))
                all.push_back({fs::relative(entry.path(), source).generic_string(), match[1]});
        }
    }
    return all;
}

fs::path source_folder() {
    const char* source = std::getenv("TOSAVK_SOURCE");
    return fs::path(source != nullptr ? source : ".") / "src";
}

TEST(Structure, EveryFileStandsInARoom) {
    std::size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(source_folder())) {
        const std::string path = fs::relative(entry.path(), source_folder()).generic_string();
        if (!entry.is_regular_file() || path == "CMakeLists.txt") continue;
        EXPECT_TRUE(room_of(path)) << path << " stands in no room of the table";
        ++files;
    }
    EXPECT_GT(files, 100u) << "src/ was not found";
}

TEST(Structure, IncludesFollowTheOrderOfTheRooms) {
    std::size_t seen = 0;
    for (const auto& [file, included] : includes_of(source_folder())) {
        const auto from = room_of(file), to = room_of(included);
        if (!from || !to) {
            // What the build generates, and the public headers.
            EXPECT_TRUE(included.ends_with("_generated.h") || included.starts_with("tosavk/"))
                << file << ": " << included;
            continue;
        }
        ++seen;
        EXPECT_TRUE(may_include(*from, *to)) << file << " includes \"" << included << "\": " << rooms()[*from].name
                                             << " may not know " << rooms()[*to].name;
    }
    EXPECT_GT(seen, 300u);
}

TEST(Structure, StoreHoldsNoVulkanHandle) {
    static const std::regex handle(R"re(\bVk[A-Z]\w+|#\s*include\s*<(volk|vulkan/))re");
    for (const auto& entry : fs::recursive_directory_iterator(source_folder() / "store")) {
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        std::smatch match;
        EXPECT_FALSE(std::regex_search(text, match, handle)) << entry.path() << ": " << match.str();
    }
}

TEST(Structure, TheTableNamesRoomsThatItKnows) {
    for (const Room& room : rooms()) {
        for (const auto* names : {&room.not_above, &room.only}) {
            for (const std::string& name : *names) {
                EXPECT_TRUE(
                    std::any_of(rooms().begin(), rooms().end(), [&](const Room& r) { return is_in(r.name, name); }))
                    << room.name << ": " << name;
            }
        }
    }
}

/// Comments that say where something was measured name headings of docs/performance.md.
TEST(Structure, MeasurementsThatAreNamedStandInTheDocument) {
    std::set<std::string> headings;
    std::ifstream document(source_folder().parent_path() / "docs" / "performance.md");
    for (std::string line; std::getline(document, line);) {
        if (line.starts_with("#")) headings.insert(line.substr(line.find(' ') + 1));
    }
    EXPECT_GT(headings.size(), 5u);
    static const std::regex place(R"re(docs/performance\.md, "([^"]+)"(?: and "([^"]+)")?)re"),
        wrap(R"re(\n\s*/// ?|\n\s*// ?)re");
    std::size_t found = 0;
    for (const auto& entry : fs::recursive_directory_iterator(source_folder())) {
        const std::string extension = entry.path().extension();
        if (extension != ".cpp" && extension != ".hpp") continue;
        std::ifstream file(entry.path());
        const std::string lines{std::istreambuf_iterator<char>(file), {}}, text = std::regex_replace(lines, wrap, " ");
        for (std::sregex_iterator match(text.begin(), text.end(), place), end; match != end; ++match) {
            for (const std::size_t k : {1, 2}) {
                if (!(*match)[k].matched) continue;
                EXPECT_TRUE(headings.contains((*match)[k])) << entry.path() << ": " << (*match)[k];
                ++found;
            }
        }
    }
    EXPECT_GT(found, 10u);
}

/// A file of more than 500 lines says why in its head. clang-format keeps the width of C++ lines, this that of
/// shaders'.
TEST(Structure, LongFilesSayWhyAndLinesOfShadersAreShort) {
    constexpr std::size_t most_lines = 500;
    for (const char* folder : {"src", "bench", "tests", "include", "shaders", "scripts", "examples"}) {
        for (const auto& entry : fs::recursive_directory_iterator(source_folder().parent_path() / folder)) {
            const std::string extension = entry.path().extension();
            if (!entry.is_regular_file() || (extension != ".cpp" && extension != ".hpp" && extension != ".h" &&
                                             extension != ".comp" && extension != ".glsl" && !extension.empty()))
                continue;
            std::ifstream file(entry.path());
            std::string head;
            const bool is_shader = extension == ".comp" || extension == ".glsl";
            std::size_t lines = 0;
            for (std::string line; std::getline(file, line); ++lines) {
                if (lines < 26) head += line + "\n";
                EXPECT_LE(line.size(), is_shader ? 120u : line.size()) << entry.path() << ", line " << lines + 1;
            }
            EXPECT_TRUE(lines <= most_lines || head.find("Longer than 500 lines") != std::string::npos)
                << entry.path() << " has " << lines
                << " lines and does not say why (\"Longer than 500 lines\") in its head";
        }
    }
}

/// Where several files are compiled as one, a file's own function of numbers may be the nearer one for a file behind it
/// that means the shared one, which it then takes without a word.
TEST(Structure, FunctionsOfNumbersDoNotHideSharedOnes) {
    static const std::regex declared(
        R"re(^(?:inline |constexpr |static )*[a-z][\w:]* (\w+)\(([^()]*)\)(?: noexcept)? ?[;{])re",
        std::regex::ECMAScript | std::regex::multiline);
    static const std::regex number(
        R"re(\s*(?:const )?(?:std::)?(?:u?int\d+_t|size_t|int|unsigned|double|float|bool)\s+\w+\s*)re");
    // "name/2": how often a function of two numbers is declared there
    const auto functions_of = [&](const std::string& text) {
        std::set<std::string> names;
        for (std::sregex_iterator match(text.begin(), text.end(), declared), end; match != end; ++match) {
            const std::string parameters = (*match)[2];
            static const std::regex comma(",");
            std::sregex_token_iterator each(parameters.begin(), parameters.end(), comma, -1), none;
            const auto count = std::distance(each, none);
            if (std::all_of(each, none, [](const auto& p) { return std::regex_match(p.str(), number); }))
                names.insert((*match)[1].str() + "/" + std::to_string(count));
        }
        return names;
    };
    const auto text_of = [](const fs::path& path) {
        std::ifstream file(path);
        return std::string{std::istreambuf_iterator<char>(file), {}};
    };
    // By folder, what its headers declare.
    std::map<std::string, std::set<std::string>> shared;
    for (const auto& entry : fs::recursive_directory_iterator(source_folder())) {
        if (entry.path().extension() != ".hpp") continue;
        const std::string text = text_of(entry.path());
        if (text.find("\nnamespace tosavk {") == std::string::npos) continue;
        const std::string path = fs::relative(entry.path().parent_path(), source_folder()).generic_string();
        shared[path.starts_with("base") ? "base" : path].merge(functions_of(text));
    }
    EXPECT_TRUE(shared["frontends/tflite"].contains("divide_by_power/2")) << "the shared functions were not found";
    std::size_t own = 0;
    for (const auto& entry : fs::recursive_directory_iterator(source_folder())) {
        if (entry.path().extension() != ".cpp") continue;
        const std::string text = text_of(entry.path());
        const std::size_t begin = text.find("\nnamespace {"), end = text.find("\n}  // namespace\n");
        if (begin == std::string::npos || end == std::string::npos || end < begin) continue;
        const std::string path = fs::relative(entry.path().parent_path(), source_folder()).generic_string();
        for (const std::string& name : functions_of(text.substr(begin, end - begin))) {
            EXPECT_FALSE(shared["base"].contains(name) || shared[path].contains(name))
                << entry.path() << " has its own " << name;
            ++own;
        }
    }
    EXPECT_GT(own, 50u);
}

}  // namespace
