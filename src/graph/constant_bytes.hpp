// Constants of graphs that were made of one file for different sizes: equal ones share their bytes.
#pragma once

#include "base/digest.hpp"
#include "graph/graph.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <span>

namespace tosavk {

/// Thread-safe. Keeps no bytes alive.
class ConstantBytes {
public:
    /// Constants of the graph (not those of its regions) become those that an earlier graph has, where they are equal.
    void share(Graph& graph);
    /// Of what was shared it is known, else made.
    Digest digest(const SharedBytes& bytes);

private:
    struct Known {
        std::span<const std::byte> bytes;
        std::weak_ptr<const void> owner;
        Digest digest;
    };
    void forget_expired();

    std::mutex mutex_;
    std::map<Digest, Known> by_digest_;
    std::map<const std::byte*, Known> by_place_;
};

}  // namespace tosavk
