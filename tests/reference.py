"""Slow, plain twins of everything that was made fast: the oracles of the tests."""

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy import optimize, sparse, stats
from sklearn.svm import SVC


def warp_image(image, homography, border):
    """Read every pixel of the result at homography @ (x, y, 1) of the source, one pixel at a time, bilinearly."""
    height, width = image.shape
    result = np.zeros((height, width))
    for row in range(height):
        for col in range(width):
            x, y, depth = homography @ [col - (width - 1) / 2, row - (height - 1) / 2, 1.0]
            source_row, source_col = y / depth + (height - 1) / 2, x / depth + (width - 1) / 2
            top, left = math.floor(source_row + 1e-9), math.floor(source_col + 1e-9)
            for r, row_weight in ((top, top + 1 - source_row), (top + 1, source_row - top)):
                for c, col_weight in ((left, left + 1 - source_col), (left + 1, source_col - left)):
                    result[row, col] += row_weight * col_weight * pixel_or_border(image, r, c, border)
    return result


def pixel_or_border(image, row, col, border):
    """One pixel, or what the border puts in its place."""
    height, width = image.shape
    if 0 <= row < height and 0 <= col < width:
        return image[row, col]
    if border == "zero":
        return 0.0
    mode = {"edge": "edge", "reflect": "reflect", "wrap": "wrap"}[border]
    margin = 3 * max(height, width)
    return np.pad(image, margin, mode=mode)[row + margin, col + margin]


# --- jungles: the algorithm of [Laptev15] word for word ---------------------------------------------------------------


class LiteralFilter(NamedTuple):
    """theta (h, w[, c]), its bias, its E, and how often E was evaluated."""

    theta: np.ndarray
    bias: float
    objective: float
    n_evaluations: int


def normalized_illumination(image, width):
    """An image (h, w[, c]) over its blur, pixel by pixel, each channel at its own brightness; then standardized."""
    line = gaussian_weights(width, truncate=4.0)
    weights, reach = np.outer(line, line), len(line) // 2
    planes = image[..., None] if image.ndim == 2 else image
    divided = np.zeros(planes.shape)
    for channel in range(planes.shape[2]):
        padded = np.pad(planes[..., channel], reach, mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape)
        blurred = np.array([[np.sum(window * weights) for window in row] for row in windows])
        divided[..., channel] = planes[..., channel] / blurred * blurred.mean()
    return ((divided - divided.mean()) / divided.std()).reshape(image.shape)


def transform_patches(images, phi, n_block=250):
    """Every patch under every member of Φ: (n, h, w[, c]) -> (n, T, d), in the precision of the images."""
    operators = phi.operators(images.shape[1:])
    transformed = np.empty((len(images), len(operators), images[0].size), images.dtype)
    for start in range(0, len(images), n_block):
        block = operators.apply(images[start : start + n_block])
        transformed[start : start + n_block] = block.reshape(*block.shape[:2], -1)
    return transformed


def differences_matrix(image_shape):
    """Γ of eq. (5), (m, d) sparse: the differences of vertical, then of horizontal neighbours, a row each."""
    places = np.arange(math.prod(image_shape)).reshape(image_shape)
    pairs = [
        *zip(places[:-1].ravel(), places[1:].ravel(), strict=True),
        *zip(places[:, :-1].ravel(), places[:, 1:].ravel(), strict=True),
    ]
    gamma = sparse.lil_matrix((len(pairs), places.size))
    for row, (here, there) in enumerate(pairs):
        gamma[row, here], gamma[row, there] = -1, 1
    return gamma.tocsr()


def literal_objective(theta, bias, transformed, targets, weights, penalty_weight, gamma, ridge=0.0):
    """E of eq. (5) and its subgradients by θ and by the bias, eq. (6), from patches transformed beforehand (n, T, d).

    E = Σ_i weights_i (max_t <θ, φ_t(x_i)> + bias - targets_i)² + penalty_weight (‖Γθ‖² + ridge ‖θ‖²).
    """
    theta = np.asarray(theta, np.float64).ravel()
    n, n_members, _ = transformed.shape
    flat = transformed.reshape(n * n_members, -1)
    responses = (flat @ theta.astype(transformed.dtype)).reshape(n, n_members)
    winners = responses.argmax(axis=1)
    residuals = responses[np.arange(n), winners] + bias - targets
    smoothing = gamma.T @ (gamma @ theta) + ridge * theta
    value = weights @ residuals**2 + penalty_weight * (theta @ smoothing)
    by_theta = 2 * (weights * residuals) @ transformed[np.arange(n), winners] + 2 * penalty_weight * smoothing
    return float(value), by_theta, float(2 * (weights @ residuals))


def learn_filter_literally(
    images, targets, phi, penalty_weight, *, ridge=0.0, weights=None, start=None, max_iter=200, transformed=None
):
    """L-BFGS on eq. (5) over the pixels of θ and the bias: all patches are transformed, then all are looked at.

    images (n, h, w[, c]), float32 to save memory; targets (n,) in {-1, +1}; weights (n,), equal if None, are divided by
    their sum. `start` is (theta, bias); None is the difference of the class means, scaled to fit the targets.
    `transformed` is what `transform_patches` returned, to share it between calls.
    """
    shape = images.shape[1:]
    weights = np.full(len(images), 1 / len(images)) if weights is None else weights / weights.sum()
    transformed = transform_patches(images, phi) if transformed is None else transformed
    gamma = differences_matrix(shape)
    theta, bias = start or start_literally(images, targets, weights, transformed)

    def value_and_gradient(parameters):
        value, by_theta, by_bias = literal_objective(
            parameters[:-1], parameters[-1], transformed, targets, weights, penalty_weight, gamma, ridge
        )
        return value, np.append(by_theta, by_bias)

    result = optimize.minimize(
        value_and_gradient,
        np.append(theta, bias).astype(np.float64),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxcor": 10, "ftol": 1e-6, "gtol": 1e-7},
    )
    return LiteralFilter(result.x[:-1].reshape(shape), float(result.x[-1]), float(result.fun), int(result.nfev))


def start_literally(images, targets, weights, transformed):
    """The difference of the class means as θ, times the factor and plus the bias that fit the targets best."""
    above, below = targets > 0, targets < 0
    flat = images.reshape(len(images), -1).astype(np.float64)
    theta = np.average(flat[above], axis=0, weights=weights[above]) - np.average(
        flat[below], axis=0, weights=weights[below]
    )
    responses = (transformed @ theta.astype(transformed.dtype)).max(axis=1).astype(np.float64)
    mean, goal = weights @ responses, weights @ targets
    spread = weights @ (responses - mean) ** 2
    covariance = weights @ ((responses - mean) * (targets - goal))
    factor = max(covariance, 0.1 * np.sqrt(spread)) / spread
    return factor * theta, goal - factor * mean


def largest_rows(responses):
    """(largest, member that gave it first) for every column of responses (T, n)."""
    best, winners = [], []
    for column in np.asarray(responses).T:
        best.append(max(column))
        winners.append(list(column).index(max(column)))
    return np.array(best), np.array(winners)


def add_rows_by_winner(coordinates, winners, first_member, residuals, n_members):
    """(n_members, r): for each member the sum of residual times row, over the rows it wins."""
    sums = np.zeros((n_members, coordinates.shape[1]))
    for row, winner, residual in zip(coordinates, winners, residuals, strict=True):
        if first_member <= winner < first_member + n_members:
            sums[winner - first_member] += residual * row.astype(np.float64)
    return sums


def information_gains(values, codes, weights, n_classes, min_samples=1):
    """{threshold: gain} of every cut midway between two neighbouring values that leaves enough samples on each side."""
    gains = {}
    distinct = np.unique(values)
    for low, high in itertools.pairwise(distinct):
        left = values <= low
        if min(left.sum(), (~left).sum()) >= min_samples:
            gains[0.5 * (low + high)] = information_gain(left, codes, weights, n_classes)
    return gains


def information_gain(left, codes, weights, n_classes):
    """Entropy of the classes less that of the two sides, in nats."""
    whole = np.bincount(codes, weights, n_classes)
    rest = 0.0
    for side in (left, ~left):
        counts = np.bincount(codes[side], weights[side], n_classes)
        rest += counts.sum() / whole.sum() * (stats.entropy(counts) if counts.sum() > 0 else 0)
    return stats.entropy(whole) - rest


def walk(dag, coordinates, matrices):
    """The nodes that one sample passes through, root first; coordinates: its (r,) after each alteration of Φ.

    matrices: R_t (T_p, r, r) of the members that follow each alteration; the graph looks at those in `dag.members`.
    """
    members = [(z, matrix) for z, part in zip(coordinates, matrices, strict=True) for matrix in part]
    path = [0]
    while dag.left[path[-1]] >= 0:
        node = path[-1]
        if dag.feature[node] < 0:
            path.append(int(dag.left[node]))
            continue
        theta = dag.filters[dag.feature[node]].astype(np.float64)
        response = max(float(members[t][0] @ (members[t][1] @ theta)) for t in dag.members)
        path.append(int(dag.right[node] if response > dag.threshold[node] else dag.left[node]))
    return path


def leaf_distance(histogram, other, shares):
    """Symmetric Kullback-Leibler divergence of two class histograms, each with `shares` added to it."""
    p, q = histogram + shares, other + shares
    return 0.5 * (stats.entropy(p, q) + stats.entropy(q, p))


def merge_leaves(histograms, parents, max_width):
    """Clusters of leaves as sorted tuples: join the two closest, farthest leaves counting, until `max_width` are left.

    Clusters that hold two leaves of one parent between them are never joined.
    """
    shares = np.maximum(histograms.sum(axis=0) / histograms.sum(), 1e-6)
    clusters = [(leaf,) for leaf in range(len(histograms))]

    def distance(one, other):
        if any(parents[i] == parents[j] >= 0 for i in one for j in other):
            return math.inf
        return max(leaf_distance(histograms[i], histograms[j], shares) for i in one for j in other)

    while len(clusters) > max_width:
        one, other = min(itertools.combinations(clusters, 2), key=lambda pair: distance(*pair))
        if distance(one, other) == math.inf:
            break
        clusters = [cluster for cluster in clusters if cluster not in (one, other)]
        clusters.append(tuple(sorted(one + other)))
    return sorted(clusters)


# --- segmentation: scores of boundary maps, [ArgandaCarreras15] -------------------------------------------------------


def neighbours(pixel, shape):
    """The pixels left, right, above and below, as far as they are in the image."""
    row, col = pixel
    around = ((row, col - 1), (row, col + 1), (row - 1, col), (row + 1, col))
    return [(r, c) for r, c in around if 0 <= r < shape[0] and 0 <= c < shape[1]]


def components(inside):
    """4-connected components of the True pixels by flood fill, numbered from 1 in the order of their first pixels."""
    numbers = np.zeros(inside.shape, dtype=int)
    for start in zip(*np.nonzero(inside), strict=True):
        if numbers[start]:
            continue
        number, reached = numbers.max() + 1, [start]
        while reached:
            pixel = reached.pop()
            if inside[pixel] and not numbers[pixel]:
                numbers[pixel] = number
                reached.extend(neighbours(pixel, inside.shape))
    return numbers


def thinned_regions(boundary):
    """Regions that grow into the boundary pixel by pixel, first come first served; what touches two is left 0."""
    if boundary.all():
        return np.ones(boundary.shape, dtype=int)
    regions, shape = components(~boundary), boundary.shape
    queue = [p for p in np.ndindex(shape) if not regions[p] and any(regions[q] for q in neighbours(p, shape))]
    for pixel in queue:  # which grows meanwhile
        around = {int(regions[q]) for q in neighbours(pixel, shape)} - {0}
        if len(around) == 1:
            regions[pixel] = around.pop()
            queue.extend(q for q in neighbours(pixel, shape) if not regions[q] and q not in queue)
    return regions


def region_scores(found, true):
    """(V_rand, its split and merge scores, V_info, its split and merge scores); 0 in `found`: a region of its own.

    V_rand counts pairs of pixels, a pixel with itself included; V_info adds up what each pixel says.
    """
    pixels = [(int(s) or (i,), int(t)) for i, (s, t) in enumerate(zip(found.flat, true.flat, strict=True)) if t]
    pairs = list(itertools.product(pixels, repeat=2))
    both = sum(p == q for p, q in pairs)
    in_found, in_true = (sum(p[side] == q[side] for p, q in pairs) for side in (0, 1))

    def bits(values):
        return sum(-math.log2(values.count(value) / len(values)) for value in values) / len(values)

    h_found, h_true = bits([s for s, _ in pixels]), bits([t for _, t in pixels])
    shared = h_found + h_true - bits(pixels)
    infos = [shared / h if h else 1.0 for h in ((h_found + h_true) / 2, h_found, h_true)]
    return (2 * both / (in_found + in_true), both / in_true, both / in_found, *infos)


def pixel_scores(probabilities, truth):
    """(least pixel error, best F of the True class, best F of the other) by trying every threshold that differs."""
    trials = []
    for threshold in [*np.unique(probabilities), math.inf]:
        called = probabilities >= threshold
        fs = [2 * np.sum(a & b) / (np.sum(a) + np.sum(b)) for a, b in ((called, truth), (~called, ~truth))]
        trials.append((np.mean(called != truth), *fs))
    errors, f_true, f_false = zip(*trials, strict=True)
    return min(errors), max(f_true), max(f_false)


# --- segmentation: from pixels to probabilities -----------------------------------------------------------------------


def add_trees(features, first_test, feature, threshold, kept, first_leaf, value, scores):
    """Scores (n,) and the values of the leaves that are left of every tree: of sets of leaves, one column at a time."""
    scores = scores.copy()
    for column in range(features.shape[1]):
        for tree in range(len(first_leaf)):
            leaves = set(range(32))
            for test in range(first_test[tree], first_test[tree + 1]):
                if features[feature[test], column] > threshold[test]:
                    leaves = {leaf for leaf in leaves if int(kept[test]) >> leaf & 1}
            scores[column] += value[first_leaf[tree] + min(leaves)]
    return scores


def fill_extremes(fixed, negated, turned):
    """The largest and the smallest (k, n) of the four responses of every orbit, over all orbits."""
    a, b, (c, d) = fixed, negated, turned
    responses = np.stack([a + b + c, a - b + d, a + b - c, a - b - d])
    return responses.max(axis=(0, 2)), responses.min(axis=(0, 2))


def gaussian_weights(width, truncate):
    """The weights of a Gaussian at whole places, up to `truncate` widths from its middle; they add up to 1."""
    radius = int(truncate * width + 0.5)
    weights = np.array([math.exp(-0.5 * (place / width) ** 2) for place in range(-radius, radius + 1)])
    return weights / weights.sum()


def blur_at(plane, row, col, width, truncate):
    """The mean around one pixel far from the border, weighted by a Gaussian."""
    weights = gaussian_weights(width, truncate)
    radius = len(weights) // 2
    window = plane[row - radius : row + radius + 1, col - radius : col + radius + 1].astype(np.float64)
    return float(weights @ window @ weights)


def slopes_at(value, row, col):
    """Central differences of a function of (row, col), along rows and along columns."""
    down = (value(row + 1, col) - value(row - 1, col)) / 2
    return down, (value(row, col + 1) - value(row, col - 1)) / 2


def filter_bank_at(plane, row, col, widths, tensor_widths, truncate):
    """What the bank says of one pixel far from the border, in its order; eigenvalues come from a general solver."""
    described = []
    for width in widths:

        def blurred(r, c, width=width):
            return blur_at(plane, r, c, width, truncate)

        gradient = slopes_at(blurred, row, col)
        hessian = [slopes_at(lambda r, c, axis=axis: slopes_at(blurred, r, c)[axis], row, col) for axis in (0, 1)]
        small, large = np.linalg.eigvalsh(hessian)
        variance = blur_at(np.square(plane, dtype=np.float64), row, col, width, truncate) - blurred(row, col) ** 2
        described += [blurred(row, col), width * math.hypot(*gradient), width**2 * large, width**2 * small]
        described.append(math.sqrt(max(variance, 0)))
    for width in tensor_widths:
        weights = gaussian_weights(width, truncate)
        radius = len(weights) // 2
        tensor = np.zeros((2, 2))
        for i, j in np.ndindex(len(weights), len(weights)):
            slopes = slopes_at(
                lambda r, c: blur_at(plane, r, c, widths[0], truncate), row + i - radius, col + j - radius
            )
            tensor += weights[i] * weights[j] * np.outer(slopes, slopes)
        small, large = np.linalg.eigvalsh(tensor)
        described += [large, small]
    return np.array(described)


def central_differences(plane):
    """Central differences along rows and along columns, of all pixels but those at the border."""
    return (plane[2:, 1:-1] - plane[:-2, 1:-1]) / 2, (plane[1:-1, 2:] - plane[1:-1, :-2]) / 2


def fill_derivatives(blurred, squares, width):
    """Gradient, large and small eigenvalue of the Hessian, and deviation (h, w) of a blurred plane (h + 4, w + 4)."""
    along_rows, along_cols = central_differences(np.asarray(blurred, np.float64))
    gradient = width * np.hypot(along_rows, along_cols)[1:-1, 1:-1]
    rows_rows, rows_cols = central_differences(along_rows)
    _, cols_cols = central_differences(along_cols)
    large, small = fill_eigenvalues(rows_rows, cols_cols, rows_cols)
    variance = squares - np.square(blurred[2:-2, 2:-2], dtype=np.float64)
    return gradient, width**2 * large, width**2 * small, np.sqrt(np.maximum(variance, 0))


def fill_eigenvalues(first, second, mixed):
    """The large and the small eigenvalue (h, w) of symmetric matrices, by a general solver."""
    small, large = np.moveaxis(
        np.linalg.eigvalsh(np.stack([[first, mixed], [mixed, second]]).transpose(2, 3, 0, 1)), 2, 0
    )
    return large, small


# --- descriptors of windows -------------------------------------------------------------------------------------------


def overlaps(start, stop, length):
    """How much of each of `length` pixels lies between two places on their axis."""
    return np.array([max(0.0, min(stop, pixel + 1) - max(start, pixel)) for pixel in range(length)])


def cell_means(planes, box, size):
    """The means (size, size, c) of the cells of one box (top, left, side) of planes (h, w, c), pixel by pixel."""
    top, left, side = (int(value) for value in box)
    edges = [place * side / size for place in range(size + 1)]
    means = np.empty((size, size, planes.shape[2]))
    for i, j in np.ndindex(size, size):
        down = overlaps(top + edges[i], top + edges[i + 1], planes.shape[0])
        across = overlaps(left + edges[j], left + edges[j + 1], planes.shape[1])
        weights = np.outer(down, across)
        means[i, j] = np.einsum("hw,hwc->c", weights, planes) / weights.sum()
    return means


def haar_transform(cells):
    """The Haar transform of cells (size, size): each value a product with its wavelet, written out cell by cell."""
    size = len(cells)
    transformed = np.empty((size, size))
    for i, j in np.ndindex(size, size):
        step = (i | j) & -(i | j) or size // 2  # the largest power of two in both; at (0, 0) the square is the window
        side = max(1, 2 * step)
        top, left = i // side * side, j // side * side
        wavelet = np.zeros((size, size))
        for r, c in np.ndindex(side, side):
            is_minus = (i & step and r >= step) != (j & step and c >= step)
            wavelet[top + r, left + c] = (-1 if is_minus else 1) / side
        transformed[i, j] = np.sum(wavelet * cells)
    return transformed


# --- extremely randomized trees, [Moosmann06] sec. 3 ------------------------------------------------------------------


class Splitmix:
    """splitmix64 in whole numbers of Python, from the state that it is published with."""

    def __init__(self, seed):
        self.state = int(seed)

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def below(self, n):
        return (self.bits() >> 32) * n >> 32

    def uniform(self):
        return (self.bits() >> 11) / 2**53


def entropy(things):
    """Bits that one of the things says, on average."""
    shares = [things.count(thing) / len(things) for thing in set(things)]
    return -sum(share * math.log2(share) for share in shares)


def split_score(labels, sides, supervised=True):
    """(score, information) of a test, from the label and the side of every sample."""
    labels, sides = list(labels), list(sides)
    if not supervised:
        n_sides = sides.count(True), sides.count(False)
        return min(n_sides) / max(n_sides), entropy(sides)
    shared = entropy(labels) + entropy(sides) - entropy(list(zip(labels, sides, strict=True)))
    return 2 * shared / (entropy(labels) + entropy(sides)), shared


def choose_test(descriptors, labels, supervised, max_trials, min_score, midway, draw):
    """(feature, threshold, information), or None for samples that are identical, by the drawing of a forest."""
    best, best_score, feature = None, -1.0, 0
    for trial in itertools.count():
        if trial < max_trials:
            feature = draw.below(descriptors.shape[1])
        elif best is None and trial < max_trials + descriptors.shape[1]:
            feature = (feature + 1) % descriptors.shape[1]
        else:
            return best
        values = descriptors[:, feature]
        low, high = values.min(), values.max()
        if low == high:
            continue
        if midway:
            pair = [float(values[draw.below(len(values))]) for _ in range(2)]
            cut = np.float32(sum(pair) / 2)
        else:
            cut = np.float32(float(low) + draw.uniform() * (float(high) - float(low)))
        cut = cut if cut < high else low
        score, information = split_score(labels, values <= cut, supervised)
        # Sums in another order differ in the last digits; equally good tests must not be told apart by these.
        if score > best_score + 1e-12:
            best, best_score = (feature, cut, information), score
            if score >= min_score - 1e-12:
                return best


def grow_tree(descriptors, labels, supervised, max_trials, min_score, midway, seed):
    """{node: (feature, threshold, left, gain)} of a tree's inner nodes, grown by recursion, left child first."""
    nodes, draw, numbers = {}, Splitmix(seed), itertools.count(1)

    def grow(node, rows):
        if len(rows) < 2 or (supervised and len(set(labels[rows].tolist())) == 1):
            return
        # By class, as a forest keeps its samples, so that the same drawn place is the same sample.
        rows = sorted(rows, key=lambda row: (labels[row], row))
        test = choose_test(descriptors[rows], labels[rows], supervised, max_trials, min_score, midway, draw)
        if test is None:
            return
        feature, cut, information = test
        left, right = next(numbers), next(numbers)
        nodes[node] = feature, cut, left, information * len(rows) / len(labels)
        grow(left, [row for row in rows if descriptors[row, feature] <= cut])
        grow(right, [row for row in rows if descriptors[row, feature] > cut])

    grow(0, list(range(len(labels))))
    return nodes


def grow_best_first(descriptors, labels, supervised, max_trials, min_score, midway, seed, n_leaves, min_gain):
    """As `grow_tree`, but the node of largest gain is split next, until there are enough leaves or gains are small."""
    nodes, draw, waiting, n_nodes = {}, Splitmix(seed), {}, 1

    def draw_test(node, rows):
        rows = sorted(rows, key=lambda row: (labels[row], row))
        if len(rows) < 2 or (supervised and len(set(labels[rows].tolist())) == 1):
            return
        test = choose_test(descriptors[rows], labels[rows], supervised, max_trials, min_score, midway, draw)
        if test is not None and test[2] * len(rows) / len(labels) >= min_gain:
            waiting[node] = (*test[:2], test[2] * len(rows) / len(labels), rows)

    draw_test(0, range(len(labels)))
    while waiting and (n_leaves is None or len(nodes) + 1 < n_leaves):
        node = max(waiting, key=lambda node: (round(waiting[node][2], 12), -node))
        feature, cut, gain, rows = waiting.pop(node)
        nodes[node] = feature, cut, n_nodes, gain
        draw_test(n_nodes, [row for row in rows if descriptors[row, feature] <= cut])
        draw_test(n_nodes + 1, [row for row in rows if descriptors[row, feature] > cut])
        n_nodes += 2
    return nodes


def prune_tree(nodes, n_leaves, min_gain):
    """The inner nodes that stay: of those above two leaves, the one of lowest gain goes, until it need not."""
    nodes = dict(nodes)
    while nodes:
        lowest = [node for node, (_, _, left, _) in nodes.items() if left not in nodes and left + 1 not in nodes]
        node = min(lowest, key=lambda node: (nodes[node][3], node))
        if nodes[node][3] >= min_gain and (n_leaves is None or len(nodes) + 1 <= n_leaves):
            break
        del nodes[node]
    return nodes


def walk_tree(tree, descriptor):
    """The leaf that one descriptor reaches."""
    node = 0
    while tree.left[node] >= 0:
        node = tree.left[node] + int(descriptor[tree.feature[node]] > tree.threshold[node])
    return node


# --- hierarchies: neural responses and derived kernels by direct recursion, [Wibisono10] eq. (1)-(4) ------------------


def patches_of(image, height, width, hop):
    """{(row, col) of the grid: patch} of an image (h, w, c), where the patch lies inside it."""
    rows = range(0, image.shape[0] - height + 1, hop)
    cols = range(0, image.shape[1] - width + 1, hop)
    return {
        (row, col): image[i : i + height, j : j + width] for row, i in enumerate(rows) for col, j in enumerate(cols)
    }


def at_length_one(vector):
    """A vector over its length, in float64; zero stays zero."""
    vector = np.asarray(vector, np.float64)
    length = math.sqrt(np.sum(vector**2))
    return vector / length if length > 0 else vector


def grey_histogram(patch, n_bins=101):
    """How many pixels of a patch (h, w, c) have each grey level round((n_bins - 1) x), the channels side by side."""
    counts = np.zeros((patch.shape[2], n_bins))
    for row, col, channel in np.ndindex(patch.shape):
        level = round(float(patch[row, col, channel]) * (n_bins - 1))
        counts[channel, min(max(level, 0), n_bins - 1)] += 1
    return counts.ravel()


def windowed_maximum(values, window_rows, window_cols):
    """The largest of every window of a grid of vectors (r, c, q), one window and one coordinate at a time."""
    rows, cols, q = values.shape
    largest = np.empty((rows - window_rows + 1, cols - window_cols + 1, q), values.dtype)
    for row, col, k in np.ndindex(largest.shape):
        largest[row, col, k] = max(values[row + i, col + j, k] for i, j in np.ndindex(window_rows, window_cols))
    return largest


def inner_kernel(f, g):
    """The product of two patches at length 1."""
    return float(np.sum(at_length_one(f) * at_length_one(g)))


def histogram_kernel(f, g):
    """The product of the histograms of two patches at length 1."""
    return inner_kernel(grey_histogram(f), grey_histogram(g))


def gaussian_kernel(templates):
    """exp(-|f - g|² / 2d²) for the mean distance d of a template to its nearest other one."""
    flat = [template.ravel().astype(np.float64) for template in templates]
    nearest = [min(math.dist(one, other) for j, other in enumerate(flat) if j != i) for i, one in enumerate(flat)]
    width = sum(nearest) / len(nearest)
    return lambda f, g: math.exp(-(math.dist(f.ravel().astype(float), g.ravel().astype(float)) ** 2) / (2 * width**2))


def pool_literally(values, pooling, weights=None):
    """ "max", "mean" or the p-norm of numbers under a measure, sec. 3; without weights it is uniform."""
    weights = [1.0] * len(values) if weights is None else weights
    if pooling == "max":
        return max(value for value, weight in zip(values, weights, strict=True) if weight > 0)
    power = 1 if pooling == "mean" else pooling
    raised = values if pooling == "mean" else [abs(value) ** power for value in values]
    mean = sum(value * weight for value, weight in zip(raised, weights, strict=True)) / sum(weights)
    return mean if pooling == "mean" else mean ** (1 / power)


def neural_response(f, templates, kernel, pooling="max", hop=1):
    """N of an image (h, w, c), eq. (1) and (3): its best match with each template of the last layer.

    templates: for each layer, smallest patches first, an array (q, height, width, c); kernel: of two smallest patches.
    """
    return neural_response_over([f], templates, kernel, pooling, hop)


def neural_response_over(versions, templates, kernel, pooling="max", hop=1):
    """N of an image whose H holds translations and transformations: matches at all places of all versions together."""
    *below, own = templates
    patches = [patch for version in versions for patch in patches_of(version, *own.shape[1:3], hop).values()]
    response = []
    for template in own:
        matches = [derived_kernel(patch, template, below, kernel, pooling, hop) for patch in patches]
        response.append(pool_literally(matches, pooling))
    return np.array(response)


def derived_kernel(f, g, templates, kernel, pooling="max", hop=1):
    """K̂ of two images or patches of one size, eq. (2) and (4); with no layer below, the kernel they begin with."""
    if not templates:
        return kernel(f, g)
    responses = [neural_response(image, templates, kernel, pooling, hop) for image in (f, g)]
    return inner_kernel(*responses)


def generalized_response(versions, templates, kernel, maps, pooling="max", hop=1, measures=(), shares=None):
    """Ñ of an image, eq. (6) of def. 3.1, over all places of all its versions.

    maps: {number of layers below: Φ as a plain function of a vector}; where there is none, Φ changes nothing.
    measures: for each layer the weights (rows, cols) of the places of its patches; shares: weights of the versions.
    """
    *below, own = templates
    shares = [1.0] * len(versions) if shares is None else shares
    patches, weights = [], []
    for version, share in zip(versions, shares, strict=True):
        for place, patch in patches_of(version, *own.shape[1:3], hop).items():
            patches.append(patch)
            weights.append(share * (measures[len(below)][place] if measures else 1.0))
    response = []
    for template in own:
        matches = [
            generalized_kernel(patch, template, below, kernel, maps, pooling, hop, measures) for patch in patches
        ]
        response.append(pool_literally(matches, pooling, weights))
    return np.array(response)


def generalized_kernel(f, g, templates, kernel, maps, pooling="max", hop=1, measures=()):
    """K̃ of two images or patches of one size, def. 3.1: the product of Φ(Ñ) over the lengths of both.

    Φ is applied to responses of length 1, since sec. 5 takes it from the normalized kernel K̂.
    """
    if not templates:
        return kernel(f, g)
    change = maps.get(len(templates), lambda vector: vector)
    responses = [generalized_response([image], templates, kernel, maps, pooling, hop, measures) for image in (f, g)]
    return inner_kernel(*(change(at_length_one(response)) for response in responses))


# --- tangents: [Simard98] and [Pozdnoukhov04] word for word, one pair of images at a time -----------------------------


def tangent_distance(x, y, of_x=(), of_y=(), stiffness=0.0):
    """The squared distance of vectors x and y when x may move along the tangents of_x and y along of_y, by lstsq.

    With stiffness, a movement by the vector m of either image's own span costs stiffness times |m|².
    """
    frames = [orthonormal_columns(tangents, len(x)) for tangents in (of_x, of_y)]
    directions = np.column_stack(frames)
    system = np.vstack([directions, math.sqrt(stiffness) * np.eye(directions.shape[1])])
    target = np.concatenate([np.asarray(y, float) - x, np.zeros(directions.shape[1])])
    coordinates = np.linalg.lstsq(system, target, rcond=None)[0]
    return float(np.sum((target - system @ coordinates) ** 2))


def orthonormal_columns(tangents, size):
    """An orthonormal basis (d, rank) of what the tangents (J, d), each at length 1, span well."""
    tangents = [at_length_one(np.asarray(tangent, float)) for tangent in tangents]
    if not tangents:
        return np.zeros((size, 0))
    left, values, _ = np.linalg.svd(np.column_stack(tangents), full_matrices=False)
    return left[:, values**2 > max(1e-6 * values[0] ** 2, 1e-12)]


def nearness_to_tangent(x, y, tangent, gamma_w):
    """H(x|x', ℓ) with x' = y, eq. (7); a tangent of zeros leaves x' where it is."""
    r = x - y
    squared_length = float(tangent @ tangent)
    along = (r @ tangent) ** 2 / squared_length if squared_length > 0 else 0.0
    return math.exp(-(r @ r - along) / (2 * gamma_w**2))


def tangent_product_kernel(x, y, of_y, sigma, gamma_w, eta=0.0):
    """K_s(x, x'), eq. (8)."""
    value = math.exp(-((x - y) @ (x - y)) / (2 * sigma**2))
    for tangent in of_y:
        value *= eta + nearness_to_tangent(x, y, tangent, gamma_w)
    return value


def tangent_sum_kernel(x, y, of_y, sigma, gamma_w, gamma_r):
    """K_s of finite differences, eq. (13)."""
    r = x - y
    value = math.exp(-(r @ r) / (2 * sigma**2))
    for tangent in of_y:
        to_end = math.exp(-((r - tangent) @ (r - tangent)) / (2 * gamma_r**2))
        value += nearness_to_tangent(x, y, tangent, gamma_w) * to_end
    return value


def two_sided(kernel, x, y, of_x, of_y, *widths):
    """K_d, eq. (9), of a one-sided kernel."""
    return (kernel(x, y, of_y, *widths) + kernel(y, x, of_x, *widths)) / 2


def tangent_precision(tangents, size, sigma, gamma_w):
    """P of eq. (8) with η = 0 as the Gaussian exp(-rᵀPr / 2): twice the L⁻¹ of eq. (11)."""
    P = (1 / sigma**2 + len(tangents) / gamma_w**2) * np.eye(size)
    for tangent in tangents:
        squared_length = float(tangent @ tangent)
        if squared_length > 0:
            P -= np.outer(tangent, tangent) / (gamma_w**2 * squared_length)
    return P


def log_overlap(x, y, of_x, of_y, sigma, gamma_w, rho):
    """log ∫ K_s(z, x)^ρ K_s(z, y)^ρ dz, eq. (10) with η = 0, by N x N matrices: completing the square, as eq. (12)."""
    P, Q = (tangent_precision(tangents, len(x), sigma, gamma_w) for tangents in (of_x, of_y))
    total = rho * (P + Q)
    pull = rho * (P @ x + Q @ y)
    exponent = -rho / 2 * (x @ P @ x + y @ Q @ y) + pull @ np.linalg.solve(total, pull) / 2
    return exponent + len(x) / 2 * math.log(2 * math.pi) - np.linalg.slogdet(total)[1] / 2


def tangent_overlap_kernel(x, y, of_x, of_y, sigma, gamma_w, rho):
    """K_B of eq. (10), normalised by K_B(x, x) and K_B(y, y)."""
    own = log_overlap(x, x, of_x, of_x, sigma, gamma_w, rho) + log_overlap(y, y, of_y, of_y, sigma, gamma_w, rho)
    return math.exp(log_overlap(x, y, of_x, of_y, sigma, gamma_w, rho) - own / 2)


def log_overlap_of_sums(x, y, of_x, of_y, sigma, gamma_w, eta):
    """log ∫ K_s(z, x) K_s(z, y) dz, eq. (10) with ρ = 1: every term of both products of eq. (8), by N x N matrices."""
    terms = []
    for A in itertools.product([False, True], repeat=len(of_x)):
        for B in itertools.product([False, True], repeat=len(of_y)):
            ours, theirs = (list(itertools.compress(tangents, some)) for tangents, some in ((of_x, A), (of_y, B)))
            log_weight = (len(A) + len(B) - sum(A) - sum(B)) * math.log(eta)
            terms.append(log_weight + log_overlap(x, y, ours, theirs, sigma, gamma_w, 1.0))
    return float(np.logaddexp.reduce(terms))


def tangent_overlap_of_sums(x, y, of_x, of_y, sigma, gamma_w, eta):
    """K_B of eq. (10) with ρ = 1 and η > 0, normalised by K_B(x, x) and K_B(y, y)."""
    own = log_overlap_of_sums(x, x, of_x, of_x, sigma, gamma_w, eta)
    own += log_overlap_of_sums(y, y, of_y, of_y, sigma, gamma_w, eta)
    return math.exp(log_overlap_of_sums(x, y, of_x, of_y, sigma, gamma_w, eta) - own / 2)


def integrate_overlap(x, y, of_x, of_y, sigma, gamma_w, rho, eta=0.0, reach=9.0, n=201):
    """The integral of eq. (10) in the plane, as a sum of eq. (8) over a fine grid around x and y."""
    side = np.linspace(-reach, reach, n)
    centre = (x + y) / 2
    grid = np.stack(np.meshgrid(centre[0] + side, centre[1] + side, indexing="ij"), axis=-1)
    values = np.ones((n, n))
    for point, tangents in ((x, of_x), (y, of_y)):
        r = grid - point
        squared = (r**2).sum(axis=-1)
        density = np.exp(-squared / (2 * sigma**2))
        for tangent in tangents:
            density *= eta + np.exp(-(squared - (r @ tangent) ** 2 / (tangent @ tangent)) / (2 * gamma_w**2))
        values *= density**rho
    return float(values.sum() * (side[1] - side[0]) ** 2)


def jittered_distance(x, y, jitters, squared):
    """The mean of the least squared distance over versions of x and over versions of y; `jitters` gives an orbit."""
    over_x = min(squared(version, y) for version in jitters(x))
    over_y = min(squared(x, version) for version in jitters(y))
    return (over_x + over_y) / 2


# --- tradeoff: [Varma07] eq. (1)-(13) with libsvm as the machine inside and scipy as the descent outside --------------


def solve_dual(K, y, C, tolerance=1e-10):
    """libsvm's machine: α (n,), the offset, and the optimum 1ᵀα - ½ αᵀYKYα."""
    machine = SVC(C=C, kernel="precomputed", tol=tolerance, cache_size=10).fit(K, y)
    alpha = np.zeros(len(y))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    signed = alpha * y
    return alpha, float(machine.intercept_[0]), float(alpha.sum() - signed @ K @ signed / 2)


def project(d, A, p):
    """The nearest point to d with d >= 0 and A d >= p, as a quadratic program of scipy's."""
    result = optimize.minimize(
        lambda x: np.sum((x - d) ** 2) / 2,
        np.maximum(d, 0),
        jac=lambda x: x - d,
        bounds=[(0, None)] * len(d),
        constraints=at_least(A, p),
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return result.x


def learn_weights(Ks, y, C, sigma, power=1.0, ridge=0.0, A=None, p=None):
    """Weights d (k,) and the optimum of (1)-(3): T(d) by libsvm, its gradient by eq. (13), its descent by SLSQP."""

    def cost(d):
        return float(sigma @ d**power / power + ridge * d @ d / 2)

    def value_and_slope(d):
        d = np.maximum(d, 0)
        alpha, _, value = solve_dual(np.tensordot(d, Ks, axes=1), y, C)
        forms = np.array([(alpha * y) @ K @ (alpha * y) for K in Ks])
        return value + cost(d), sigma * d ** (power - 1) + ridge * d - forms / 2

    best = None
    start = np.full(len(Ks), 1 / len(Ks))
    for _ in range(5):  # started again where it ended: a curvature it remembers wrongly can stop it early
        result = optimize.minimize(
            value_and_slope,
            start,
            jac=True,
            bounds=[(0, None)] * len(Ks),
            constraints=[] if A is None else at_least(A, p),
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 300},
        )
        improved = best is None or result.fun < best.fun - 1e-10 * abs(best.fun)
        if best is None or result.fun < best.fun:
            best = result
        if not improved:
            break
        start = np.maximum(result.x, 0)
    return np.maximum(best.x, 0), float(best.fun)


def at_least(A, p):
    """A d >= p as scipy wants it."""
    return [{"type": "ineq", "fun": lambda d: A @ d - p, "jac": lambda d: A}]


def mean_shares(trees, samples, labels, new):
    """The mean over all trees of the class shares, among `samples`, of the leaf that every one of `new` reaches."""
    n_classes = max(labels) + 1
    result = np.zeros((len(new), n_classes))
    for tree in trees:
        reached = [walk_tree(tree, sample) for sample in samples]
        for i, sample in enumerate(new):
            leaf = walk_tree(tree, sample)
            inside = [label for label, own in zip(labels, reached, strict=True) if own == leaf]
            result[i] += np.bincount(inside, minlength=n_classes) / len(inside) / len(trees)
    return result


def gradient_grid(image, n_cells, n_bins):
    """Oriented gradients around the cells of a grid: `GradientGrid` of a grey image (h, w), pixel by pixel."""
    h, w = image.shape
    cells = np.zeros((n_cells, n_cells, n_bins))

    def weights(length):
        size = length / n_cells
        away = [
            [(k - ((cell + 0.5) * size - 0.5)) / (0.5 * max(size, 1)) for k in range(length)] for cell in range(n_cells)
        ]
        found = np.exp(-0.5 * np.square(away))
        return found / found.sum(axis=1, keepdims=True)

    of_rows, of_columns = weights(h), weights(w)
    for i, j in np.ndindex(h, w):
        across = image[i, min(j + 1, w - 1)] - image[i, max(j - 1, 0)]
        down = image[min(i + 1, h - 1), j] - image[max(i - 1, 0), j]
        position = np.arctan2(down, across) % (2 * np.pi) / (2 * np.pi) * n_bins
        share = position % 1
        for a, b in np.ndindex(n_cells, n_cells):
            weight = of_rows[a, i] * of_columns[b, j]
            if min(of_rows[a, i], of_columns[b, j]) > 1e-4:
                cells[a, b, int(position) % n_bins] += weight * np.hypot(across, down) * (1 - share)
                cells[a, b, int(position + 1) % n_bins] += weight * np.hypot(across, down) * share
    strengths = np.pad(np.square(cells).sum(axis=2), 1)
    around = sum(
        (2 - abs(di)) * (2 - abs(dj)) / 16 * strengths[1 + di : 1 + di + n_cells, 1 + dj : 1 + dj + n_cells]
        for di in (-1, 0, 1) for dj in (-1, 0, 1)
    )  # fmt: skip
    around = around + 0.01 * strengths.sum() / n_cells**2
    if not around.any():
        return np.zeros(cells.size)
    vector = np.sqrt(np.minimum(cells / np.sqrt(np.maximum(around, 1e-300))[..., None], 0.4)).ravel()
    return vector / np.linalg.norm(vector)


def sift_of_window(plane, top, left, side):
    """The SIFT (128,) of one window of a blurred plane (h, w), pixel by pixel: `DenseSift` before it rounds."""
    h, w = plane.shape
    histograms, width = np.zeros((4, 4, 8)), side / 4
    for i, j in np.ndindex(h, w):
        if i in (0, h - 1) or j in (0, w - 1):
            continue
        across, up = plane[i, j + 1] - plane[i, j - 1], plane[i - 1, j] - plane[i + 1, j]
        position = np.arctan2(up, across) % (2 * np.pi) / (2 * np.pi) * 8
        row, col = i - top - (side - 1) / 2, j - left - (side - 1) / 2
        strength = np.hypot(across, up) * np.exp(-(row**2 + col**2) / (2 * (side / 2) ** 2))
        for a, b, o in np.ndindex(4, 4, 8):
            apart = abs(position - o)
            shares = 1 - abs(row / width + 1.5 - a), 1 - abs(col / width + 1.5 - b), 1 - min(apart, 8 - apart)
            if min(shares) > 0:
                histograms[a, b, o] += strength * np.prod(shares)
    vector = histograms.ravel()
    vector = np.minimum(vector, 0.2 * np.linalg.norm(vector))
    return np.minimum(vector * 512 / max(np.linalg.norm(vector), 1e-12), 255)


def ridge_scores(features, targets, penalty, others):
    """Scores of other features by a ridge regression with an unpenalized constant."""
    features = features.astype(float)
    means, offsets = features.mean(axis=0), targets.mean(axis=0)
    centred = features - means
    weights = np.linalg.solve(centred.T @ centred + penalty * np.eye(len(means)), centred.T @ (targets - offsets))
    return (others - means) @ weights + offsets
