"""Compiled loops of the trees; each has its plain twin in tests/reference.py."""

from heapq import heappop, heappush

import numpy as np

from invariance._core.compilation import compiled

# The rows of up to this many samples stay in the cache while all descendants of their node are grown, so features are
# read from the rows; in larger nodes, from the columns.
FEW_SAMPLES = 2048

# Gains are compared in steps of 1e-12, so that equal ones are equal however they were summed.
GAIN_STEPS = 1e12

# Columns processed together, so that their masks and features stay in a fast cache.
GROUP = 256
ALL_LEAVES = np.uint32(0xFFFFFFFF)
# A power of two as a float32: its exponent begins at this bit and is this much too large.
EXPONENT_BIT, EXPONENT_BIAS = np.uint32(23), np.uint32(127)

# splitmix64: the state is raised by a constant before every draw and scrambled. Numba's own generator is shared by all
# calls on a thread, so that trees would depend on which thread grows them.
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_11, _27, _30, _31, _32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@compiled
def random_bits(state):
    """64 random bits; state (1,) uint64 moves on."""
    state[0] += _STEP
    bits = state[0]
    bits = (bits ^ (bits >> _30)) * _FIRST
    bits = (bits ^ (bits >> _27)) * _SECOND
    return bits ^ (bits >> _31)


@compiled
def random_below(state, n):
    """A whole number from 0 to n - 1, for n below 2^32."""
    return np.int64(((random_bits(state) >> _32) * np.uint64(n)) >> _32)


@compiled
def grow_nodes(rows, columns, codes, order, x_log_x, supervised, max_trials, min_score, midway, seed, nodes):
    """Fill `nodes` (feature, threshold, left, gain), each long enough for 2n - 1, and return how many there are.

    rows (n, d) float32 and columns (d, n), its transpose; codes (n,) of the classes; order (n,) int32 the samples
    sorted by class, which is rearranged; x_log_x (n + 1,) a table. A node is a range of `order`, sorted by class like
    the whole, so that the classes on a side are counted segment by segment, without reading a label:

        order   | a a a a b b c c c c c |   ->   | a b b c c | a a a c c c |
    """
    feature, threshold, left, gain = nodes
    n_samples = len(order)
    state = np.array([seed], np.uint64)
    first, last = np.empty(len(feature), np.int64), np.empty(len(feature), np.int64)
    waiting = np.empty(n_samples, np.int64)
    values, moved = np.empty(n_samples, np.float32), np.empty(n_samples, np.int32)
    ends = np.empty(n_samples, np.int64)
    first[0], last[0], waiting[0] = 0, n_samples, 0
    n_nodes, n_waiting = 1, 1
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        members = order[first[node] : last[node]]
        feature[node], threshold[node], left[node], gain[node] = -1, 0, -1, 0
        n_segments = mark_segments(members, codes, ends)
        if len(members) < 2 or (supervised and n_segments == 1):
            continue
        chosen, cut, information = choose_test(
            rows, columns, members, ends[:n_segments], x_log_x, supervised, max_trials, min_score, midway, state, values
        )
        if chosen < 0:
            continue
        gather(rows, columns, members, chosen, values)
        middle = first[node] + part_stably(members, values, cut, moved)
        feature[node], threshold[node], left[node] = chosen, cut, n_nodes
        gain[node] = information * len(members) / n_samples
        first[n_nodes], last[n_nodes] = first[node], middle
        first[n_nodes + 1], last[n_nodes + 1] = middle, last[node]
        # The left child is taken first: its samples are still in the cache.
        waiting[n_waiting], waiting[n_waiting + 1] = n_nodes + 1, n_nodes
        n_nodes, n_waiting = n_nodes + 2, n_waiting + 2
    return n_nodes


@compiled
def grow_best_first(
    rows, columns, codes, order, x_log_x, supervised, max_trials, min_score, midway, seed, min_gain, nodes
):
    """As `grow_nodes`, pruning while it grows: the node of largest gain is split next, until `nodes` are full.

    A node whose test has a gain below `min_gain` is not split. A node's test is drawn when the node is made, so that
    its gain is known; `nodes`, each as long as the tree may have nodes, hold the test while the node waits. Ties go to
    the node that was made first.
    """
    feature, threshold, left, gain = nodes
    n_samples = len(order)
    state = np.array([seed], np.uint64)
    first, last = np.empty(len(feature), np.int64), np.empty(len(feature), np.int64)
    values, moved = np.empty(n_samples, np.float32), np.empty(n_samples, np.int32)
    ends = np.empty(n_samples, np.int64)
    first[0], last[0] = 0, n_samples
    waiting = [(0.0, 0)]
    waiting.clear()  # numba has learned the types
    n_nodes, n_drawn = 1, 0
    while True:
        while n_drawn < n_nodes:
            node = n_drawn
            n_drawn += 1
            members = order[first[node] : last[node]]
            feature[node], threshold[node], left[node], gain[node] = -1, 0, -1, 0
            n_segments = mark_segments(members, codes, ends)
            if len(members) < 2 or (supervised and n_segments == 1):
                continue
            chosen, cut, information = choose_test(
                rows, columns, members, ends[:n_segments],
                x_log_x, supervised, max_trials, min_score, midway, state, values,
            )  # fmt: skip
            gained = information * len(members) / n_samples
            if chosen >= 0 and gained >= min_gain:
                feature[node], threshold[node], gain[node] = chosen, cut, gained
                heappush(waiting, (-np.floor(gained * GAIN_STEPS + 0.5), node))
        if len(waiting) == 0 or n_nodes + 2 > len(feature):
            break
        node = heappop(waiting)[1]
        members = order[first[node] : last[node]]
        gather(rows, columns, members, feature[node], values)
        middle = first[node] + part_stably(members, values, threshold[node], moved)
        left[node] = n_nodes
        first[n_nodes], last[n_nodes] = first[node], middle
        first[n_nodes + 1], last[n_nodes + 1] = middle, last[node]
        n_nodes += 2
    for _, node in waiting:
        feature[node], threshold[node], gain[node] = -1, 0, 0
    return n_nodes


@compiled
def choose_test(rows, columns, members, ends, x_log_x, supervised, max_trials, min_score, midway, state, values):
    """(feature, threshold, information) of the best of `max_trials` random tests, or of the first to reach `min_score`.

    If all features drawn are constant, the others are looked through for one that is not; feature -1 if there is none.
    """
    best_feature, best_cut, best_score, best_information = -1, np.float32(0), -1.0, 0.0
    n_features, feature = len(columns), 0
    for trial in range(max_trials + n_features):
        if trial < max_trials:
            feature = random_below(state, n_features)
        elif best_feature < 0:
            feature = (feature + 1) % n_features
        else:
            break
        low, high = gather(rows, columns, members, feature, values)
        if low == high:
            continue
        cut = draw_threshold(values[: len(members)], low, high, midway, state)
        score, information = score_test(values, cut, ends, x_log_x, supervised)
        if score > best_score:
            best_feature, best_cut, best_score, best_information = feature, cut, score, information
            if score >= min_score:
                break
    return best_feature, best_cut, best_information


@compiled
def gather(rows, columns, members, feature, values):
    """Fill `values` with one feature of the members; its smallest and largest value."""
    if len(members) <= FEW_SAMPLES:
        return _take(rows[:, feature], members, values)
    return _take(columns[feature], members, values)


@compiled
def _take(source, members, values):
    # One pass: while a value is waited for, those before it are compared.
    low = high = source[members[0]]
    for i in range(len(members)):
        value = source[members[i]]
        values[i] = value
        low = value if value < low else low
        high = value if value > high else high
    return low, high


@compiled
def draw_threshold(values, low, high, midway, state):
    """A threshold in [low, high), so that neither side is empty: midway between two values, or uniform."""
    if midway:
        one, other = values[random_below(state, len(values))], values[random_below(state, len(values))]
        cut = np.float32(0.5 * (np.float64(one) + np.float64(other)))
    else:
        share = np.float64(random_bits(state) >> _11) * 2.0**-53
        cut = np.float32(low + share * (np.float64(high) - np.float64(low)))
    return cut if cut < high else low


@compiled
def score_test(values, cut, ends, x_log_x, supervised):
    """(score, information) of the test value <= cut, with the entropies in bits of classes, sides, and both.

    A node's entropy times its samples is n log n - Σ n_c log n_c, so all of them are sums of entries of a table.
    Supervised: 2 I(C,T) / (H_C + H_T), and I(C,T). Else: the smaller side's share of the larger, and H_T.
    """
    classes, both = 0.0, 0.0
    start, n_left = 0, 0
    for end in ends:
        here = 0
        for i in range(start, end):
            here += values[i] <= cut
        classes += x_log_x[end - start]
        both += x_log_x[here] + x_log_x[end - start - here]
        n_left += here
        start = end
    n_right = start - n_left
    whole, sides = x_log_x[start], x_log_x[n_left] + x_log_x[n_right]
    if not supervised:
        return min(n_left, n_right) / max(n_left, n_right), (whole - sides) / start
    information = max(0.0, whole - classes - sides + both)
    return 2 * information / (2 * whole - classes - sides), information / start


@compiled
def mark_segments(members, codes, ends):
    """Fill `ends` with where each class ends among members sorted by class; how many classes there are."""
    n_segments = 0
    for i in range(1, len(members)):
        if codes[members[i]] != codes[members[i - 1]]:
            ends[n_segments] = i
            n_segments += 1
    ends[n_segments] = len(members)
    return n_segments + 1


@compiled
def part_stably(members, values, cut, moved):
    """Bring the members whose value is at most `cut` to the front, keeping the order on both sides; how many."""
    n_left, n_right = 0, 0
    for i in range(len(members)):
        if values[i] <= cut:
            members[n_left] = members[i]
            n_left += 1
        else:
            moved[n_right] = members[i]
            n_right += 1
    for i in range(n_right):
        members[n_left + i] = moved[i]
    return n_left


@compiled
def follow_nodes(rows, leaves, roots, feature, threshold, following):
    """Fill leaves (n, t) with the leaf that every row (n, d) reaches from every root (t,).

    `following` is the left child of a node, whose right neighbour is the right child. The trees are walked side by
    side, so that the next nodes of all of them are waited for at once; a leaf has the feature -1 - its number.
    """
    row = np.empty(rows.shape[1], np.float32)
    places = np.empty(len(roots), np.int64)
    for i in range(len(rows)):
        # Read from end to end, a row is there much sooner than by jumps.
        for k in range(len(row)):
            row[k] = rows[i, k]
        for tree in range(len(roots)):
            places[tree] = roots[tree]
        is_moving = True
        while is_moving:
            is_moving = False
            for tree in range(len(roots)):
                node = places[tree]
                asked = feature[node]
                if asked >= 0:
                    places[tree] = following[node] + (row[asked] > threshold[node])
                    is_moving = True
        for tree in range(len(roots)):
            leaves[i, tree] = -1 - feature[places[tree]]


@compiled
def count_classes(leaves, codes, counts):
    """Add to counts (n_leaves, n_classes) the samples of every class in every leaf; leaves (n, t), codes (n,)."""
    for i in range(len(leaves)):
        for tree in range(leaves.shape[1]):
            counts[leaves[i, tree], codes[i]] += 1


@compiled
def add_trees(features, first_test, feature, threshold, kept, first_leaf, value, scores):
    """Add to scores (n,) the value of the leaf that every column of features (F, n) float32 reaches in every tree.

    Paths are not followed: the leaves of a tree are bits, from left to right, and every test that sends a column to the
    right clears the bits of the leaves on its left; the lowest remaining bit is the leaf. All columns do the same work,
    so that the compiler can vectorise it.
    """
    n_features, n_columns = features.shape
    near = np.zeros((n_features, GROUP), np.float32)
    leaves = np.empty(GROUP, np.uint32)
    sums = np.empty(GROUP, np.float64)
    # Loops are as long as a group, even if it has fewer columns: their length is then known when they are compiled.
    for start in range(0, n_columns, GROUP):
        stop = min(start + GROUP, n_columns)
        for k in range(n_features):
            for i in range(stop - start):
                near[k, i] = features[k, start + i]
        sums[:] = 0
        for tree in range(len(first_leaf)):
            for i in range(GROUP):
                leaves[i] = ALL_LEAVES
            first, end = first_test[tree], first_test[tree + 1]
            # Two tests at a time, as reading and writing the masks takes as long as the tests.
            for test in range(first, end - 1, 2):
                one, one_limit, one_rest = near[feature[test]], threshold[test], kept[test]
                two, two_limit, two_rest = near[feature[test + 1]], threshold[test + 1], kept[test + 1]
                for i in range(GROUP):
                    after_one = one_rest if one[i] > one_limit else ALL_LEAVES
                    after_two = two_rest if two[i] > two_limit else ALL_LEAVES
                    leaves[i] &= after_one & after_two
            if (end - first) % 2:
                one, one_limit, one_rest = near[feature[end - 1]], threshold[end - 1], kept[end - 1]
                for i in range(GROUP):
                    leaves[i] &= one_rest if one[i] > one_limit else ALL_LEAVES
            values = value[first_leaf[tree] :]
            for i in range(GROUP):
                lowest = np.float32(leaves[i] & (~leaves[i] + np.uint32(1)))
                sums[i] += values[(lowest.view(np.uint32) >> EXPONENT_BIT) - EXPONENT_BIAS]
        for i in range(stop - start):
            scores[start + i] += sums[i]
