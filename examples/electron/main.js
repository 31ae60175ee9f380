/** The main process: one process for the models, one window, and a port between these two. */

import { join } from 'node:path';
import { app, BrowserWindow, MessageChannelMain, utilityProcess } from 'electron';

const folder = import.meta.dirname;
// Packed, the repository lies beside the archive: runtimes open model files by themselves (extraResources).
const repository = join(app.isPackaged ? process.resourcesPath : folder, 'models');

/** @returns The models' process. */
function startModels() {
  // A process of its own: a fault in a runtime ends that process, not the app, and its work stops no window.
  return utilityProcess.fork(join(folder, 'models.js'), [repository], { serviceName: 'models' });
}

/** @param {Electron.UtilityProcess} models */
async function openWindow(models) {
  const window = new BrowserWindow({
    width: 420,
    height: 560,
    webPreferences: { preload: join(folder, 'preload.cjs'), contextIsolation: true, sandbox: true },
  });
  models.once('exit', (code) => {
    if (!window.isDestroyed()) window.webContents.send('models-ended', code);
  });
  // After each load of the page, as a port ends with the page that had it.
  window.webContents.on('did-finish-load', () => {
    const { port1, port2 } = new MessageChannelMain();
    models.postMessage('port', [port1]);
    window.webContents.postMessage('models', null, [port2]);
  });
  await window.loadFile(join(folder, 'index.html'));
}

/**
 * Holds the end of the app until the models' process has answered what is in flight.
 *
 * @param {Electron.UtilityProcess} models
 */
function closeAtQuit(models) {
  let ended = false;
  models.once('exit', () => {
    ended = true;
  });
  app.on('will-quit', (event) => {
    if (ended) return;
    event.preventDefault();
    models.once('exit', () => {
      app.quit();
    });
    models.postMessage('close');
  });
}

app.on('window-all-closed', () => {
  app.quit();
});

// No await here: the app is ready only when this module has run to its end.
void app.whenReady().then(async () => {
  const models = startModels();
  closeAtQuit(models);
  await openWindow(models);
});
