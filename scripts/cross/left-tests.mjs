// Which of the project's Node tests run on each platform that this machine can run, and which are left out there, and why.

/** What a file has in its text, or (`inImports`) that of a file of the tests that it imports, and why it is left out. */
const sign = (pattern, reason, inImports = true) => ({ pattern, reason, inImports });

const fakes = sign(
  /build\/fakes|'build', 'fakes'/,
  'needs stand-ins of libraries, which are built for this machine',
);
const noOnnx = sign(
  /\bonnx\(|addModel|onnxRuntime|onnxGpus|digits|\.onnx\b/,
  'needs ONNX Runtime, which has no library for musl',
  // The helpers know ONNX models, but not every test uses these.
  false,
);
const customOps = sign(/support\/custom-ops\.js/, 'needs ONNX Runtime, which has no library for musl');

const sharp = sign(/from 'sharp'|import\('sharp'\)/, 'needs sharp, which was installed for this machine');

/** Parts of paths, and why they are left out on every platform. */
const everywhere = {
  'test/addon/floor': "reads the addon of this machine's own build",
  'test/addon/safe-functions': 'needs an addon that counts its calls, which zig does not build',
  'test/docs/links': 'reads the files of a git repository',
};

/** Those that need a model of ONNX without a sign of it. */
const onnxOnMusl = Object.fromEntries(
  [
    'test/bench/ragged',
    'test/client/sequence-states',
    'test/corpus/corpus',
    'test/docs/diagnostics',
    'test/docs/errors',
    'test/docs/native',
    'test/docs/sequences',
    'test/docs/top',
    'test/docs/ui',
    'test/endpoints/grpc/call-channel',
    'test/endpoints/grpc/http2',
    'test/ensemble/random',
    'test/examples/streaming-text',
    'test/property/sequences',
    'test/registry/polling/traffic',
    'test/registry/sources/unreadable',
    'test/server/change-instances',
    'test/server/copies',
    'test/server/datatypes',
    'test/server/frozen-intrinsics',
    'test/server/many-models',
    'test/server/optional',
    'test/server/reshape',
    'test/server/sequence-config',
    'test/server/sequence-states',
    'test/server/unknown-rank',
  ].map((part) => [part, 'needs ONNX Runtime, which has no library for musl']),
);

/**
 * By platform. `folders`: parts of the paths of tests that run by default. `parts`: parts of paths that are left out, and why.
 * `isNative`: its programs run without an emulator, so that several run at once.
 */
export const leftOn = {
  'linux-x64-musl': {
    isNative: true,
    folders: ['test/'],
    parts: {
      ...everywhere,
      ...onnxOnMusl,
      'test/docs/plugins': "Triton's plug-ins need glibc",
      'test/python/examples': 'needs sharp, which was installed for this machine',
    },
    signs: [fakes, noOnnx, customOps, sharp],
  },
  'linux-arm64': {
    isNative: false,
    folders: ['test/'],
    parts: {
      ...everywhere,
      'test/dispatch/cancellation': 'counts turns of the event loop, in which less gets done in an emulator',
      'test/config/fuzz': 'takes minutes in an emulator',
      'test/ensemble/random': 'takes minutes in an emulator',
      'test/javascript/storms': 'takes minutes in an emulator',
      'test/endpoints/http/fuzz': 'takes minutes in an emulator',
    },
    signs: [fakes, sharp],
  },
  'win32-x64': {
    isNative: false,
    folders: ['test/'],
    parts: {
      ...everywhere,
      'test/server/unfit-files':
        'has names that differ in case alone, paths with /, and Python models, which need Linux',
    },
    signs: [
      fakes,
      sharp,
      sign(/node:child_process|execPath/, 'starts processes, and Node in wine has no pipes'),
      sign(/\bfetch\(|from 'openai'/, 'uses fetch, which connects to no server in wine'),
    ],
  },
};
