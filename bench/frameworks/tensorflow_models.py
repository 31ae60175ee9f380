"""Writes the models of the benchmark as SavedModels: tensorflow_models.py REPOSITORY NAME..."""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf


def weights(*shape: int) -> tf.Variable:
    return tf.Variable(tf.random.stateless_uniform(shape, (1, 2), -0.1, 0.1))


class Add(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 16], name="x")])
    def run(self, x):
        return {"y": x + 1}


class Perceptron(tf.Module):
    """Layers of these widths, with ReLU between them."""

    def __init__(self, input_name, output_name, widths):
        super().__init__()
        self.layers = [(weights(a, b), weights(b)) for a, b in zip(widths, widths[1:])]

        def run(**inputs):
            value = inputs[input_name]
            for i, (kernel, bias) in enumerate(self.layers):
                value = tf.nn.bias_add(value @ kernel, bias)
                if i + 1 < len(self.layers):
                    value = tf.nn.relu(value)
            return {output_name: value}

        spec = {input_name: tf.TensorSpec([None, widths[0]], name=input_name)}
        self.run = tf.function(run).get_concrete_function(**spec)


class Conv(tf.Module):
    """A net like ResNet-18 on images in planes (3 x 224 x 224)."""

    def __init__(self):
        super().__init__()
        self.stem = weights(7, 7, 3, 64)
        self.blocks = []
        width = 64
        for stage, out in enumerate((64, 128, 256, 512)):
            for block in range(2):
                stride = 2 if stage > 0 and block == 0 else 1
                side = weights(1, 1, width, out) if stride == 2 else None
                self.blocks.append((stride, weights(3, 3, width, out), weights(3, 3, out, out), side))
                width = out
        self.head = weights(512, 1000)

    @tf.function(input_signature=[tf.TensorSpec([None, 3, 224, 224], name="image")])
    def run(self, image):
        x = tf.transpose(image, [0, 2, 3, 1])
        x = tf.nn.relu(tf.nn.conv2d(x, self.stem, 2, "SAME"))
        x = tf.nn.max_pool2d(x, 3, 2, "SAME")
        for stride, first, second, side in self.blocks:
            y = tf.nn.relu(tf.nn.conv2d(x, first, stride, "SAME"))
            y = tf.nn.conv2d(y, second, 1, "SAME")
            x = tf.nn.relu(y + (x if side is None else tf.nn.conv2d(x, side, stride, "SAME")))
        return {"logits": tf.reduce_mean(x, [1, 2]) @ self.head}


MODELS = {
    "add": Add,
    "digits": lambda: Perceptron("image", "scores", [64, 32, 10]),
    "mlp": lambda: Perceptron("x", "y", [512, 2048, 2048, 512]),
    "conv": Conv,
}


def main(repository: str, *names: str) -> None:
    for name in names:
        model = MODELS[name]()
        folder = os.path.join(repository, name, "1", "model.savedmodel")
        tf.saved_model.save(model, folder, signatures=model.run)


main(*sys.argv[1:])
