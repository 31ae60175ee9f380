/** The main process: it starts a process for the models, opens a window, and connects these two by a port. */

import { join } from 'node:path';
import { app, BrowserWindow, MessageChannelMain, utilityProcess } from 'electron';

const folder = import.meta.dirname;
// In the packaged app, the repository lies beside the archive (extraResources): runtimes open model files by
// themselves.
const repository = join(app.isPackaged ? process.resourcesPath : folder, 'models');

/** @returns The models' process. */
function startModels() {
  // A fault in a runtime ends only this process, not the app, and its work stops no window.
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
  // A port ends with its page, so each load of the page gets a new one.
  window.webContents.on('did-finish-load', () => {
    const { port1, port2 } = new MessageChannelMain();
    models.postMessage('port', [port1]);
    window.webContents.postMessage('models', null, [port2]);
  });
  await window.loadFile(join(folder, 'index.html'));
}

/**
 * Delays the end of the app until the models' process has answered what is in flight.
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

// There is no await here, because the app becomes ready only after this module has run to its end.
void app.whenReady().then(async () => {
  const models = startModels();
  closeAtQuit(models);
  await openWindow(models);
});
