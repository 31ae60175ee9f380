// npm test [-- <what>]: runs the tests, or another check. docs/testing.md explains each.
import { launch } from './launch.mjs';

const tests = 'scripts/node-tests.mjs';
const sanitized = 'scripts/sanitized-tests.mjs';
const choice = '[part/of/a/path]… [--without=part/of/a/path]… [--option=value of node --test]…';

await launch('npm test', {
  '': {
    does: 'The Node tests but for those that take long, or all those whose path has one of the parts, such as server/ or /errors. A part has a slash.',
    options: `[--copies] [--plain] [--no-inline] [--no-spin] ${choice}`,
    run: [tests],
  },
  all: {
    does: 'The Node tests, with those that take long.',
    options: `[--copies] [--plain] [--no-inline] [--no-spin] ${choice}`,
    run: [tests, '--all'],
  },
  copies: {
    does: 'The same as with --copies: everything crosses by copy, as where external buffers are forbidden.',
    options: choice,
    run: [tests, '--all', '--copies'],
  },
  plain: {
    does: 'The same as with --plain: without what only makes things faster (--no-inline and --no-spin).',
    options: choice,
    run: [tests, '--all', '--plain'],
  },
  asan: {
    does: 'The Node tests with the addon under AddressSanitizer and UBSan.',
    options: choice,
    run: [sanitized, 'address'],
  },
  tsan: {
    does: 'The Node tests of what has threads, with the addon under ThreadSanitizer.',
    options: choice,
    run: [sanitized, 'thread'],
  },
  native: {
    does: 'The tests of the engine and the backends in C++, without Node.',
    options:
      '[--sanitize address,undefined | thread] [--filter <text> | --property] [--seconds <n>] [--seed <n>]',
    run: ['scripts/native-tests.mjs'],
    builds: [],
  },
  property: {
    does: 'Random schedules through a server, then as long others through the engine.',
    options: '[--seconds <n>] [--seed <n>]',
    numbers: { seconds: ['TRITONTS_PROPERTY_SECONDS', '60'], seed: ['TRITONTS_PROPERTY_SEED'] },
    run: [tests, 'test/property/'],
    then: [['scripts/native-tests.mjs', '--property', '--seconds', '{seconds}', '--seed', '{seed}']],
  },
  requests: {
    does: 'Random requests in every form, also over HTTP and gRPC.',
    options: '[--requests <n>] [--seed <n>]',
    numbers: { requests: ['TRITONTS_REQUESTS', '1000000'], seed: ['TRITONTS_REQUESTS_SEED'] },
    run: [tests, 'test/requests/', 'test/client/requests'],
  },
  ensembles: {
    does: 'Random ensembles of random models.',
    options: '[--seconds <n>] [--seed <n>]',
    numbers: { seconds: ['TRITONTS_ENSEMBLES_SECONDS', '60'], seed: ['TRITONTS_ENSEMBLES_SEED'] },
    run: [tests, 'ensemble/random'],
  },
  fuzz: {
    does: 'Random and damaged configurations.',
    options: '[--seconds <n>] [--seed <n>]',
    run: ['dist/test/config/fuzz.js'],
    builds: ['ts'],
  },
  'fuzz-http': {
    does: 'Random and damaged bodies of requests over HTTP.',
    options: '[--seconds <n>] [--seed <n>]',
    run: ['dist/test/endpoints/http/fuzz.js'],
  },
  'fuzz-binary': {
    does: 'Binary tensors over HTTP, and lies about their sizes.',
    options: '[--seconds <n>] [--seed <n>]',
    run: ['dist/test/endpoints/http/fuzz-binary.js'],
    builds: ['ts'],
  },
  'fuzz-grpc': {
    does: 'Random and damaged frames and messages of gRPC.',
    options: '[--seconds <n>] [--seed <n>]',
    run: ['dist/test/endpoints/grpc/fuzz.js'],
  },
  'fuzz-trees': {
    does: 'Damaged model files of trees, under AddressSanitizer and UBSan.',
    options: '[--seconds <n>] [--seed <n>] [file]…',
    run: ['scripts/native-tests.mjs', '--trees', '--sanitize', 'address,undefined'],
    builds: [],
  },
  soak: {
    does: 'A million requests; fails where memory grows.',
    options: '[--requests <n>] [--seed <n>] [--out <folder>]',
    node: ['--expose-gc'],
    run: ['dist/test/soak/main.js'],
  },
  'soak-http': {
    does: 'A million requests over HTTP, one in twenty damaged or cut off; fails where memory grows.',
    options: '[--seconds <n>] [--requests <n>] [--seed <n>] [--out <folder>]',
    node: ['--expose-gc'],
    run: ['dist/test/soak/http.js'],
  },
  'soak-grpc': {
    does: 'A million calls over gRPC, one in twenty damaged, cut off or given up; fails where memory grows.',
    options: '[--seconds <n>] [--requests <n>] [--seed <n>] [--out <folder>]',
    node: ['--expose-gc'],
    run: ['dist/test/soak/grpc.js'],
  },
  'soak-python': {
    does: 'A thousand loads and unloads of Python models; fails where a process, descriptor, segment or file is left.',
    options: '[--cycles <n>]',
    run: ['dist/test/soak/python.js'],
  },
  leak: {
    does: 'Thousands of cycles of load, use and close; fails where memory grows.',
    options: '[--cycles <n>] [--warm-up <n>] [--out <folder>]',
    node: ['--expose-gc'],
    run: ['dist/test/soak/cycles.js'],
  },
  gpu: {
    does: 'Checks and measures the GPUs of this machine; says what is missing. --fake: on the fake driver, to try the command.',
    options: '[--fake] [--seconds <n>]',
    run: ['scripts/gpu.mjs'],
  },
  onnx: {
    does: 'The cases that the Python package onnx publishes.',
    options: '[--raise] [--all] [part of a case’s name]…',
    run: ['scripts/onnx-conformance.mjs'],
  },
  clients: {
    does: 'Clients that others wrote, from PyPI and the Go module proxy, call a server over HTTP and gRPC.',
    options: '[python] [go] [perf-analyzer]',
    run: ['scripts/clients/main.mjs'],
  },
  python: {
    does: 'The tests of Python models, with a Python and numpy from PyPI in an ignored folder.',
    options: '[--option=value of node --test]…',
    python: ['test/python/requirements.txt', '.venv-python'],
    run: [tests, 'test/python/'],
  },
  plugins: {
    does: "Triton's own plug-ins, from NVIDIA's wheel on PyPI in an ignored folder, run Python models and cache answers.",
    options: '[--option=value of node --test]…',
    run: ['scripts/plugins.mjs'],
  },
  frameworks: {
    does: 'Trains random tree models with XGBoost, LightGBM and scikit-learn, from PyPI, and compares all answers; then the tests of OpenVINO and TensorFlow, from PyPI, and of PyTorch, if TRITONTS_TORCH_PATH names a libtorch or npm test -- pytorch has installed it.',
    options: '[--seed <n>] [--trees <n>]',
    numbers: { seed: ['TRITONTS_TREES_SEED'], trees: ['TRITONTS_TREES', '12'] },
    python: [
      ['test/backends/fil/requirements.txt', 'test/backends/openvino/requirements.txt'],
      '.venv-frameworks',
    ],
    asks: {
      TRITONTS_OPENVINO_PATH:
        "import openvino, os; print(os.path.join(os.path.dirname(openvino.__file__), 'libs'))",
    },
    first: [['test/backends/fil/train.py', '{folder}', '--vary', '--seed', '{seed}', '--trees', '{trees}']],
    run: ['dist/test/backends/fil/frameworks.js', '{folder}'],
    then: [
      [tests, 'test/backends/openvino/'],
      [tests, 'test/backends/pytorch/'],
      ['scripts/native-tests.mjs', '--filter', 'openvino_'],
      ['scripts/native-tests.mjs', '--filter', 'pytorch_'],
      ['scripts/test.mjs', 'tensorflow'],
    ],
  },
  tensorflow: {
    does: 'The tests of TensorFlow, with its library from PyPI (274 MB, 1.6 GB unpacked) in an ignored folder.',
    python: ['test/backends/tensorflow/requirements.txt', '.venv-tensorflow'],
    asks: {
      TRITONTS_TENSORFLOW_PATH:
        "import importlib.util as u; print(u.find_spec('tensorflow').submodule_search_locations[0])",
    },
    run: [tests, 'test/backends/tensorflow/'],
    then: [['scripts/native-tests.mjs', '--filter', 'tensorflow_']],
  },
  pytorch: {
    does: "The tests of PyTorch, by libtorch and by Python's torch, with the package from PyPI in an ignored folder (with its code for GPUs, 5.5 GB).",
    python: ['examples/torch/requirements.txt', '.venv-torch'],
    asks: {
      TRITONTS_TORCH_PATH:
        "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])",
    },
    run: [tests, 'test/backends/pytorch/', 'examples/torch'],
    then: [['scripts/native-tests.mjs', '--filter', 'pytorch_']],
  },
  'real-libraries': {
    does: "What TensorRT's libraries and a GPU build of ONNX Runtime, from PyPI, do without a GPU.",
    run: ['scripts/real-libraries.mjs'],
    builds: [],
  },
  prometheus: {
    does: 'Prometheus itself reads the metrics; its program comes from a Debian package.',
    run: ['scripts/prometheus.mjs'],
  },
  http2: {
    does: 'The HTTP/2 of the gRPC endpoint against h2spec, from the Go module proxy.',
    run: ['scripts/http2.mjs'],
    builds: ['ts'],
  },
  redis: {
    does: 'The response cache in a real Redis, whose program comes from a Debian package.',
    options: '[--option=value of node --test]…',
    run: ['scripts/redis.mjs'],
  },
  stores: {
    does: 'Repositories in object stores: versitygw (S3), fake-gcs-server and azurite, from the Go module proxy and npm.',
    options: '[--option=value of node --test]…',
    run: ['scripts/stores.mjs'],
  },
  'other-runtime': {
    does: 'The tests of backends and servers with older versions of onnxruntime-node, from npm.',
    options: '[--quick] [version]…',
    run: ['scripts/other-runtime.mjs'],
  },
  package: {
    does: 'Uses the tarballs as strangers do, in an empty project.',
    options: '[--all] [--only <part of a name>] [--keep]',
    run: ['scripts/package/test.mjs'],
  },
  serverless: {
    does: 'Runs examples/lambda in roots laid out as those of AWS Lambda and of a distroless image, and measures the first answer.',
    options: '[--rounds <n>] [--keep]',
    run: ['scripts/serverless/main.mjs'],
  },
  platforms: {
    does: 'Builds the packages of other platforms with zig, and uses them under qemu, musl and wine.',
    options:
      '[--only <platform>]… [--keep] [--debug] | --node-tests [--only <platform>]… [--minutes <n>] [--resume] [part/of/a/path]…',
    run: ['scripts/cross/test.mjs'],
  },
  reproducible: {
    does: 'Builds twice in different folders: the package, and two libraries for arm64, or all; the bytes must be the same.',
    options: '[--whole [--only <platform>]…]',
    run: ['scripts/cross/reproduce.mjs'],
    builds: ['ts'],
  },
  workflows: {
    does: 'What the workflows in .github/ run is there, and actionlint, from the Go module proxy, finds no fault in them.',
    run: ['scripts/workflows.mjs'],
    builds: [],
  },
  electron: {
    does: 'Checks the types of examples/electron, and packs it with electron-builder and @electron/packager, from npm.',
    run: ['scripts/electron/main.mjs'],
  },
  glibc: {
    does: 'Prints the oldest glibc that the built addon, or another file, runs with.',
    options: '[file]',
    run: ['scripts/glibc-floor.mjs'],
    builds: [],
  },
});
