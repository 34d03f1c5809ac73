"""The rows: by name ("OPERATOR types"), what makes a random model of it. Each file registers a family."""
import importlib

ROWS = {}


def row(operator, *kinds):
    """Registers the function for each of the kinds: it gets the model and the kind, and makes everything."""
    def register(function):
        for kind in kinds:
            name = f"{operator} {kind}"
            assert name not in ROWS, name
            ROWS[name] = lambda m, kind=kind: function(m, kind)
        return function
    return register


for family in ("elementwise", "arithmetic", "conv", "pool", "reduce", "movement", "indexed", "resize", "normalization",
               "hybrid", "recurrent", "control", "chains", "halves", "unlike", "shapes", "wide"):
    importlib.import_module(f"rows.{family}")
