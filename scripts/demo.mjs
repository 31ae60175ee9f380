// npm run demo [-- <what>]: builds with one line of progress, and runs an example.
import { launch } from './launch.mjs';

await launch(
  'npm run demo',
  {
    '': {
      does: 'examples/digits: serves two classifiers of digits, prints accuracy and speed beside onnxruntime-node.',
      run: ['dist/examples/digits/demo.js'],
    },
    text: {
      does: 'examples/text: tokenizer, classifier and labels as one ensemble, beside the same code on the main thread.',
      run: ['dist/examples/text/demo.js'],
    },
    images: {
      does: 'examples/images: JPEG files decoded and classified by one ensemble, beside the same code on the main thread.',
      run: ['dist/examples/images/demo.js'],
    },
    audio: {
      does: 'examples/audio: telephone keys in WAV files and in sounds that are still arriving, under growing noise.',
      run: ['dist/examples/audio/demo.js'],
    },
    'ragged-texts': {
      does: 'examples/ragged-texts: texts of unequal length in one batch without padding, beside the same texts padded.',
      run: ['dist/examples/ragged-texts/demo.js'],
    },
    'streaming-text': {
      does: 'examples/streaming-text: writes texts letter by letter, several at a time, with an iterative model.',
      run: ['dist/examples/streaming-text/demo.js'],
    },
    'openai-chat': {
      does: "examples/openai-chat: writes texts for OpenAI's client, with a model learned from these pages.",
      run: ['dist/examples/openai-chat/demo.js'],
    },
    trees: {
      does: 'examples/trees: scores a table with boosted trees, with progress.',
      options: '[<table.csv> [<scores.csv>]]',
      run: ['dist/examples/trees/demo.js'],
    },
    torch: {
      does: 'examples/torch: trains, exports, serves and compares; PyTorch comes from PyPI, with its code for GPUs (5.5 GB).',
      python: ['examples/torch/requirements.txt', '.venv-torch'],
      first: [['examples/torch/train.py', '{folder}']],
      run: ['dist/examples/torch/main.js', '{folder}'],
    },
    'torch-images': {
      does: 'examples/torch-images: pictures decoded in Python and classified by PyTorch, with a response cache; PyTorch comes from PyPI.',
      python: ['examples/torch/requirements.txt', '.venv-torch'],
      first: [['examples/torch-images/train.py', '{folder}']],
      run: ['dist/examples/torch-images/main.js', '{folder}'],
    },
    sklearn: {
      does: 'examples/sklearn: trains, exports, serves and compares; its Python packages come from PyPI.',
      python: ['examples/sklearn/requirements.txt', '.venv-sklearn'],
      first: [['examples/sklearn/train.py', '{folder}']],
      run: ['dist/examples/sklearn/main.js', '{folder}'],
    },
  },
  { progress: true },
);
