#include "graph/constant_bytes.hpp"

namespace tosavk {

void ConstantBytes::forget_expired() {
    const auto expired = [](const auto& entry) { return entry.second.owner.expired(); };
    std::erase_if(by_digest_, expired);
    std::erase_if(by_place_, expired);
}

void ConstantBytes::share(Graph& graph) {
    const std::lock_guard lock(mutex_);
    forget_expired();
    for (Value& value : graph.values) {
        if (!value.is_constant()) continue;
        const Digest digest = sha256(*value.data);
        const auto found = by_digest_.find(digest);
        auto owner = found != by_digest_.end() ? found->second.owner.lock() : nullptr;
        if (owner) value.data = SharedBytes(found->second.bytes, std::move(owner));
        const Known known{*value.data, value.data.owner(), digest};
        by_digest_.insert_or_assign(digest, known);
        by_place_.insert_or_assign(value.data->data(), known);
    }
}

Digest ConstantBytes::digest(const SharedBytes& bytes) {
    {
        const std::lock_guard lock(mutex_);
        const auto found = by_place_.find(bytes->data());
        if (found != by_place_.end() && found->second.owner.lock() == bytes.owner() &&
            found->second.bytes.size() == bytes->size())
            return found->second.digest;
    }
    return sha256(*bytes);
}

}  // namespace tosavk
