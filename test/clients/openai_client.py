"""Calls the front end through OpenAI's client, blocking and async. Ends with code 1 if an answer is wrong.

Usage: openai_client.py <port>. The server has the models counting, embedding and telling, and needs the key 'key'.
"""

import asyncio
import json
import struct
import sys

import openai

URL = f"http://127.0.0.1:{sys.argv[1]}/v1"
MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": [{"type": "text", "text": "hé"}]}]
WORDS = [" w0", " w1", " w2"]


def equal(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: expected {expected!r} but received {found!r}")


def single(value):
    """A number as FP32 has it."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def refused(what, error, call, text):
    try:
        call()
    except error as found:
        if text not in str(found):
            sys.exit(f"{what}: expected {text!r} in {found!s}")
    else:
        sys.exit(f"{what}: expected {error.__name__}")


def check_usage(usage, output):
    equal("usage", (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (2, output, 2 + output))


client = openai.OpenAI(base_url=URL, api_key="key", max_retries=0)

equal("models", [model.id for model in client.models.list()], ["counting", "embedding", "telling"])
equal("a model", client.models.retrieve("telling").owned_by, "Triton Inference Server")
refused("an unknown model", openai.NotFoundError, lambda: client.models.retrieve("no"), "Unknown model: no")

completion = client.completions.create(model="counting", prompt="a b", max_tokens=3)
equal("completion", completion.choices[0].text, "".join(WORDS))
equal("finish_reason", completion.choices[0].finish_reason, "length")
check_usage(completion.usage, 3)
chunks = list(
    client.completions.create(
        model="counting", prompt="a b", max_tokens=3, stream=True, stream_options={"include_usage": True}
    )
)
equal("chunks", [chunk.choices[0].text for chunk in chunks[:-1]], [*WORDS, ""])
equal("the last chunk", chunks[-1].choices, [])
check_usage(chunks[-1].usage, 3)
stopped = client.completions.create(model="counting", prompt="a b", stop=["w1"])
equal("stop", (stopped.choices[0].text, stopped.choices[0].finish_reason), (" w0 ", "stop"))

chat = client.chat.completions.create(model="telling", messages=MESSAGES, temperature=0.5, seed=7)
equal("role", chat.choices[0].message.role, "assistant")
told = json.loads(chat.choices[0].message.content)
equal("prompt", told["prompt"], "system:be brief;user:hé;assistant:")
equal("sampling", told["sampling"], {"seed": 7, "temperature": 0.5, "max_tokens": 16})
with client.chat.completions.stream(model="telling", messages=MESSAGES) as stream:
    streamed = stream.get_final_completion()
equal("a chat as a stream", json.loads(streamed.choices[0].message.content)["stream"], True)

ROW = [single(value) for value in (2, 1 / 3, 1e-7)]
for encoding in ({}, {"encoding_format": "float"}, {"encoding_format": "base64"}):
    rows = client.embeddings.create(model="embedding", input=["bb", "bb"], **encoding)
    found = [row.embedding for row in rows.data]
    if encoding.get("encoding_format") == "base64":
        equal("base64", [type(row) for row in found], [str, str])
    else:
        equal("embeddings", [[single(value) for value in row] for row in found], [ROW, ROW])

CALL = dict(model="telling", prompt="x")
for what, error, wrong, text in (
    ("a wrong key", openai.AuthenticationError, {}, "This API is restricted"),
    ("n", openai.BadRequestError, dict(n=2), "only single choice"),
    ("an unknown field", openai.UnprocessableEntityError, dict(extra_body={"who": 1}), "unknown field 'who'"),
    ("a wrong field", openai.UnprocessableEntityError, dict(temperature=3), "a number from 0 to 2"),
):
    caller = client if wrong else client.with_options(api_key="wrong")
    refused(what, error, lambda: caller.completions.create(**CALL, **wrong), text)


async def check_async():
    async with openai.AsyncOpenAI(base_url=URL, api_key="key", max_retries=0) as other:
        texts = await asyncio.gather(
            *(other.completions.create(model="counting", prompt="x", max_tokens=count) for count in range(1, 20))
        )
        for count, text in enumerate(texts, 1):
            equal("async", text.usage.completion_tokens, count)
        long = await other.completions.create(model="counting", prompt="x", max_tokens=1000, stream=True)
        equal("an async stream", (await anext(long)).choices[0].text, " w0")
        await long.close()


asyncio.run(check_async())
print("ok openai, blocking and async")
