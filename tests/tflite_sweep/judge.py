"""Whether our results are those of the real runtime: integers identical, floats within 1e-5 of the output's range, or
within what other runs of the real runtime (XNNPACK's kernels, other last bits) differ from its reference
kernels where that is more."""
import numpy as np

TOLERANCE = 1e-5


def measure(array):
    """What a float output's errors are shares of: its range, or its largest magnitude."""
    finite = array[np.isfinite(array)].astype(np.float64)
    if finite.size == 0:
        return 1.0
    return max(finite.max() - finite.min(), np.abs(finite).max(), float(np.finfo(np.float32).tiny))


def parts(array):
    """Complex numbers as two floats."""
    return array.view(np.float32) if array.dtype == np.complex64 else array


def deviation(ours, theirs, span=0.0):
    """The largest error as a share of `measure`, or of `span` where that is more; infinite where NaN and infinities are
    not at the same places."""
    if theirs.size == 0:
        return 0.0
    a, b = parts(ours).astype(np.float64), parts(theirs).astype(np.float64)
    odd = ~np.isfinite(b)
    if not np.array_equal(np.isnan(a), np.isnan(b)) or not np.array_equal(a[odd & ~np.isnan(b)], b[odd & ~np.isnan(b)]):
        return np.inf
    if (~np.isfinite(a) & ~odd).any():
        return np.inf
    difference = np.abs(a - b)[~odd]
    return float(difference.max() / max(measure(parts(theirs)), span)) if difference.size else 0.0


def worst_place(ours, theirs):
    a, b = parts(ours).reshape(-1), parts(theirs).reshape(-1)
    with np.errstate(invalid="ignore"):
        difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
    difference = np.where((a == b) | (np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))), 0, difference)
    difference = np.where(np.isnan(difference), np.inf, difference)
    at = int(difference.argmax())
    wrong = int((difference > 0).sum())
    return f"element {at} of {a.size} is {a[at]!s}, in TFLite {b[at]!s}; {wrong} differ"


def compare(ours, theirs, spans, others):
    """(what is wrong or "", the worst deviation of floats, whether all bits are equal). `spans` answers for every output
    the `measure` of several sets of inputs: one number near zero says little of its range. `others` yields outputs of
    other runs of the real runtime. Both are asked only where an output is not within 1e-5 of its own range."""
    worst, same = 0.0, True
    for k, (a, b) in enumerate(zip(ours, theirs)):
        if a.shape != b.shape:
            return f"output {k} has shape {list(a.shape)}, in TFLite {list(b.shape)}", worst, False
        if b.dtype.kind in "iub":
            if not np.array_equal(a, b):
                return f"output {k} ({b.dtype}): {worst_place(a, b)}", worst, False
            continue
        same = same and np.array_equal(a, b, equal_nan=True)
        error = deviation(a, b)
        bound = TOLERANCE if b.dtype != np.float16 else 1e-3
        if not error <= bound:
            span = spans()[k]
            error = deviation(a, b, span)
            if not error <= bound and not any(error <= deviation(other[k], b, span) for other in others()):
                return f"output {k} ({b.dtype}) is {error:.3g} of its range away: {worst_place(a, b)}", error, False
        worst = max(worst, error)
    return "", worst, same
