// Which part of src/ may import which: docs/architecture.md. Checked by `npm run check -- lint`; imports of types count.

const error = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });
const folders = (...names) => `^src/(${names.join('|')})/`;

const outer = ['endpoints', 'client', 'cli', 'analyze', 'perf', 'top', 'protocol', 'testing'];
const middle = ['registry', 'dispatch', 'ensemble', 'javascript', 'python', 'metrics'];
const inner = ['config', 'tensor', 'scheduling'];

export default {
  forbidden: [
    error('no-circle', 'Files that need each other are one file, or need a third.', {}, { circular: true }),
    error('server', 'server → …', { path: folders('server') }, { path: folders(...outer) }),
    error(
      'middle',
      `${middle.join(', ')} → …`,
      { path: folders(...middle) },
      { path: folders(...outer, 'server') },
    ),
    error(
      'backends',
      'backends → javascript, python: what opens instances knows what runs them.',
      { path: folders('backends') },
      { path: folders(...outer, 'server', 'registry', 'dispatch', 'ensemble', 'metrics') },
    ),
    error(
      'below-backends',
      'What runs models is told by their backend.',
      { path: folders('python', 'javascript', 'dispatch', 'ensemble', 'metrics') },
      { path: folders('registry', 'backends') },
    ),
    error(
      'below-python',
      'python → javascript, metrics',
      { path: folders('javascript', 'dispatch', 'ensemble', 'metrics') },
      { path: folders('python') },
    ),
    error(
      'inner',
      `${inner.join(', ')} → addon`,
      { path: folders(...inner) },
      { path: folders(...outer, 'server', ...middle, 'backends', 'api') },
    ),
    error(
      'api',
      'What users see is types alone, of configurations and tensors.',
      { path: folders('api') },
      { path: '^src/', pathNot: [folders('api', 'config', 'tensor'), '^src/errors\\.ts$'] },
    ),
    error(
      'protocol',
      'What endpoints and clients share knows neither, and no server: clients load it, too.',
      { path: folders('protocol') },
      {
        path: folders(
          'endpoints',
          'client',
          'cli',
          'analyze',
          'perf',
          'top',
          'server',
          ...middle,
          'backends',
          'addon',
        ),
      },
    ),
    error(
      'client',
      'A client needs nothing of an endpoint: what they share is in protocol.',
      { path: folders('client') },
      { path: folders('endpoints', 'cli', 'analyze', 'perf', 'top') },
    ),
    error(
      'endpoints',
      'What serves knows nothing of what measures it.',
      { path: folders('endpoints') },
      { path: folders('cli', 'analyze', 'perf', 'top') },
    ),
    error(
      'testing',
      'A test server is a server with endpoints, and nothing of the package needs one.',
      { path: folders('testing') },
      { path: folders('client', 'cli', 'analyze', 'perf') },
    ),
    error(
      'untested',
      'What programs use knows nothing of test servers.',
      { path: '^src/', pathNot: folders('testing') },
      { path: folders('testing') },
    ),
    error(
      'perf',
      'A measurement is a client: it knows servers by their addresses, or as those of this process.',
      { path: folders('perf') },
      { path: folders('endpoints', 'cli', 'analyze', 'top') },
    ),
    error(
      'analyze',
      'A search measures as perf does, with servers of this process.',
      { path: folders('analyze') },
      { path: folders('endpoints', 'client', 'cli', 'top') },
    ),
    error(
      'top',
      'A view of a server is a client: it knows servers by their addresses.',
      { path: folders('top') },
      { path: folders('endpoints', 'cli', 'analyze', 'server') },
    ),
    error(
      'perf-plot',
      'Plots are shared with the benchmark.',
      { path: '^src/perf/plot/' },
      { path: '^src/', pathNot: '^src/perf/plot/' },
    ),
    error(
      'options',
      'Options are resolved outside of what they are for.',
      { path: folders(...inner, 'backends', 'addon') },
      { path: '^src/(index|resolve-options)\\.ts$' },
    ),
    error(
      'addon',
      'What knows native code knows nothing else.',
      { path: folders('addon') },
      { path: folders(...outer, 'server', ...middle, 'backends', 'api', ...inner) },
    ),
    error(
      'config',
      'config imports nothing from the others but the names of datatypes, and how large a tensor may be.',
      { path: folders('config') },
      { path: '^src/[^/]+/', pathNot: [folders('config'), '^src/tensor/(datatype|max-bytes)\\.ts$'] },
    ),
    error(
      'tensor',
      'tensor imports nothing from the others.',
      { path: folders('tensor') },
      { path: '^src/[^/]+/', pathNot: folders('tensor') },
    ),
    error(
      'config-inside',
      'config has one way in: its index.ts.',
      { path: '^src/', pathNot: folders('config') },
      { path: folders('config'), pathNot: '^src/config/index\\.ts$' },
    ),
    error(
      'config-folders',
      'schema is for all of config; text reads, support and rules judge.',
      { path: '^src/config/schema/' },
      { path: '^src/config/(text|rules|support)/' },
    ),
    error(
      'config-text',
      'text knows the schema.',
      { path: '^src/config/text/' },
      { path: '^src/config/(rules|support)/' },
    ),
    error(
      'config-support',
      'support knows no rules.',
      { path: '^src/config/support/' },
      { path: '^src/config/rules/' },
    ),
    error(
      'leaves',
      'What everything may import imports next to nothing.',
      {
        path: '^src/(errors|suggest|argument-checks|foreign-content|keyless|lazy|listen|model-key|most-parameters|most-threads|printable|queue|thrown-text|time-limit|timers|version)\\.ts$',
      },
      { path: '^src/', pathNot: '^src/(errors|keyless|printable|suggest|thrown-text|timers)\\.ts$' },
    ),
  ],
  options: {
    includeOnly: '^src',
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
  },
};
