"""Decodes pictures, and makes of each what the classifier was trained with."""

import io

import numpy as np
import triton_python_backend_utils as pb_utils
from PIL import Image

SIDE = 8


def pixels(file: bytes) -> np.ndarray:
    """The pixels of a picture: [1, 8, 8], from 0 (white) to 1 (black)."""
    with Image.open(io.BytesIO(file), formats=("JPEG", "PNG")) as picture:
        # BOX averages blocks, as the data set was made.
        small = picture.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    return 1 - np.asarray(small, dtype=np.float32)[np.newaxis] / 255


class TritonPythonModel:
    def execute(self, requests):
        return [self.answer(request) for request in requests]

    @staticmethod
    def answer(request):
        files = pb_utils.get_input_tensor_by_name(request, "file").as_numpy().ravel()
        try:
            images = np.stack([pixels(file) for file in files])
        except Exception as error:
            # Only the request with this file fails.
            text = f"input 'file': expected a JPEG or PNG file: {error}"
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(text, pb_utils.TritonError.INVALID_ARG))
        return pb_utils.InferenceResponse([pb_utils.Tensor("image", images)])
