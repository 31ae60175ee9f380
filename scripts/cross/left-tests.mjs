// Which of the project's Node tests run on each platform that this machine can run, and which are left out there, and why.

/** What a file has in its text, or (`inImports`) that of a file of the tests that it imports. */
const processes = { pattern: /node:child_process|execPath/, reason: 'starts processes' };

/**
 * By platform. `folders`: parts of the paths of tests that run by default. `parts`: parts of paths that are left out, and why.
 * `isNative`: its programs run without an emulator, so that several run at once.
 */
export const leftOn = {
  'linux-x64-musl': {
    isNative: true,
    folders: ['test/'],
    parts: {},
    signs: [],
  },
  'linux-arm64': {
    isNative: false,
    folders: ['test/'],
    parts: {},
    signs: [processes],
  },
  'win32-x64': {
    isNative: false,
    folders: ['test/'],
    parts: {},
    signs: [processes],
  },
};
