#version 450
// The workgroups of a loop's body for vkCmdDispatchIndirect: as planned where the loop goes on, else none. Complete as
// it stands.
layout(local_size_x_id = 1000) in;
layout(constant_id = 0) const uint COUNT = 1;  // numbers: three for each dispatch

layout(set = 0, binding = 0) readonly buffer Answer { uint answer[]; };  // a bool in its lowest byte
layout(set = 0, binding = 1) readonly buffer Planned { uint planned[]; };
layout(set = 0, binding = 2) writeonly buffer Arguments { uint arguments[]; };

void main() {
    uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    uint i = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i < COUNT) arguments[i] = (answer[0] & 0xFFu) != 0u ? planned[i] : 0u;
}
