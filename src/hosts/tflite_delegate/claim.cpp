// Which nodes of a graph are claimed.
#include "hosts/tflite_delegate/kernel.hpp"
#include "hosts/tflite_delegate/operators.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace tosavk::delegate {

namespace {

/// What a partition must compute, in arithmetic operations, to be worth a submit and the copies of its ends, where the
/// runtime has the other nodes (docs/performance.md, "The TFLite delegate").
constexpr double least_work = 1e6;
/// Of looking for the node that keeps a partition from compiling; then it is left as a whole.
constexpr int most_trials = 64;

std::string numbered(const NodeRecord& node) { return "node " + std::to_string(node.index) + ", " + name_of(node); }

/// An IntArray of the runtime's form.
class IntList {
public:
    explicit IntList(const std::vector<int>& values) : words_(values.size() + 1) {
        words_[0] = static_cast<int>(values.size());
        std::copy(values.begin(), values.end(), words_.begin() + 1);
    }
    const IntArray* get() const { return reinterpret_cast<const IntArray*>(words_.data()); }

private:
    std::vector<int> words_;
};

std::vector<int> list(const IntArray* array) {
    return array == nullptr ? std::vector<int>() : std::vector<int>(array->data, array->data + array->size);
}

class Claim {
public:
    Claim(Context& context, std::shared_ptr<Session> session) : context_(context), session_(std::move(session)) {}

    void run(Delegate& delegate) {
        read_plan();
        find_candidates();
        probe_candidates();
        settle();
        publish();
        if (claimed_.empty()) return;
        find_shared();
        // To propagate shapes, the runtime would prepare nodes that it has no kernel of; our kernels resize by
        // themselves.
        if (std::any_of(claimed_.begin(), claimed_.end(), [&](int index) { return all_.at(index).is_unresolved; }))
            delegate.flags &= ~static_cast<std::int64_t>(require_propagated_shapes);
        const IntList nodes(std::vector<int>(claimed_.begin(), claimed_.end()));
        claiming_session = session_;
        const Status status = context_.replace_nodes(&context_, kernel_registration(), nodes.get(), &delegate);
        claiming_session.reset();
        if (status != status_ok) throw Refused("the runtime did not take the partitions");
    }

private:
    DelegateImpl& owner() { return *session_->owner; }

    void read_plan() {
        IntArray* plan = nullptr;
        if (context_.get_execution_plan(&context_, &plan) != status_ok || plan == nullptr)
            throw Refused("the runtime does not tell its plan");
        plan_ = list(plan);
        const auto node_at = [&](int index) {
            Node* node = nullptr;
            Registration* registration = nullptr;
            if (context_.get_node(&context_, index, &node, &registration) != status_ok || node == nullptr ||
                registration == nullptr)
                throw Refused("the runtime does not tell its nodes");
            return std::pair(node, registration);
        };
        if (plan_.empty()) return;
        const RuntimeAge age =
            age_of(plan_.front(), node_at(plan_.front()).first, plan_.back(), node_at(plan_.back()).first);
        for (const int index : plan_) {
            const auto [node, registration] = node_at(index);
            all_.emplace(index, record_of(index, *node, *registration, age));
            if (node->delegate != nullptr) sentences_[index] = "another delegate has it";
        }
    }

    /// What the runtime's own nature forbids is left before anything is asked.
    void find_candidates() {
        for (const auto& [index, record] : all_) {
            if (sentences_.contains(index)) continue;
            try {
                check_node(context_, record);
                claimed_.insert(index);
            } catch (const Refused& e) {
                sentences_[index] = e.what();
            }
        }
    }

    void probe_candidates() {
        std::vector<int> nodes;
        for (const int index : plan_) {
            if (claimed_.contains(index)) nodes.push_back(index);
        }
        if (nodes.empty()) return;
        try {
            probe(nodes);
        } catch (const std::exception& e) {
            // One of them makes the file as a whole impossible.
            owner().say(std::string("the graph is looked at node by node: ") + e.what());
            for (const int index : nodes) {
                try {
                    probe({index});
                } catch (const std::exception& single) {
                    leave(index, single.what());
                }
            }
        }
    }

    void probe(const std::vector<int>& nodes) {
        std::vector<const NodeRecord*> records;
        for (const int index : nodes) records.push_back(&all_.at(index));
        const Model model = write_model(context_, records, outputs_of(nodes, {}));
        const auto json = nlohmann::json::parse(cpp::probe(model.file, owner().options.load));
        for (const auto& entry : json.at("operators")) {
            if (entry.at("region") != "" || entry.at("taken").get<bool>()) continue;
            leave(nodes.at(entry.at("index").get<std::size_t>()), entry.at("sentence").get<std::string>());
        }
    }

    /// Of what the nodes make: what others read, what nobody reads, and what is `wanted` anyway.
    std::vector<int> outputs_of(const std::vector<int>& nodes, const std::set<int>& wanted) const {
        const std::set<int> inside(nodes.begin(), nodes.end());
        std::set<int> read_inside, read_outside;
        for (const auto& [index, record] : all_) {
            auto& readers = inside.contains(index) ? read_inside : read_outside;
            readers.insert(record.inputs.begin(), record.inputs.end());
        }
        std::vector<int> outputs;
        for (const int index : nodes) {
            for (const int output : all_.at(index).outputs) {
                if (wanted.contains(output) || read_outside.contains(output) || !read_inside.contains(output))
                    outputs.push_back(output);
            }
        }
        return outputs;
    }

    void leave(int index, const std::string& sentence) {
        claimed_.erase(index);
        sentences_[index] = sentence;
    }

    /// Until every partition that the runtime would make compiles and is worth it.
    void settle() {
        for (bool changed = true; changed && !claimed_.empty();) {
            changed = false;
            std::vector<Partition> partitions;
            // Made ready again only where the runtime draws them anew.
            for (auto& [nodes, outputs] : preview()) {
                const auto known = std::find_if(session_->partitions.begin(), session_->partitions.end(),
                                                [&](const Partition& p) { return p.nodes == nodes; });
                if (known != session_->partitions.end()) {
                    partitions.push_back(std::move(*known));
                    continue;
                }
                session_->nodes = all_;
                try {
                    partitions.push_back(make_partition(context_, *session_, nodes, outputs));
                } catch (const std::exception& e) {
                    owner().say("a partition of " + std::to_string(nodes.size()) + " nodes: " + e.what());
                    trials_ = 0;
                    drop_what_fails(nodes, {outputs.begin(), outputs.end()}, e.what());
                    changed = true;
                }
            }
            session_->partitions = std::move(partitions);
            if (!changed) changed = leave_what_is_small();
        }
        if (claimed_.empty()) session_->partitions.clear();
    }

    std::vector<std::pair<std::vector<int>, std::vector<int>>> preview() {
        if (context_.preview_partitions == nullptr) throw Refused("the runtime cannot tell partitions ahead of time");
        DelegateParams* params = nullptr;
        int count = 0;
        const IntList nodes(std::vector<int>(claimed_.begin(), claimed_.end()));
        if (context_.preview_partitions(&context_, nodes.get(), &params, &count) != status_ok)
            throw Refused("the runtime does not tell its partitions");
        std::vector<std::pair<std::vector<int>, std::vector<int>>> result;
        for (int k = 0; k < count; ++k) result.emplace_back(list(params[k].nodes), list(params[k].outputs));
        return result;
    }

    /// Leaves nodes of a partition that does not load or compile, so that its parts do.
    void drop_what_fails(const std::vector<int>& nodes, const std::set<int>& wanted, const std::string& sentence) {
        if (nodes.size() == 1 || ++trials_ > most_trials) {
            for (const int index : nodes) leave(index, sentence);
            return;
        }
        const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
        bool found = false;
        for (const std::vector<int>& half :
             {std::vector<int>(nodes.begin(), middle), std::vector<int>(middle, nodes.end())}) {
            try {
                make_partition(context_, *session_, half, outputs_of(half, wanted));
            } catch (const std::exception& e) {
                drop_what_fails(half, wanted, e.what());
                found = true;
            }
        }
        // Only together they fail: the second half is left.
        if (!found) {
            for (auto node = middle; node != nodes.end(); ++node) leave(*node, sentence);
        }
    }

    /// The rules of the options; whether nodes were left. A graph that is claimed as a whole is always worth it, since
    /// its user has asked for it and nothing changes hands inside.
    bool leave_what_is_small() {
        std::vector<Partition>& all = session_->partitions;
        const DelegateOptions& options = owner().options;
        const bool whole = all.size() == 1 && all.front().nodes.size() == plan_.size();
        std::map<const Partition*, std::string> left;
        std::map<const Partition*, double> work;
        if (!whole) {
            for (const Partition& p : all) work[&p] = work_or_none(p);
        }
        for (const Partition& p : all) {
            const std::size_t size = p.nodes.size();
            if (options.min_nodes > 0 && size < options.min_nodes) {
                left[&p] = "its partition has " + std::to_string(size) + " nodes, fewer than min_nodes";
            } else if (options.min_nodes == 0 && !whole && work[&p] < least_work) {
                left[&p] = "its partition of " + std::to_string(size) + " nodes computes too little to be worth it";
            }
        }
        std::vector<const Partition*> kept;
        for (const Partition& p : all) {
            if (!left.contains(&p)) kept.push_back(&p);
        }
        if (options.max_partitions > 0 && kept.size() > options.max_partitions) {
            std::sort(kept.begin(), kept.end(), [&](const Partition* a, const Partition* b) {
                return work[a] != work[b] ? work[a] > work[b] : a < b;
            });
            for (std::size_t k = options.max_partitions; k < kept.size(); ++k)
                left[kept[k]] = "there are larger partitions, as many as max_partitions";
        }
        for (const auto& [partition, sentence] : left) {
            for (const int node : partition->nodes) leave(node, sentence);
        }
        std::erase_if(all, [&](const Partition& p) { return !claimed_.contains(p.nodes.front()); });
        return !left.empty();
    }

    double work_or_none(const Partition& p) {
        try {
            return work_of(*p.compiled);
        } catch (const cpp::Error& e) {
            owner().say(std::string("a partition's work is not known: ") + e.what());
            return 0;
        }
    }

    /// Tensors that one partition writes and another reads.
    void find_shared() {
        std::set<int> written;
        for (const Partition& p : session_->partitions) {
            for (const int output : p.outputs) {
                if (context_.tensors[output].type != type_int64) written.insert(output);
            }
        }
        for (const Partition& p : session_->partitions) {
            for (const int input : p.inputs) {
                if (written.contains(input)) session_->shared[input];
            }
        }
        for (auto& [tensor, shared] : session_->shared) shared.handle = owner().add_handle(*session_, tensor);
        owner().count([&](tosavk_tflite_counters& c) { c.device_tensors += session_->shared.size(); });
    }

    void publish() {
        std::vector<LeftNode> left;
        for (const int index : plan_) {
            const auto sentence = sentences_.find(index);
            if (sentence == sentences_.end()) continue;
            left.push_back({index, name_of(all_.at(index)), sentence->second});
            owner().say(numbered(all_.at(index)) + ", is left: " + sentence->second);
        }
        owner().say(std::to_string(claimed_.size()) + " of " + std::to_string(plan_.size()) +
                    " nodes are claimed, in " + std::to_string(session_->partitions.size()) + " partitions");
        session_->nodes.clear();
        for (const int index : claimed_) session_->nodes.emplace(index, all_.at(index));
        owner().add_left(left);
        owner().count([&](tosavk_tflite_counters& c) {
            ++c.graphs;
            c.nodes += plan_.size();
            c.claimed_nodes += claimed_.size();
            c.partitions += session_->partitions.size();
        });
    }

    Context& context_;
    std::shared_ptr<Session> session_;
    std::vector<int> plan_;
    std::map<int, NodeRecord> all_;
    std::set<int> claimed_;
    std::map<int, std::string> sentences_;
    int trials_ = 0;
};

}  // namespace

void claim(Context& context, Delegate& delegate, const std::shared_ptr<DelegateImpl>& impl) {
    auto session = std::make_shared<Session>();
    session->owner = impl;
    session->delegate = &delegate;
    try {
        session->device = open_device(impl->options);
    } catch (const cpp::Error& e) {
        // Who names a device wants that one; who names none is served without any, too.
        if (!impl->options.device.empty()) throw;
        impl->warn_once(e.what(), "every node is left to the runtime");
        return;
    }
    Claim(context, std::move(session)).run(delegate);
}

}  // namespace tosavk::delegate
