// A sparse tensor is a tree: one level for each dimension, in the order of `traversal_order`, then one for each that
// blocks are cut along. A dense level has all its places; one in CSR form lists those that are there.
#include "frontends/tflite/sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tosavk {

namespace {

constexpr std::int64_t max_elements = std::int64_t{1} << 28;

struct SparseLevel {
    bool dense = true;
    std::int64_t size = 0;                        ///< of a dense level: places; of another: what indices stay below
    std::vector<std::int64_t> segments, indices;  ///< CSR
};

template <class Values> std::vector<std::int64_t> widened(const Values* values) {
    return values ? std::vector<std::int64_t>(values->begin(), values->end()) : std::vector<std::int64_t>();
}

std::vector<std::int64_t> read_vector(const void* vector, tflite::SparseIndexVector type) {
    switch (type) {
        case tflite::SparseIndexVector::Int32Vector:
            return widened(static_cast<const tflite::Int32Vector*>(vector)->values());
        case tflite::SparseIndexVector::Uint16Vector:
            return widened(static_cast<const tflite::Uint16Vector*>(vector)->values());
        case tflite::SparseIndexVector::Uint8Vector:
            return widened(static_cast<const tflite::Uint8Vector*>(vector)->values());
        default: return {};
    }
}

class Densifier {
public:
    Densifier(const TfliteTensor& tensor, std::size_t element) : tensor_(tensor), element_(element) {}

    Bytes run() {
        read();
        Bytes out(static_cast<std::size_t>(element_count(tensor_.shape)) * element_);
        at_.assign(levels_.size(), 0);
        most_visits_ = (element_count(tensor_.shape) + 1) * static_cast<std::int64_t>(levels_.size());
        fill(out, 0, 0);
        if (next_ != tensor_.data.size())
            throw fmt::format("it describes {} elements, but there are {}", next_ / element_,
                              tensor_.data.size() / element_);
        return out;
    }

private:
    void read() {
        const tflite::SparsityParameters& s = *tensor_.sparsity;
        const std::size_t rank = tensor_.shape.size();
        order_ = widened(s.traversal_order());
        blocks_ = widened(s.block_map());
        if (element_count(tensor_.shape) > max_elements) throw std::string("it has more than 2^28 elements");
        if (order_.size() != rank + blocks_.size())
            throw fmt::format("its traversal order has {} entries for {} dimensions and {} blocks", order_.size(), rank,
                              blocks_.size());
        std::vector<bool> seen(order_.size(), false);
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const std::int64_t d = order_[i];
            const std::size_t first = i < rank ? 0 : rank, last = i < rank ? rank : order_.size();
            if (d < static_cast<std::int64_t>(first) || d >= static_cast<std::int64_t>(last) ||
                seen[static_cast<std::size_t>(d)])
                throw fmt::format("its traversal order has {} at place {}", d, i);
            seen[static_cast<std::size_t>(d)] = true;
        }
        if (!s.dim_metadata() || s.dim_metadata()->size() != order_.size())
            throw fmt::format("it describes {} levels, but has {}", s.dim_metadata() ? s.dim_metadata()->size() : 0,
                              order_.size());
        for (const tflite::DimensionMetadata* m : *s.dim_metadata()) levels_.push_back(read_level(*m));
        size_levels(rank);
    }

    static SparseLevel read_level(const tflite::DimensionMetadata& m) {
        SparseLevel level;
        level.dense = m.format() == tflite::DimensionType::DENSE;
        if (!level.dense && m.format() != tflite::DimensionType::SPARSE_CSR)
            throw fmt::format("a level has the unknown format {}", static_cast<int>(m.format()));
        if (level.dense) {
            level.size = m.dense_size();
            return level;
        }
        level.segments = read_vector(m.array_segments(), m.array_segments_type());
        level.indices = read_vector(m.array_indices(), m.array_indices_type());
        return level;
    }

    /// What each level must have: blocks of a dimension times places within a block are the dimension.
    void size_levels(std::size_t rank) {
        std::vector<std::int64_t> outer = tensor_.shape;
        std::vector<bool> cut(rank, false);
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            const std::int64_t d = blocks_[b];
            if (d < 0 || d >= static_cast<std::int64_t>(rank) || cut[static_cast<std::size_t>(d)])
                throw fmt::format("its block map has {} at place {}", d, b);
            cut[static_cast<std::size_t>(d)] = true;
            const SparseLevel& level = levels_[rank + b];
            const std::int64_t whole = outer[static_cast<std::size_t>(d)];
            if (!level.dense || level.size < 1 || whole % level.size != 0)
                throw fmt::format("blocks of {} do not divide a dimension of {}", level.size, whole);
            outer[static_cast<std::size_t>(d)] = whole / level.size;
        }
        // The level at rank + b is that of block b, whose number is read from the order.
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            if (order_[rank + b] != static_cast<std::int64_t>(rank + b))
                throw std::string("blocks in another order than they are numbered are not supported");
        }
        for (std::size_t i = 0; i < rank; ++i) {
            SparseLevel& level = levels_[i];
            const std::int64_t size = outer[static_cast<std::size_t>(order_[i])];
            if (level.dense && level.size != size)
                throw fmt::format("level {} has {} places instead of {}", i, level.size, size);
            level.size = size;
        }
    }

    void fill(Bytes& out, std::size_t depth, std::int64_t before) {
        if (depth == levels_.size()) return store(out);
        if (++visited_ > most_visits_) throw std::string("its levels name places several times");
        const SparseLevel& level = levels_[depth];
        if (level.dense) {
            for (std::int64_t i = 0; i < level.size; ++i) {
                at_[depth] = i;
                fill(out, depth + 1, before * level.size + i);
            }
            return;
        }
        const auto row = static_cast<std::size_t>(before);
        if (row + 1 >= level.segments.size()) throw fmt::format("level {} has too few segments", depth);
        const std::int64_t from = level.segments[row], to = level.segments[row + 1];
        if (from < 0 || to < from || to > static_cast<std::int64_t>(level.indices.size()))
            throw fmt::format("level {} has the segment {} to {} of {} indices", depth, from, to, level.indices.size());
        for (std::int64_t i = from; i < to; ++i) {
            at_[depth] = level.indices[static_cast<std::size_t>(i)];
            if (at_[depth] < 0 || at_[depth] >= level.size)
                throw fmt::format("level {} has the index {}, but {} places", depth, at_[depth], level.size);
            fill(out, depth + 1, i);
        }
    }

    void store(Bytes& out) {
        const std::size_t rank = tensor_.shape.size();
        Shape place(rank, 0);
        for (std::size_t i = 0; i < rank; ++i) place[static_cast<std::size_t>(order_[i])] = at_[i];
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            std::int64_t& p = place[static_cast<std::size_t>(blocks_[b])];
            p = p * levels_[rank + b].size + at_[rank + b];
        }
        std::int64_t flat = 0;
        for (std::size_t d = 0; d < rank; ++d) flat = flat * tensor_.shape[d] + place[d];
        if (tensor_.data.size() - next_ < element_)
            throw fmt::format("it describes more elements than the {} there are", tensor_.data.size() / element_);
        std::memcpy(out.data() + static_cast<std::size_t>(flat) * element_, tensor_.data.data() + next_, element_);
        next_ += element_;
    }

    const TfliteTensor& tensor_;
    const std::size_t element_;
    std::vector<std::int64_t> order_, blocks_;
    std::vector<SparseLevel> levels_;
    std::vector<std::int64_t> at_;
    std::size_t next_ = 0;
    std::int64_t visited_ = 0, most_visits_ = 0;
};

}  // namespace

Bytes densify(const TfliteTensor& tensor, std::size_t element, std::string& error) {
    try {
        return Densifier(tensor, element).run();
    } catch (const std::string& what) {
        error = what;
        return {};
    }
}

}  // namespace tosavk
