// What fuse_prologues() and fuse_moved() ask alike.
#pragma once

#include "compile/group/group_graph.hpp"

namespace tosavk {

/// Whether another group may make the group's values where it reads them.
bool may_be_prologue(const Group& group);

/// The one value of an elementwise group that anything outside reads, if none but `readers` do, and an int can count
/// its elements.
std::optional<ValueId> prologue_value(const GroupGraph& fusion, const Group& elementwise,
                                      const std::set<NodeId>& readers);

/// Group g with the elementwise group h as its prologue that makes `value`, and what it then needs; nothing where that
/// would be a cycle or does not fit.
struct WithPrologue {
    Group group;
    std::set<std::size_t> needs;
};
std::optional<WithPrologue> with_prologue(const GroupGraph& fusion, std::size_t g, std::size_t h, ValueId value);

}  // namespace tosavk
