/** Shows a server on a terminal until a key or a signal ends it. */

import type { TopSource } from '../../top/reading.js';
import { LiveView, type Key } from '../../top/view/live-view.js';
import { painted, unpainted } from '../../top/view/paint.js';
import type { TopFigures } from '../../top/figures/top-figures.js';
import { watch } from '../../top/watch.js';
import { Screen } from './screen.js';
import type { TopSettings } from './settings.js';

/** Whether the terminal has colours, and they are wanted. An empty NO_COLOR counts as absent, other than for Node. */
function hasColours(): boolean {
  const { NO_COLOR: none = '', ...others } = process.env;
  return none === '' && process.stdout.hasColors(others);
}

/** Whether processes are stopped and continued. */
const hasJobs = process.platform !== 'win32';

/** Stops the process as Ctrl-Z does. The terminal is given back meanwhile. */
function suspend(screen: Screen): void {
  screen.close();
  // The whole group, as a terminal does: npx, which waits for this process, is in it.
  process.kill(0, 'SIGSTOP');
}

/**
 * Runs the view.
 *
 * @param end - Ends it; a key aborts it, too.
 * @returns What ended it: a key, or the signal.
 */
export async function runLive(
  source: TopSource,
  { intervalMs, choice }: TopSettings,
  end: AbortController,
): Promise<'quit' | 'interrupt'> {
  const view = new LiveView(source.place, intervalMs / 1000, choice);
  const paint = hasColours() ? painted : unpainted;
  let how: 'quit' | 'interrupt' = 'quit';
  const draw = (): void => {
    screen.draw(view.frame(screen.width, screen.height, paint));
  };
  const screen = new Screen(process.stdout, process.stdin.isTTY ? process.stdin : undefined, {
    key(key: Key) {
      const action = view.press(key);
      if (action === 'quit' || action === 'interrupt') {
        how = action;
        end.abort();
      } else if (action === 'suspend' && hasJobs) suspend(screen);
      else if (action === 'draw') {
        if (key.ctrl) screen.forget();
        draw();
      }
    },
    resized: draw,
  });
  const stop = (): void => {
    end.abort();
  };
  // Another process may stop this one, too.
  const onStop = (): void => {
    suspend(screen);
  };
  const onContinue = (): void => {
    // If it was stopped by SIGSTOP, the shell had the terminal without being given it.
    screen.close();
    screen.open();
    draw();
  };
  if (hasJobs) process.on('SIGTSTP', onStop).on('SIGCONT', onContinue);
  // The terminal was closed.
  process.stdout.once('error', stop);
  screen.open();
  try {
    draw();
    let figures: TopFigures | undefined;
    for await (const outcome of watch(source, intervalMs, end.signal)) {
      if ('figures' in outcome) ({ figures } = outcome);
      view.show({ figures, failure: 'failure' in outcome ? outcome.failure : undefined });
      draw();
    }
    return how;
  } finally {
    screen.close();
    process.stdout.off('error', stop);
    process.off('SIGTSTP', onStop).off('SIGCONT', onContinue);
  }
}
