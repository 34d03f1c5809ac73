#extension GL_EXT_control_flow_attributes : require
// What functions of one element call where those of four compare (compile/codegen/single_elements.cpp).
#define LESS_1(a, b) ((a) < (b))
#define LESS_EQUAL_1(a, b) ((a) <= (b))
#define GREATER_1(a, b) ((a) > (b))
#define GREATER_EQUAL_1(a, b) ((a) >= (b))
#define EQUAL_1(a, b) ((a) == (b))
#define NOT_EQUAL_1(a, b) ((a) != (b))
#define ANY_1(a) (a)
#define NOT_1(a) (!(a))
