#include "compile/codegen/statements.hpp"

namespace tosavk {

std::size_t Scope::add(Quads quads, const QuadText& text) {
    std::vector<std::string> texts;
    for (const char* quad : quads) texts.push_back(text(quad));
    statements_.push_back(std::move(texts));
    return statements_.size() - 1;
}

void Scope::add_once(std::string text) {
    if (!text.empty()) statements_.push_back({std::move(text)});
}

std::string Scope::text() const {
    std::string all;
    for (const auto& texts : statements_) {
        for (const std::string& text : texts) all += text;
    }
    return all;
}

std::string Scope::take() {
    std::string all = text();
    clear();
    return all;
}

}  // namespace tosavk
