// Choices that hang on nothing but how large a problem is: how many rows a tile has, how many lanes share a sum. Plans
// for several sizes of one model make them alike, so that they share shaders and pipelines.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace tosavk {

class SizeChoices {
public:
    /// What was chosen in another plan is chosen again; what that did not ask is chosen anew. Null: everything is.
    explicit SizeChoices(std::shared_ptr<const SizeChoices> before = nullptr) : before_(std::move(before)) {}

    /// What was chosen under these names in the scope, here or in the plan before; else `now`.
    bool choose(bool now, std::string_view what, std::int64_t detail) {
        std::tuple place{scope_, std::string(what), detail};
        if (before_) {
            const auto found = before_->made_.find(place);
            if (found != before_->made_.end()) return found->second;
        }
        return made_.try_emplace(std::move(place), now).first->second;
    }

    /// Of whom the choices are.
    const std::string& scope() const { return scope_; }

    /// While it lives, choices are those of `name`; `choices` may be null.
    class Scope {
    public:
        Scope(SizeChoices* choices, std::string_view name) : choices_(choices) {
            if (choices_) outer_ = std::exchange(choices_->scope_, std::string(name));
        }
        ~Scope() {
            if (choices_) choices_->scope_ = std::move(outer_);
        }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        SizeChoices* choices_;
        std::string outer_;
    };

private:
    std::shared_ptr<const SizeChoices> before_;
    std::map<std::tuple<std::string, std::string, std::int64_t>, bool> made_;
    std::string scope_;
};

}  // namespace tosavk
