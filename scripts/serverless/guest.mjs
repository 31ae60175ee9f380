// A process in a root: another user's, with its own environment and a limit of memory.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';

// The shell enters the cgroup, and becomes chroot, which becomes the program: one process, with one id.
const entering = 'echo $$ > "$0" && exec "$@"';

/** The paths of programs, because a guest's environment has not the folders of this machine's. */
const pathOf = (name) => execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
const [shell, chroot] = ['sh', 'chroot'].map(pathOf);

/** Lines of a stream, one after another. */
const linesOf = (input) => createInterface({ input })[Symbol.asyncIterator]();

/** A running process, and what it prints. */
export class Guest {
  #child;
  #output;
  #log;
  #ended;

  /**
   * @param root - The root folder.
   * @param command - A program and its arguments, by paths in the root.
   * @param options - The user's number, the environment, and what limitMemory returned.
   */
  constructor(root, command, { user, env, memory }) {
    const inside = [chroot, `--userspec=${user}:${user}`, root, ...command];
    const [file, ...args] = memory.processes ? [shell, '-c', entering, memory.processes, ...inside] : inside;
    /** When it began, by this process's clock. */
    this.begin = performance.now();
    this.#child = spawn(file, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#ended = once(this.#child, 'close');
    this.#output = linesOf(this.#child.stdout);
    this.#log = linesOf(this.#child.stderr);
    // A process that has ended takes no more. line() then says what it logged.
    this.#child.stdin.on('error', () => undefined);
  }

  get pid() {
    return this.#child.pid;
  }

  /** Sends a line. */
  send(line) {
    this.#child.stdin.write(`${line}\n`);
  }

  /** Nothing more is sent. */
  end() {
    this.#child.stdin.end();
  }

  /** The next line of its output. */
  async line() {
    const { value, done } = await this.#output.next();
    if (!done) return value;
    const logged = [];
    for await (const line of this.#log) logged.push(line);
    throw new Error(`the process ended:\n${logged.join('\n')}`);
  }

  /** All further lines of its output. */
  async all() {
    const lines = [];
    for await (const line of this.#output) lines.push(line);
    return lines.join('\n');
  }

  /** What a pattern finds in its log. */
  async find(pattern) {
    const logged = [];
    for (;;) {
      const { value, done } = await this.#log.next();
      if (done) throw new Error(`the process ended, and logged no ${pattern}:\n${logged.join('\n')}`);
      const found = pattern.exec(value);
      if (found) return found[1];
      logged.push(value);
    }
  }

  /** Stops all of its threads for a time. */
  async freeze(milliseconds) {
    process.kill(this.pid, 'SIGSTOP');
    // The state is behind the name, which is in brackets.
    while (!/\) T /.test(readFileSync(`/proc/${this.pid}/stat`, 'utf8'))) await setTimeout(5);
    await setTimeout(milliseconds);
    process.kill(this.pid, 'SIGCONT');
  }

  /** Asks it to end. */
  terminate() {
    process.kill(this.pid, 'SIGTERM');
  }

  /** Its exit code, or the signal that ended it. */
  async ended() {
    const [code, signal] = await this.#ended;
    return code ?? signal;
  }
}
