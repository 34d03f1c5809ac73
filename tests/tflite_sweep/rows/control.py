"""Control flow, variables that several operators share, graphs behind one operator."""
from flatbuffers import flexbuffers

from rows import row
from rows.elementwise import integers


def body_of(m, name, kind, shape, steps):
    """A subgraph of one tensor to one."""
    number = m.subgraph(name)
    x = m.input(kind, shape, None)
    y = x
    for operator, table in steps:
        constant = m.const(kind, m.values(kind, shape))
        y = m.op(operator, [y, constant], [m.between(kind, shape)], table)
    m.output(y)
    m.main()
    return number


CHOICES = (("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MAXIMUM", "MaximumMinimumOptions"))


@row("IF", "f32", "i32")
def if_(m, kind):
    shape = m.shape(ranks=(1, 3))
    condition = m.input("bool", m.pick((), (1,)))
    x = m.input(kind, shape, None, integers(-1000, 1000) if kind == "i32" else None)
    then = body_of(m, "then", kind, shape, [m.pick(*CHOICES)])
    other = body_of(m, "else", kind, shape, [m.pick(*CHOICES), m.pick(*CHOICES)])
    m.output(m.op("IF", [condition, x], [(kind,)], "IfOptions", then_subgraph_index=then, else_subgraph_index=other))


@row("WHILE", "f32", "i32", "f32 recorded-otherwise")
def while_(m, kind):
    """At times the subgraphs record other shapes than they are given."""
    kind, _, form = kind.partition(" ")
    shape = m.shape(ranks=(1, 3))
    inside = (1,) * len(shape) if form else shape
    count = m.input("i32", (), None, integers(0, 6))
    x = m.input(kind, shape, None, integers(-1000, 1000) if kind == "i32" else None)
    condition = m.subgraph("condition")
    n, _ = m.input("i32", (), None), m.input(kind, inside, None)
    m.output(m.op("GREATER", [n, m.const("i32", 0)], [m.between("bool", ())], "GreaterOptions"))
    body = m.subgraph("body")
    n, y = m.input("i32", (), None), m.input(kind, inside, None)
    less = m.op("SUB", [n, m.const("i32", 1)], [m.between("i32", ())], "SubOptions")
    operator, table = m.pick(*CHOICES)
    m.output(less, m.op(operator, [y, m.const(kind, m.values(kind, shape))], [m.between(kind, inside)], table))
    m.main()
    m.output(*m.op("WHILE", [count, x], [("i32",), (kind,)], "WhileOptions", cond_subgraph_index=condition,
                   body_subgraph_index=body))


@row("READ_VARIABLE", "f32", "i32")
def variables(m, kind):
    """CALL_ONCE gives a variable its first value; each run adds to it."""
    shape = m.shape(ranks=(1, 3))
    first = m.subgraph("initialize")
    handle = m.op("VAR_HANDLE", [], [m.between("resource", ())], "VarHandleOptions", container="", shared_name="state")
    m.op("ASSIGN_VARIABLE", [handle, m.const(kind, m.values(kind, shape))], [m.between("resource")],
         "AssignVariableOptions")
    m.graph.operators[-1]["outputs"] = []
    m.graph.tensors.pop()
    m.main()
    m.steps, m.resources = 3, True
    x = m.input(kind, shape, None, integers(-1000, 1000) if kind == "i32" else None)
    m.op("CALL_ONCE", [], [m.between("i32")], "CallOnceOptions", init_subgraph_index=first)
    m.graph.operators[-1]["outputs"] = []
    m.graph.tensors.pop()
    handle = m.op("VAR_HANDLE", [], [m.between("resource", ())], "VarHandleOptions", container="", shared_name="state")
    before = m.op("READ_VARIABLE", [handle], [m.between(kind, shape)], "ReadVariableOptions")
    after = m.op("ADD", [before, x], [(kind,)], "AddOptions")
    m.graph.operators.append({"opcode_index": m.codes.index(("ASSIGN_VARIABLE", None, 1)),
                              "inputs": [handle.index, after.index], "outputs": [],
                              "builtin_options": ("AssignVariableOptions", {})})
    m.output(m.op("SUB", [after, m.const(kind, m.values(kind, (1,)))], [(kind,)], "SubOptions"))


def attributes():
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("axis"), builder.Int(1)
    return bytes(builder.Finish())


@row("STABLEHLO_COMPOSITE", "f32")
def composite(m, kind):
    shape = m.shape(ranks=(1, 3))
    x = m.input(kind, shape)
    number = body_of(m, "decomposition", kind, shape, [m.pick(*CHOICES), m.pick(*CHOICES)])
    m.output(m.op("STABLEHLO_COMPOSITE", [x], [(kind,)], "StableHLOCompositeOptions", name="test.composite", composite_attributes=attributes(),
                  decomposition_subgraph_index=number, version=1))
