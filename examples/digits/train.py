"""Trains the two digit classifiers of this example and writes everything that is committed with it.

Writes, next to this file:
  models/digits/1/model.onnx       a multi-layer perceptron
  models/digits_conv/1/model.onnx  convolutions over the enlarged image, with a linear classifier
  held-out.txt                     the images that neither model was trained on

Needs Python 3.11 or newer and the packages of requirements.txt; takes under a minute on one core.
"""

import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).parent
SEED = 0
PIXELS = 64  # 8 x 8, row by row
# Processors take many times as long for denormal numbers: with them the perceptron took fourteen times its time.
NOTHING = 1e-30
LEVELS = 16  # a pixel is 0 (white) to 16 (black)
CLASSES = 10

# The convolutional model enlarges the image before it looks at it. That adds nothing to its accuracy: it is there to
# make one image cost about a millisecond while the file stays small.
ENLARGE = 10
FIRST_KERNEL, FIRST_CHANNELS = 11, 16
SECOND_KERNEL, SECOND_CHANNELS = 7, 32
REGIONS = 4  # features are averages over a grid of 4 x 4 regions


def main() -> None:
    images, labels = load_digits(return_X_y=True)
    split = train_test_split(images.astype(np.float32), labels, test_size=0.2, stratify=labels, random_state=SEED)
    train_images, test_images, train_labels, test_labels = split
    write_held_out(test_images, test_labels)

    models = {
        "digits": train_perceptron(train_images, train_labels),
        "digits_conv": train_convolutional(train_images, train_labels),
    }
    for name, model in models.items():
        path = HERE / "models" / name / "1" / "model.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
        report(name, path, test_images, test_labels)


def write_held_out(images: np.ndarray, labels: np.ndarray) -> None:
    """One line an image: its label, a space, and 64 digits of base 17, one a pixel."""
    digits = "0123456789abcdefg"
    rows = [f"{label} " + "".join(digits[int(pixel)] for pixel in image) for image, label in zip(images, labels)]
    (HERE / "held-out.txt").write_text("\n".join(rows) + "\n")


def train_perceptron(images: np.ndarray, labels: np.ndarray) -> onnx.ModelProto:
    shifted = half_pixel_shifts(images)
    classifier = MLPClassifier((128,), alpha=0.1, max_iter=400, random_state=SEED)
    trained = classifier.fit(shifted / LEVELS, np.tile(labels, len(shifted) // len(images)))
    (hidden_weights, weights), (hidden_bias, bias) = trained.coefs_, trained.intercepts_
    return to_model(
        nodes=[
            helper.make_node("Div", ["image", "levels"], ["pixels"]),
            helper.make_node("Gemm", ["pixels", "hidden_weights", "hidden_bias"], ["hidden_sums"]),
            helper.make_node("Relu", ["hidden_sums"], ["hidden"]),
            helper.make_node("Gemm", ["hidden", "weights", "bias"], ["logits"]),
            helper.make_node("Softmax", ["logits"], ["scores"], axis=1),
        ],
        constants={
            "levels": np.float32(LEVELS),
            "hidden_weights": hidden_weights,
            "hidden_bias": hidden_bias,
            "weights": weights,
            "bias": bias,
        },
        output=("scores", CLASSES),
    )


def half_pixel_shifts(images: np.ndarray) -> np.ndarray:
    """The images, and each of them moved by half a pixel to the four sides: a digit does not depend on its place."""
    padded = np.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    centre = padded[:, 1:9, 1:9]
    neighbours = [padded[:, 0:8, 1:9], padded[:, 2:10, 1:9], padded[:, 1:9, 0:8], padded[:, 1:9, 2:10]]
    moved = [(centre + neighbour) / 2 for neighbour in neighbours]
    return np.concatenate([centre, *moved]).reshape(-1, PIXELS)


def train_convolutional(images: np.ndarray, labels: np.ndarray) -> onnx.ModelProto:
    """The filters are random and stay so; only the linear classifier over what they see is trained."""
    nodes, constants, feature_count = convolutional_features()
    features = run(to_model(nodes, constants, ("features", feature_count)), images)
    scaler = StandardScaler().fit(features)
    classifier = LogisticRegression(C=0.01, max_iter=500).fit(scaler.transform(features), labels)
    # The scaling of the features is folded into the classifier, so the graph needs no nodes for it.
    weights = (classifier.coef_ / scaler.scale_).T
    bias = classifier.intercept_ - scaler.mean_ @ weights
    return to_model(
        nodes=[
            *nodes,
            helper.make_node("Gemm", ["features", "weights", "bias"], ["logits"]),
            helper.make_node("Softmax", ["logits"], ["scores"], axis=1),
        ],
        constants={**constants, "weights": weights, "bias": bias},
        output=("scores", CLASSES),
    )


def convolutional_features() -> tuple[list[onnx.NodeProto], dict[str, np.ndarray], int]:
    """Nodes from `image` to `features`, their constants, and the number of features."""
    random = np.random.default_rng(SEED)
    first = random.normal(size=(FIRST_CHANNELS, 1, FIRST_KERNEL, FIRST_KERNEL)) * np.sqrt(2) / FIRST_KERNEL
    # Half of its mean is taken from each filter, so that it answers to edges more than to ink.
    first -= first.mean(axis=(2, 3), keepdims=True) / 2
    second_shape = (SECOND_CHANNELS, FIRST_CHANNELS, SECOND_KERNEL, SECOND_KERNEL)
    second = random.normal(size=second_shape) * np.sqrt(2 / FIRST_CHANNELS) / SECOND_KERNEL
    region = 8 * ENLARGE // 4 // REGIONS  # two poolings have halved the image twice
    nodes = [
        helper.make_node("Div", ["image", "levels"], ["pixels"]),
        helper.make_node("Reshape", ["pixels", "square"], ["small"]),
        helper.make_node("Resize", ["small", "", "enlarge"], ["large"], mode="linear"),
        helper.make_node("Conv", ["large", "first", "first_bias"], ["first_sums"], pads=[FIRST_KERNEL // 2] * 4),
        helper.make_node("Relu", ["first_sums"], ["first_seen"]),
        helper.make_node("MaxPool", ["first_seen"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["half", "second", "second_bias"], ["second_sums"], pads=[SECOND_KERNEL // 2] * 4),
        helper.make_node("Relu", ["second_sums"], ["second_seen"]),
        helper.make_node("MaxPool", ["second_seen"], ["quarter"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("AveragePool", ["quarter"], ["regions"], kernel_shape=[region] * 2, strides=[region] * 2),
        helper.make_node("Flatten", ["regions"], ["features"]),
    ]
    constants = {
        "levels": np.float32(LEVELS),
        "square": np.array([0, 1, 8, 8]),  # 0: the batch stays as it is
        "enlarge": np.array([1, 1, ENLARGE, ENLARGE], np.float32),
        "first": first,
        "first_bias": random.uniform(-0.1, 0.1, FIRST_CHANNELS),
        "second": second,
        "second_bias": random.uniform(-0.1, 0.1, SECOND_CHANNELS),
    }
    return nodes, constants, SECOND_CHANNELS * REGIONS**2


def to_model(nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray], output: tuple[str, int]) -> onnx.ModelProto:
    """A model from `image`, FP32 [N, 64], to the named output, FP32 [N, width]."""
    name, width = output
    graph = helper.make_graph(
        nodes,
        "digits",
        inputs=[helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", PIXELS])],
        outputs=[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", width])],
        initializer=[numpy_helper.from_array(single_precision(value), key) for key, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="tritonts")


def single_precision(value: np.ndarray) -> np.ndarray:
    """The value as float32. What training has let decay to next to nothing becomes 0."""
    if not np.issubdtype(np.asarray(value).dtype, np.floating):
        return value
    single = np.asarray(value, np.float32)
    return np.where(np.abs(single) < NOTHING, np.float32(0), single)


def one_thread_session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options)


def run(model: onnx.ModelProto, images: np.ndarray) -> np.ndarray:
    return one_thread_session(model.SerializeToString()).run(None, {"image": images})[0]


def report(name: str, path: Path, images: np.ndarray, labels: np.ndarray) -> None:
    session = one_thread_session(path.read_bytes())
    right = (session.run(None, {"image": images})[0].argmax(axis=1) == labels).sum()
    times = []
    for image in images:
        start = time.perf_counter()
        session.run(None, {"image": image[np.newaxis]})
        times.append(time.perf_counter() - start)
    print(
        f"{name}: {right} of {len(labels)} right ({right / len(labels):.2%}), "
        f"{path.stat().st_size / 1000:.0f} kB, {np.median(times) * 1e3:.3f} ms an image on one core"
    )


if __name__ == "__main__":
    main()
