// npm run bench [-- <what>]: runs the benchmark or another measurement. bench/README.md explains them.
import { launch } from './launch.mjs';

const rounds = '[--rounds <n>] [--window <ms>]';

await launch('npm run bench', {
  '': {
    does: 'The benchmark: ours beside what people use today.',
    options: `[--quick] [--only <model or part>]… [--html [file]] [--readme [--stored]] [--json] [--threads <n> | --defaults] ${rounds}`,
    run: ['dist/bench/main.js'],
  },
  compare: {
    does: 'A commit beside the working tree, or two commits.',
    options: `<commit> [<commit>] [--only <model>]… ${rounds}`,
    run: ['dist/bench/compare/main.js'],
  },
  scale: {
    does: 'Many models, and map over many items.',
    options: `[--only <part>]… [--json] ${rounds}`,
    run: ['dist/bench/scale/main.js'],
  },
  lazy: {
    does: 'Many lazy models under a memory budget, by a Zipf law, and the cost of a request for a loaded one.',
    options: '[--models <n>] [--requests <n>] [--budget <MiB>] [--width <of the inner layers>]',
    run: ['dist/bench/lazy/main.js'],
  },
  polls: {
    does: 'Requests in flight while polls add, change and remove versions and models: none may fail.',
    options: '[--polls <n>] [--requests <n in flight>]',
    run: ['dist/bench/polls/main.js'],
  },
  counts: {
    does: 'Allocations, locks and system calls of a request.',
    run: ['dist/bench/measuring/counts.js'],
  },
  study: {
    does: 'What instances, threads, batch sizes, delays and inline budgets do on this machine.',
    options: `[--only threads|batches|inline|rows] ${rounds}`,
    run: ['dist/bench/study/study.js'],
  },
  analyze: {
    does: 'Whether tritonts analyze finds the best configuration, beside all of them.',
    options: '[--only <model>]… [--budget <s>] [--rounds <n>] [--window <ms>]',
    run: ['dist/bench/analyze/main.js'],
  },
  outputs: {
    does: 'Ways to give outputs memory of their own, by size.',
    options: rounds,
    run: ['dist/bench/study/outputs.js'],
    builds: ['ts'],
  },
  endpoints: {
    does: 'A server over HTTP and gRPC beside bare ones that answer with an equal body.',
    options: `[--only http|grpc] ${rounds}`,
    run: ['dist/bench/endpoints/endpoints.js'],
  },
  perf: {
    does: 'The load that tritonts perf makes over the network, beside that of perf_analyzer; downloads it.',
    options: '[--rounds <n>] [--window <ms>]',
    run: ['scripts/perf-cost.mjs'],
  },
  wire: {
    does: "A model in Python over HTTP and gRPC beside Triton's own server; installs it and perf_analyzer from PyPI.",
    options: `[--only http|grpc] [--concurrency <n>,…] ${rounds}`,
    run: ['scripts/wire.mjs'],
  },
  plugins: {
    does: "A plug-in of Triton that returns its input beside the package's own backend of that kind.",
    options: rounds,
    run: ['dist/bench/main.js', '--only', 'plugins'],
  },
  trees: {
    does: 'Tree models beside the C APIs of XGBoost and LightGBM; needs the Python of npm test -- frameworks.',
    options: `[--quick] ${rounds}`,
    run: ['dist/bench/trees/main.js'],
  },
  openvino: {
    does: 'Models of OpenVINO beside its library and its Python; needs the Python of npm test -- frameworks.',
    options: rounds,
    run: ['dist/bench/frameworks/main.js', 'openvino'],
  },
  tensorflow: {
    does: 'Models of TensorFlow beside its library and its Python; needs the Python of npm test -- frameworks.',
    options: rounds,
    run: ['dist/bench/frameworks/main.js', 'tensorflow'],
  },
  pytorch: {
    does: 'Models of PyTorch beside its library and its Python; needs the Python of npm test -- pytorch.',
    options: rounds,
    run: ['dist/bench/frameworks/main.js', 'pytorch'],
  },
  start: {
    does: 'The import beside bare Node and onnxruntime-node, the first answer of the digits, and the start of serve.',
    options: '[--rounds <n>]',
    run: ['dist/bench/start/start.js'],
  },
});
