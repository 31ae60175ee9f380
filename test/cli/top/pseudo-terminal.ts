/** Runs the command on a pseudo-terminal, and shows what a terminal would show: xterm.js, without a window. */

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import xterm from '@xterm/headless';
import { until } from '../../support/harness.js';
import type { Context } from '../../support/repository.js';

/**
 * Copies between pipes and a pseudo-terminal. A line of standard input is `["keys", text]`, `["size", rows, columns]`, `["signal", name]`
 * for the command, `["cook"]` for a terminal that gives out lines, or `["state", number]`: a sequence with that number, which terminals do not show, then says what the command and the
 * terminal do.
 */
const program = `
import fcntl, json, os, pty, select, signal, struct, sys, termios
rows, columns = int(sys.argv[1]), int(sys.argv[2])
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
    os.execvp(sys.argv[3], sys.argv[3:])
def onterm(*_):
    os.kill(pid, signal.SIGTERM)
    # A stopped command would not end.
    os.kill(pid, signal.SIGCONT)
signal.signal(signal.SIGTERM, onterm)
pending = b''
while True:
    ready, _, _ = select.select([fd, 0], [], [])
    if fd in ready:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        os.write(1, data)
    if 0 in ready:
        data = os.read(0, 65536)
        if not data:
            break
        pending += data
        while b'\\n' in pending:
            line, pending = pending.split(b'\\n', 1)
            what, *rest = json.loads(line)
            if what == 'keys':
                os.write(fd, rest[0].encode())
            elif what == 'signal':
                os.kill(pid, getattr(signal, rest[0]))
            elif what == 'cook':
                attributes = termios.tcgetattr(fd)
                attributes[3] |= termios.ICANON | termios.ECHO | termios.ISIG
                termios.tcsetattr(fd, termios.TCSANOW, attributes)
            elif what == 'state':
                with open('/proc/%d/stat' % pid) as file:
                    state = 'stopped' if file.read().rpartition(')')[2].split()[0] == 'T' else 'running'
                flags = termios.tcgetattr(fd)[3]
                lines = 'lines' if flags & termios.ICANON and flags & termios.ECHO else 'keys'
                os.write(1, ('\\x1b]7777;%d %s %s\\x07' % (rest[0], state, lines)).encode())
            else:
                fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rest[0], rest[1], 0, 0))
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) & 255)
`;

const main = fileURLToPath(new URL('../../../command/main.js', import.meta.url));

/** Why there are no pseudo-terminals here; undefined: there are. */
export const noTerminals: string | undefined =
  process.platform === 'win32'
    ? 'pseudo-terminals are of Unix'
    : spawnSync('python3', ['-c', 'import pty, os; os.waitstatus_to_exitcode']).status === 0
      ? undefined
      : 'there is no python3 with pty';

/** A command on a terminal. */
export interface OnTerminal {
  /** All that was written to the terminal. */
  raw(): string;
  /** The lines of the screen. */
  screen(): string[];
  /** Whether the screen is the terminal's other page. */
  isOtherPage(): boolean;
  /** Resolves when the screen's text matches. */
  shows(what: RegExp): Promise<void>;
  keys(text: string): void;
  resize(rows: number, columns: number): void;
  /** Sends a signal to the command. */
  signal(name: string): void;
  /** Has the terminal give out lines with an echo. */
  cook(): void;
  /** Whether the command is stopped, and whether the terminal gives out lines with an echo, or each key. */
  state(): Promise<string>;
  readonly child: ChildProcess;
  /** The exit code. */
  readonly ended: Promise<number | null>;
}

/** The environment of a person's terminal. In that of a CI, Node takes it for one with other colours, or without. */
const atDesk = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/COLOR|^CI$|^CI_NAME$|^TEAMCITY|^TMUX$/.test(name)),
);

/** Starts `tritonts` on a terminal. It is killed after the test. */
export function onTerminal(
  t: Context,
  args: readonly string[],
  {
    rows = 24,
    columns = 120,
    env = {},
  }: { rows?: number; columns?: number; env?: Record<string, string> } = {},
): OnTerminal {
  const terminal = new xterm.Terminal({ rows, cols: columns, allowProposedApi: true });
  const child = spawn(
    'python3',
    ['-c', program, String(rows), String(columns), process.execPath, main, ...args],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { ...atDesk, TERM: 'xterm-256color', ...env } },
  );
  let raw = '';
  let asked = 0;
  child.stdout.on('data', (bytes: Buffer) => {
    raw += bytes.toString('utf8');
    terminal.write(bytes);
  });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  t.after(async () => {
    // Python passes it on, and ends when the command has.
    child.kill('SIGTERM');
    child.stdin.end();
    await ended;
    terminal.dispose();
  });
  const say = (...what: readonly unknown[]): void => {
    child.stdin.write(`${JSON.stringify(what)}\n`);
  };
  const screen = (): string[] => {
    const { active } = terminal.buffer;
    return Array.from(
      { length: terminal.rows },
      (_, i) => active.getLine(active.viewportY + i)?.translateToString(true) ?? '',
    );
  };
  return {
    child,
    ended,
    raw: () => raw,
    screen,
    isOtherPage: () => terminal.buffer.active.type === 'alternate',
    shows: async (what) => {
      try {
        await until(() => what.test(screen().join('\n')), 30_000);
      } catch (cause) {
        throw new Error(`the screen does not show ${String(what)}:\n${screen().join('\n')}`, { cause });
      }
    },
    keys: (text) => {
      say('keys', text);
    },
    signal: (name) => {
      say('signal', name);
    },
    cook: () => {
      say('cook');
    },
    state: async () => {
      const number = ++asked;
      say('state', number);
      const said = (): string | undefined =>
        new RegExp(`\\u001b\\]7777;${number} (.*?)\\u0007`).exec(raw)?.[1];
      await until(() => said() !== undefined, 30_000);
      return said() ?? '';
    },
    resize: (newRows, newColumns) => {
      terminal.resize(newColumns, newRows);
      say('size', newRows, newColumns);
    },
  };
}
