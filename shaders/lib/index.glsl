// Which invocation this is, counted over a dispatch whose workgroups may spill from x into y.
uint workgroup_index() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
uint invocation_index() { return workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }

// REPEAT(BODY): BODY(0) .. BODY(STEPS - 1). Innermost loops take STEPS steps in a pass, because a driver may bound the
// passes of all loops of an invocation (DevicePlan::max_loop_passes); BODY leaves out steps past the end.
#ifndef STEPS
#define STEPS 1
#endif
#if STEPS == 8
#define REPEAT(BODY) BODY(0) BODY(1) BODY(2) BODY(3) BODY(4) BODY(5) BODY(6) BODY(7)
#else
#define REPEAT(BODY) BODY(0)
#endif
