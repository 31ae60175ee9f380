/**
 * Notices that the package manager that runs the command is gone. npx and `npm run` pass a signal only to the
 * shell between them and the command. The shell ends, and passes nothing on. Without this watch the command
 * would keep running, and keep its ports.
 *
 * A command that was sent to the background on purpose must keep running. So this watches only if the shell
 * waits for the command, according to its script.
 */

import { readFile } from 'node:fs/promises';

/** The interval between checks, in milliseconds. */
const everyMs = 500;

/** The facts about the process and its parent. */
export interface Launch {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** Id of the parent process at start. */
  readonly parent: number;
  /** Whether the process leads its own session, as after `setsid`. */
  readonly leadsSession: boolean;
}

/** Programs that start others in the background and exit. */
const daemonisers = /(^|[\s;&|(/])(nohup|setsid|daemonize|start-stop-daemon|disown|pm2|forever)([\s;&|)]|$)/;

/**
 * Whether a shell script leaves a process in the background: it has a lone `&` that is not quoted and not part
 * of a redirection.
 */
function hasBackground(script: string): boolean {
  const bare = script
    .replaceAll(/\\[^]/g, '')
    .replaceAll(/'[^']*'|"[^"]*"/g, '')
    .replaceAll(/&&|[<>]&|&>/g, '');
  return bare.includes('&');
}

/**
 * The launcher whose end should end the command: `npx`, or `npm run start`. Undefined if there is none.
 *
 * Package managers set variables that name the script that they run. Only a script that names the command, and
 * waits for it, counts. A program that starts the command itself has its own ways to end it.
 */
export function launcherOf({ env, platform, parent, leadsSession }: Launch): string | undefined {
  // Windows has no signals, and never changes a process's parent.
  if (platform === 'win32' || leadsSession || parent <= 1) return undefined;
  const { npm_lifecycle_event: event, npm_lifecycle_script: script } = env;
  if (event === undefined || script === undefined || !script.includes('tritonts')) return undefined;
  if (daemonisers.test(script) || hasBackground(script)) return undefined;
  return event === 'npx' ? 'npx' : `'${event}' of a package manager`;
}

/** Whether this process leads a session. False if the system does not report it. */
async function leadsSession(): Promise<boolean> {
  try {
    // The fields after the name, which may contain spaces and parentheses: state, parent, group, session.
    const fields = (await readFile('/proc/self/stat', 'utf8')).split(') ').at(-1)?.split(' ');
    return fields?.[3] === String(process.pid);
  } catch {
    return false;
  }
}

/** See the head of this file. */
export class Launcher {
  #timer: NodeJS.Timeout | undefined;
  #isEnded = false;

  /**
   * @param onGone - Called once, with the name of the launcher that is gone, unless {@link end} was called
   *   before.
   */
  constructor(onGone: (what: string) => void) {
    // Read at once, because the parent may end while the session is read.
    const parent = process.ppid;
    const { env, platform } = process;
    if (launcherOf({ env, platform, parent, leadsSession: false }) === undefined) return;
    void leadsSession().then((leads) => {
      const launcher = launcherOf({ env, platform, parent, leadsSession: leads });
      if (launcher === undefined || this.#isEnded) return;
      const look = (): void => {
        if (process.ppid === parent) return;
        this.end();
        onGone(`${launcher} (process ${parent})`);
      };
      this.#timer = setInterval(look, everyMs);
      this.#timer.unref();
    });
  }

  /** Stops watching. */
  end(): void {
    this.#isEnded = true;
    clearInterval(this.#timer);
  }
}
