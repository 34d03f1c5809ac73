// Statements of generated code, made for one quad of elements, or for two that take turns: while one waits for a
// result, the other goes on.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tosavk {

/// The suffixes of the quads that statements are made for.
inline constexpr const char* one_quad[] = {""};
inline constexpr const char* two_quads[] = {"_a", "_b"};
using Quads = std::span<const char* const>;

/// A name in generated code: the same for all quads, or of each quad its own.
struct Name {
    std::string text;
    bool of_each = false;

    std::string of(const char* quad) const { return of_each ? text + quad : text; }
};

/// Text for one of the quads, given its suffix.
using QuadText = std::function<std::string(const char* quad)>;

/// Statements in the order in which they are written, indented and with their line ends.
class Scope {
public:
    /// A statement of each quad. What `text` adds to the scope while it is asked comes before it. Returns its number.
    std::size_t add(Quads quads, const QuadText& text);
    /// One for all quads together, or several that have been written already.
    void add_once(std::string text);
    /// Another quad's text for a statement that has those of the quads before it.
    void extend(std::size_t statement, std::string text) { statements_.at(statement).push_back(std::move(text)); }

    bool empty() const { return statements_.empty(); }
    void clear() { statements_.clear(); }
    /// All statements, each for its quads in turn.
    std::string text() const;
    /// The same; the scope is empty afterwards.
    std::string take();

private:
    std::vector<std::vector<std::string>> statements_;  ///< of each, the texts of its quads
};

}  // namespace tosavk
