import os

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """Probabilities to the name of the best class, and its probability."""

    def initialize(self, args):
        path = os.path.join(args["model_repository"], args["model_version"], "labels.txt")
        with open(path, encoding="utf-8") as file:
            self.labels = np.array(file.read().split("\n")[:-1], dtype=object)

    def execute(self, requests):
        responses = []
        for request in requests:
            probabilities = pb_utils.get_input_tensor_by_name(request, "probabilities").as_numpy()
            best = probabilities.argmax(axis=1)
            labels = pb_utils.Tensor("label", self.labels[best].reshape(-1, 1))
            score = pb_utils.Tensor("score", probabilities.max(axis=1, keepdims=True))
            responses.append(pb_utils.InferenceResponse([labels, score]))
        return responses
