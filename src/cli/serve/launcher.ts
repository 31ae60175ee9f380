/**
 * Notices that the package manager which runs the command is gone. npx and `npm run` pass a signal on to the shell between them and
 * the command, which ends of it and passes on nothing: without this the command would go on, and keep its ports.
 *
 * A command that was sent to the background on purpose goes on as well as ever. So this watches only where the shell waits for
 * the command, as its script says.
 */

import { readFile } from 'node:fs/promises';

/** How often it looks, in milliseconds. */
const everyMs = 500;

/** What is known of the process and of its parent. */
export interface Launch {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The parent at the start. */
  readonly parent: number;
  /** Whether it leads a session of its own, as after `setsid`. */
  readonly leadsSession: boolean;
}

/** Programs that start others in the background, and go. */
const daemonisers = /(^|[\s;&|(/])(nohup|setsid|daemonize|start-stop-daemon|disown|pm2|forever)([\s;&|)]|$)/;

/** Whether a shell's script leaves something in the background: a lone `&` that no quotes hold and no redirection needs. */
function hasBackground(script: string): boolean {
  const bare = script
    .replaceAll(/\\[^]/g, '')
    .replaceAll(/'[^']*'|"[^"]*"/g, '')
    .replaceAll(/&&|[<>]&|&>/g, '');
  return bare.includes('&');
}

/**
 * Who launched the command, if it should end with that process: `npx`, or `npm run start`. Undefined: nobody.
 *
 * Package managers tell the script that they run. Only one that names the command, and waits for it, counts: a program that
 * starts the command itself has its own ways to end it.
 */
export function launcherOf({ env, platform, parent, leadsSession }: Launch): string | undefined {
  // Windows has no signals, and never gives a process another parent.
  if (platform === 'win32' || leadsSession || parent <= 1) return undefined;
  const { npm_lifecycle_event: event, npm_lifecycle_script: script } = env;
  if (event === undefined || script === undefined || !script.includes('tritonts')) return undefined;
  if (daemonisers.test(script) || hasBackground(script)) return undefined;
  return event === 'npx' ? 'npx' : `'${event}' of a package manager`;
}

/** Whether this process leads a session. False where the system does not tell. */
async function leadsSession(): Promise<boolean> {
  try {
    // The fields after the name, which may have spaces and parentheses: state, parent, group, session.
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

  /** @param onGone - Called once, with what is gone, unless {@link end} was called before. */
  constructor(onGone: (what: string) => void) {
    // At once: the parent may go while the session is read.
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
