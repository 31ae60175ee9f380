"""Makes small models, and writes their files and the answers of TensorFlow's own Python.

python make_models.py <folder>

Writes <folder>/answers.json, a folder for each SavedModel and a file for each GraphDef.
test/backends/tensorflow/fixtures has what it writes. Packages: requirements.txt.
"""

import argparse
import json
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from maker import NUMBERS, Maker, emptied, strip

ROWS = 5
FEATURES = 4

ROWS_OF_FEATURES = [None, FEATURES]


def signature(*inputs):
    """A decorator for a function of a model; an input is name, type and shape."""
    return tf.function(input_signature=[tf.TensorSpec(shape, kind, name=name) for name, kind, shape in inputs])


def rows_of(values, kind=tf.float32, count=ROWS):
    """Rows that differ, of these values in turn."""
    flat = [values[(row * 5 + i) % len(values)] for row in range(count) for i in range(FEATURES)]
    return tf.cast(tf.constant(np.asarray(flat).reshape(count, FEATURES)), kind)


def make_numbers(maker):
    for datatype, (kind, values) in NUMBERS.items():

        class Double(tf.Module):
            @signature(("x", kind, ROWS_OF_FEATURES))
            def run(self, x):
                # Some types have no addition of their own on the CPU.
                wide = {tf.uint16: tf.int32, tf.uint32: tf.int64, tf.uint64: tf.int64, tf.int8: tf.int32}.get(kind, kind)
                return {"y": tf.cast(tf.cast(x, wide) + tf.cast(x, wide), kind)}

        maker.save(f"double_{datatype}", Double(), x=rows_of(values, kind))

    class Not(tf.Module):
        @signature(("x", tf.bool, ROWS_OF_FEATURES))
        def run(self, x):
            return {"y": tf.logical_not(x)}

    maker.save("not_BOOL", Not(), x=rows_of([True, False, False], tf.bool))


TEXTS = [
    [b"", b"a"],
    ["Grüße".encode(), b"zero\0inside\0"],
    [bytes([255, 254, 0, 128]), b"x" * 22],
    [b"y" * 23, b"z" * 1000],
    [b"\0", b"last"],
]


def make_texts(maker):
    class Join(tf.Module):
        @signature(("x", tf.string, [None, 2]))
        def run(self, x):
            return {"joined": tf.strings.join([x, x], "+"), "same": tf.identity(x), "size": tf.strings.length(x)}

    maker.save("text", Join(), x=tf.constant(TEXTS))

    class Lookup(tf.Module):
        def __init__(self):
            super().__init__()
            entries = tf.lookup.KeyValueTensorInitializer(
                tf.constant(["red", "green", "blue"]), tf.constant([1, 2, 3], tf.int64)
            )
            self.table = tf.lookup.StaticHashTable(entries, -1)

        @signature(("word", tf.string, [None]))
        def run(self, word):
            return {"number": self.table.lookup(word)}

    maker.save("lookup", Lookup(), word=tf.constant(["blue", "red", "no such colour", "green"]))


def make_weights(maker):
    random = np.random.default_rng(7)

    def weights(*shape):
        return tf.Variable((random.integers(-12, 13, size=shape) / 8).astype(np.float32))

    # 4 features, 5 hidden values, 3 outputs. All weights are multiples of 1/8.
    class Perceptron(tf.Module):
        def __init__(self):
            super().__init__()
            self.w1, self.b1, self.w2, self.b2 = weights(FEATURES, 5), weights(5), weights(5, 3), weights(3)

        @signature(("x", tf.float32, ROWS_OF_FEATURES))
        def run(self, x):
            hidden = tf.nn.relu(x @ self.w1 + self.b1)
            return {"y": hidden @ self.w2 + self.b2}

    x = rows_of([1, -2.5, 0.25, 0, 3, -0.5, 7])
    maker.save("perceptron", Perceptron(), x=x)

    class State(tf.Module):
        """Returns what the previous request had, and what the variable has after that."""

        def __init__(self):
            super().__init__()
            self.kept = tf.Variable(tf.zeros([1, 4], tf.float32), shape=[None, None])

        @signature(("x", tf.float32, [None, None]))
        def run(self, x):
            before = self.kept.read_value()
            with tf.control_dependencies([before]):
                self.kept.assign(x)
            return {"before": before, "after": self.kept.read_value()}

    maker.save("state", State(), x=tf.constant([[1.0, 2.0, 3.0]]))

    class Same(tf.Module):
        """Returns its input, a weight, and 128 KiB that TensorFlow computes once."""

        def __init__(self):
            super().__init__()
            self.w = tf.Variable(np.arange(4, dtype=np.float32).reshape(1, 4))

        @signature(("x", tf.float32, ROWS_OF_FEATURES))
        def run(self, x):
            constant = tf.cast(tf.range(32768) % 7, tf.float32)[tf.newaxis, :]
            return {"same": x, "weight": self.w.read_value(), "constant": constant}

    maker.save("same", Same(), x=x)


def make_shapes(maker):
    x = rows_of([1, -2.5, 0.25, 0, 3, -0.5, 7])

    class Scalar(tf.Module):
        @signature(("x", tf.float32, []))
        def run(self, x):
            return {"y": x + 1}

    maker.save("scalar", Scalar(), x=tf.constant(2.5))

    class Fixed(tf.Module):
        @signature(("x", tf.float32, [3, FEATURES]))
        def run(self, x):
            return {"y": x + 1}

    maker.save("fixed", Fixed(), x=x[:3])

    class Where(tf.Module):
        @signature(("x", tf.float32, [None]))
        def run(self, x):
            return {"y": tf.where(x > 0)}

    maker.save("where", Where(), x=tf.constant([1.0, -1.0, 3.0, 0.0]))

    class Loop(tf.Module):
        """Doubles each value until it is above 100."""

        @signature(("x", tf.float32, ROWS_OF_FEATURES))
        def run(self, x):
            return {
                "y": tf.while_loop(
                    lambda y: tf.reduce_min(tf.abs(y)) < 100, lambda y: (y * 2,), (x,), shape_invariants=(x.shape,)
                )[0]
            }

    maker.save("loop", Loop(), x=rows_of([1, -2.5, 3, 0.5]))

    class Unranked(tf.Module):
        @signature(("x", tf.float32, None))
        def run(self, x):
            return {"y": x * 2}

    maker.save("unranked", Unranked(), x=x)

    class Two(tf.Module):
        @signature(("b", tf.int32, ROWS_OF_FEATURES), ("a", tf.float32, ROWS_OF_FEATURES))
        def run(self, b, a):
            c = tf.cast(b, tf.float32)
            return {"sum": a + c, "difference": a - c}

    maker.save("two_inputs", Two(), a=x, b=rows_of([5, -7, 11], tf.int32))

    class Rows(tf.Module):
        """Its tensors have the batch and no other dimension."""

        @signature(("x", tf.float32, [None]))
        def run(self, x):
            return {"y": x * 2}

    maker.save("rows", Rows(), x=tf.constant([1.0, 2.0, 3.0]))

    class Filter(tf.Module):
        """The answer has only the rows that begin with a number above 0."""

        @signature(("x", tf.float32, ROWS_OF_FEATURES))
        def run(self, x):
            return {"y": tf.boolean_mask(x, x[:, 0] > 0)}

    maker.save("filter", Filter(), x=x)

    class Complex(tf.Module):
        """It cannot be served."""

        @signature(("x", tf.complex64, ROWS_OF_FEATURES))
        def run(self, x):
            return {"y": x}

    maker.save("complex", Complex())


def make_parts(maker):
    class Several(tf.Module):
        @signature(("x", tf.float32, ROWS_OF_FEATURES))
        def run(self, x):
            return {"y": x + 1}

        @signature(("z", tf.int32, [None]))
        def other(self, z):
            return {"w": z * 10}

    several = Several()
    x = rows_of([1, -2.5, 0.25, 0, 3, -0.5, 7])
    maker.save("signatures", several, {"serving_default": several.run, "other": several.other}, x=x)
    maker.save("only_other", several, {"other": several.other})

    # Two graphs in one SavedModel, which only the older builder writes.
    path = emptied(maker.folder / "tags.savedmodel")
    builder = tf.compat.v1.saved_model.Builder(str(path))
    for tag, add in (("serve", 1.0), ("plus_hundred", 100.0)):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            given = tf.compat.v1.placeholder(tf.float32, ROWS_OF_FEATURES, name="x")
            value = tf.compat.v1.get_variable("v", initializer=1.0, use_resource=True)
            answer = tf.add(given, value * add, name="y")
            session.run(tf.compat.v1.global_variables_initializer())
            info = tf.compat.v1.saved_model.utils.build_tensor_info
            definition = tf.compat.v1.saved_model.signature_def_utils.build_signature_def(
                {"x": info(given)}, {"y": info(answer)}, "tensorflow/serving/predict"
            )
            signatures = {"serving_default": definition}
            if tag == "serve":
                builder.add_meta_graph_and_variables(session, [tag], signature_def_map=signatures)
            else:
                builder.add_meta_graph([tag], signature_def_map=signatures)
    builder.save()
    strip(path)
    maker.record("tags", path.name, lambda x: {"y": x + 1}, {"x": x})

    # Its variable has a value only after the operation `start`. No other operation of the file initialises it.
    path = emptied(maker.folder / "init_ops.savedmodel")
    builder = tf.compat.v1.saved_model.Builder(str(path))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        given = tf.compat.v1.placeholder(tf.float32, ROWS_OF_FEATURES, name="x")
        value = tf.compat.v1.get_variable("late", initializer=7.0, use_resource=True, collections=["late"])
        tf.group(value.initializer, name="start")
        answer = tf.add(given, value, name="y")
        info = tf.compat.v1.saved_model.utils.build_tensor_info
        definition = tf.compat.v1.saved_model.signature_def_utils.build_signature_def(
            {"x": info(given)}, {"y": info(answer)}, "tensorflow/serving/predict"
        )
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map={"serving_default": definition})
    builder.save()
    strip(path)
    maker.record("init_ops", path.name, lambda x: {"y": x + 7}, {"x": x})


def make_graphs(maker):
    x = rows_of([1, -2.5, 0.25, 0, 3, -0.5, 7])

    def one():
        given = tf.compat.v1.placeholder(tf.float32, ROWS_OF_FEATURES, name="x")
        tf.add(given, tf.constant(1.0), name="y")

    maker.save_graph("plus_one", one, ["y"], x=x)

    def two():
        given = tf.compat.v1.placeholder(tf.float32, ROWS_OF_FEATURES, name="x")
        middle = tf.multiply(given, 2.0, name="middle")
        tf.identity(middle, name="doubled")
        tf.raw_ops.Split(axis=1, value=middle + 1.0, num_split=2, name="halves")

    maker.save_graph("two_sinks", two, ["doubled", "middle", "halves:1"], x=x)


def make(folder):
    maker = Maker(folder)
    make_numbers(maker)
    make_texts(maker)
    make_weights(maker)
    make_shapes(maker)
    make_parts(maker)
    make_graphs(maker)
    answers = {"tensorflow": tf.__version__, "models": maker.models}
    (folder / "answers.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    make(folder)


if __name__ == "__main__":
    main()
