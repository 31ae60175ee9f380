import json
import os

import numpy as np
import triton_python_backend_utils as pb_utils
from wordpiece import Tokenizer, read_vocabulary

#: Lengths are multiples of this: so batches of several processes fit together in the next model.
STEP = 32


class TritonPythonModel:
    """Texts to ids and mask."""

    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        folder = os.path.join(args["model_repository"], args["model_version"])
        vocabulary = read_vocabulary(os.path.join(folder, "vocab.txt"))
        self.tokenizer = Tokenizer(vocabulary, int(parameters["longest"]["string_value"]))

    def execute(self, requests):
        batch = []
        for request in requests:
            texts = pb_utils.get_input_tensor_by_name(request, "text").as_numpy()
            batch.append([self.tokenizer.encode(text.decode("utf-8", "replace")) for text in texts.ravel()])
        # One length for all: so they can go on as one batch.
        longest = max(len(ids) for texts in batch for ids in texts)
        length = min(-(-longest // STEP) * STEP, self.tokenizer.longest)
        return [self.respond(texts, length) for texts in batch]

    def respond(self, texts, length):
        ids = np.zeros((len(texts), length), np.int64)
        mask = np.zeros_like(ids)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1
        return pb_utils.InferenceResponse([pb_utils.Tensor("input_ids", ids), pb_utils.Tensor("attention_mask", mask)])
